package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/redis/go-redis/v9"

	"leasehold/actors/poller"
	"leasehold/config"
	"leasehold/eventlog"
	"leasehold/httpapi"
	"leasehold/httppoll"
	"leasehold/lease"
	"leasehold/metrics"
	"leasehold/node"
	"leasehold/redisevents"
	"leasehold/redisstore"
	"leasehold/session"
	"leasehold/tracing"
)

// nodeSpec is what one node is made from.
type nodeSpec struct {
	cfg      config.Config
	instance string
	log      *eventlog.Log
	metrics  *metrics.Metrics
	tracing  tracing.Settings
	// stdout is for results, where a sink writes them there.
	stdout io.Writer
}

// nodeRunner runs a node until it has stopped by itself or has handed back its
// leases after stop was closed. Before it is closed, stop holds one value, which
// names the reason.
type nodeRunner func(ctx context.Context, stop <-chan string, n nodeSpec) exitCode

// warn logs what deserves attention of a setting.
func (n nodeSpec) warn(reason string) { n.log.Emit(eventlog.SettingsWarning{Reason: reason}) }

// runNode is the nodeRunner of the program.
func runNode(ctx context.Context, stop <-chan string, n nodeSpec) exitCode {
	code, last := n.run(ctx, stop)
	n.log.Settle()
	n.log.Emit(last) // all that could log has been closed
	return code
}

// fail tells why the node ends without having been asked to. Nothing is printed beside
// the log: who reads that takes each line for an object.
func (n nodeSpec) fail(code exitCode, why string) (exitCode, eventlog.NodeStopped) {
	why = strings.ReplaceAll(strings.TrimSpace(why), "\n", " ")
	n.log.Emit(eventlog.NodeFailed{Reason: why})
	return code, eventlog.NodeStopped{Reason: why}
}

// run runs the node and returns the last line of its log.
func (n nodeSpec) run(ctx context.Context, stop <-chan string) (exitCode, eventlog.NodeStopped) {
	client, err := newRedis(n.cfg, n.instance, n.warn)
	if err != nil {
		return n.fail(exitUsage, err.Error())
	}
	defer func() { _ = client.Close() }() // nothing is left to lose
	if hook := n.metrics.Redis(); hook != nil {
		client.AddHook(hook)
	}
	err = firstContact(ctx, stop, client)
	if early, ok := errors.AsType[stoppedError](err); ok {
		return exitOK, eventlog.NodeStopped{Reason: early.reason}
	}
	if err != nil {
		return n.fail(exitFailure, explainNoContact(n.cfg, err))
	}
	return n.work(ctx, stop, client)
}

// work runs the node on a Redis that answered. The HTTP address is bound first: a
// node that can't have it takes no leases.
func (n nodeSpec) work(ctx context.Context, stop <-chan string, client redis.UniversalClient) (exitCode, eventlog.NodeStopped) {
	server, err := bind(ctx, n.cfg, n.warn)
	if err != nil {
		return n.fail(exitFailure, err.Error())
	}
	defer server.close()
	out, err := n.outlets(ctx)
	if err != nil {
		return n.fail(exitFailure, err.Error())
	}
	defer out.flush(ctx)
	polls := httppoll.New(httppoll.Config{
		Version: build().version, MaxBody: n.cfg.PollMaxBody, Concurrency: n.cfg.PollConcurrency,
		Deny: n.cfg.DenyTargets, Inject: out.traces.Injector(),
	})
	defer polls.Close()
	parts := n.assembly(client, polls, out)
	parts.Card = n.card(server.addr)
	running, err := node.Start(ctx, parts)
	if err != nil {
		return n.fail(exitFailure, err.Error())
	}
	defer running.Close()
	n.metrics.WatchNode(running, out.Hub, client)
	server.serve(running, client, n.leases(running, client), n.metrics)
	n.log.Emit(eventlog.NodeReady{HTTPAddr: server.addr, Redis: n.cfg.Shown()["LEASEHOLD_REDIS_URL"]})

	beside, end := context.WithCancel(ctx)
	defer end()
	go n.summarize(beside, running)
	go feedWatchdog(beside, alive(running))
	tellSystemd(daemon.SdNotifyReady)
	return n.await(ctx, stop, running, server, out)
}

// await waits for a reason to stop, or for a failure, and drains the node.
func (n nodeSpec) await(
	ctx context.Context, stop <-chan string, running *node.Node, server *server, out outlets,
) (exitCode, eventlog.NodeStopped) {
	var why string
	code := exitOK
	select {
	case err := <-running.Failed(): // what the others see of it must not stay behind
		failed, last := n.fail(exitFailure, err.Error())
		code, why = failed, last.Reason
	case why = <-stop:
	}
	began := time.Now()
	n.log.Emit(eventlog.NodeDraining{Reason: why, Leases: running.Leases()})
	server.draining()
	tellSystemd(daemon.SdNotifyStopping)
	if left, reason := n.drain(ctx, running, why, out); code == exitOK {
		code, why = left, reason
	}
	return code, eventlog.NodeStopped{Reason: why, LeasesLeft: running.Leases(), Duration: time.Since(began)}
}

// drain hands the leases back, then empties the sinks. Polls in flight may go on until
// little of the time is left.
func (n nodeSpec) drain(ctx context.Context, running *node.Node, reason string, out outlets) (exitCode, string) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.DrainTimeout)
	defer cancel()
	err := running.Drain(ctx, n.cfg.DrainTimeout*4/5)
	out.flush(ctx)
	switch {
	case err == nil:
		return exitOK, reason
	case errors.Is(err, context.DeadlineExceeded):
		return exitLeasesLeft, "the drain deadline passed"
	default:
		return exitLeasesLeft, err.Error()
	}
}

// assembly turns the settings into the node's parts.
func (n nodeSpec) assembly(client redis.UniversalClient, polls *httppoll.Client, out outlets) node.Config {
	cfg := n.cfg
	var hosts poller.Hosts
	if n.cfg.HostConcurrency > 0 {
		hosts = httppoll.NewHosts(n.cfg.HostConcurrency)
	}
	return node.Config{
		Instance: n.instance,
		Client:   client,
		Keys:     cfg.Keys,
		DB:       node.Database(client),
		Store: redisstore.Options{
			Timeout: cfg.RedisTimeout, Stream: cfg.ResultStream, MaxLen: cfg.ResultMaxLen,
		},
		Events:            redisevents.Mode(cfg.KeyspaceEvents),
		LeaseTTL:          cfg.LeaseTTL,
		RenewInterval:     cfg.LeaseRenewInterval,
		Margin:            cfg.LeaseSafetyMargin,
		HeartbeatTTL:      cfg.HeartbeatTTL,
		HeartbeatInterval: cfg.HeartbeatInterval,
		ReconcileInterval: cfg.ReconcileInterval,
		MaxSessions:       cfg.MaxSessions,
		Concurrency:       cfg.PollConcurrency,
		Hosts:             hosts,
		Defaults:          cfg.Defaults(),
		CheckID:           cfg.CheckID(),
		Poll:              n.pollFunc(polls, out.traces),
		Results:           out.Hub,
		Log:               n.log,
		Gauge:             n.metrics.Gauge(),
	}
}

// card is what the node says of itself in Redis.
func (n nodeSpec) card(addr string) *lease.Card {
	return &lease.Card{
		Instance: n.instance, Version: build().version, Started: time.Now(), HTTPAddr: addr,
		MaxSessions: n.cfg.MaxSessions, Shared: n.cfg.Shared(),
	}
}

// leases turns the settings into the lease API's parts. Its store is one more over the
// same client and runs the same scripts.
func (n nodeSpec) leases(running *node.Node, client redis.UniversalClient) httpapi.Leases {
	cfg, started := n.cfg, time.Now()
	return httpapi.Leases{
		Store:    redisstore.New(client, cfg.Keys, redisstore.Options{Timeout: cfg.RedisTimeout, Stream: cfg.ResultStream}),
		TTL:      cfg.LeaseTTL,
		Defaults: cfg.Defaults(),
		CheckID:  cfg.CheckID(),
		Token:    string(cfg.APIToken),
		Open:     cfg.APIOpen,
		Profiles: cfg.PProf,
		Resource: cfg.APIResource,
		Log:      n.log,
		Recheck:  cfg.ReconcileInterval,
		Node: func() httpapi.Node {
			return httpapi.Node{
				InstanceID: n.instance, Build: build().version, Started: started,
				Leases: running.Leases(), Events: running.Events().Problem,
			}
		},
	}
}

// pollFunc does the polls of each kind of session.
func (n nodeSpec) pollFunc(polls *httppoll.Client, traces *tracing.Tracer) poller.Func {
	return func(ctx context.Context, job poller.Job) poller.Outcome {
		if job.Session.Kind == session.Log {
			n.log.Emit(eventlog.PollLogged{Session: job.Session.ID, Version: int64(job.Grant.Token)})
			return poller.Outcome{OK: true, Class: poller.Success}
		}
		request := httppoll.Request{
			Session: job.Session, Instance: job.Grant.Holder, Token: job.Grant.Token, Holds: job.Holds,
		}
		ctx, span := traces.Start(ctx, tracing.Poll{Request: request, Attempt: job.Attempt, Delay: job.Delay})
		o := polls.Poll(ctx, request)
		span.End(o)
		return poller.Outcome{
			OK: o.OK, Class: o.Class, Err: o.Err, Status: o.Status, Bytes: o.Bytes, Body: o.Body, Trace: span.TraceID(),
		}
	}
}
