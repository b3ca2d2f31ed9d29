package main

import (
	"context"
	"sync"
	"time"

	"leasehold/config"
	"leasehold/results"
	"leasehold/results/webhook"
	"leasehold/tracing"
)

// sinkLimit bounds what the sinks, and the traces, get to empty their queues when the
// node stops.
const sinkLimit = 5 * time.Second

// outlets are the ways of results out of the node, beside the stream, and of traces.
type outlets struct {
	*results.Hub

	hooks  []*webhook.Sink
	traces *tracing.Tracer // nil: none are sent
}

// outlets makes the sinks of the settings.
func (n nodeSpec) outlets(ctx context.Context) (outlets, error) {
	var o outlets
	var sinks []results.Sink
	for _, kind := range n.cfg.ResultSinks {
		switch kind {
		case config.SinkStdout:
			sinks = append(sinks, results.NewLines(n.stdout))
		case config.SinkWebhook:
			hook, err := webhook.New(webhook.Config{
				URL: string(n.cfg.ResultWebhookURL), Secret: string(n.cfg.ResultWebhookSecret), Version: build().version,
			})
			if err != nil {
				return outlets{}, err
			}
			sinks, o.hooks = append(sinks, hook), append(o.hooks, hook)
		}
	}
	o.Hub = results.NewHub(ctx, n.log, sinks...)
	o.traces = tracing.New(ctx, tracing.Config{
		Settings: n.tracing, Instance: n.instance, Version: build().version, Log: n.log,
	})
	if o.traces != nil {
		n.metrics.WatchTraces(o.traces.Stats)
	}
	return o, nil
}

// flush gives the sinks and the traces their time, within ctx, and closes them. Neither
// waits for the other.
func (o outlets) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sinkLimit)
	defer cancel()
	var traces sync.WaitGroup
	traces.Go(func() { o.traces.Close(ctx) })
	defer traces.Wait()
	o.Close(ctx)
	for _, hook := range o.hooks {
		hook.Close()
	}
}
