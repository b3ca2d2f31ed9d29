package main

import (
	"bytes"
	"encoding/json"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"leasehold/config"
	"leasehold/eventlog"
	"leasehold/internal/redistest"
)

// A start that fails ends its log as any other end does, and nothing stands between its
// lines. What is wrong is there at every level.
func TestAFailedStartIsToldByTheLog(t *testing.T) {
	redis := "LEASEHOLD_REDIS_URL=" + redistest.StartServer(t).URL()
	silent := redistest.StartServer(t, "--rename-command", "CONFIG", "").URL()
	taken, err := net.Listen("tcp", "127.0.0.1:0") // it answers nobody, too
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	gone := "127.0.0.1:" + strconv.Itoa(redistest.FreePort(t))
	for name, c := range map[string]struct {
		environ []string
		change  func(*config.Config)
		code    exitCode
		says    []string
	}{
		"no Redis": {
			environ: []string{"LEASEHOLD_REDIS_URL=redis://u:hunter2@" + gone},
			code:    exitFailure, says: []string{"no usable Redis at redis://***@" + gone, "refused. Set LEASEHOLD_REDIS_URL", "leasehold demo"},
		},
		"address taken": {
			environ: []string{redis, "LEASEHOLD_HTTP_ADDR=" + taken.Addr().String()},
			code:    exitFailure, says: []string{"LEASEHOLD_HTTP_ADDR", taken.Addr().String(), "in use"},
		},
		"no events": {
			environ: []string{"LEASEHOLD_REDIS_URL=" + silent, "LEASEHOLD_HTTP_ADDR=", "LEASEHOLD_KEYSPACE_EVENTS=require"},
			code:    exitFailure, says: []string{"keyspace events are required"},
		},
		"a webhook that can not be": {
			environ: []string{redis, "LEASEHOLD_HTTP_ADDR="},
			change: func(c *config.Config) {
				c.ResultSinks, c.ResultWebhookSecret = []config.ResultSink{config.SinkWebhook}, "whsec_%"
			},
			code: exitFailure, says: []string{"webhook"},
		},
		"files that went after they were checked": {
			environ: []string{"LEASEHOLD_REDIS_URL=rediss://" + gone},
			change:  func(c *config.Config) { c.RedisCAFile = "/nope" },
			code:    exitUsage, says: []string{"LEASEHOLD_REDIS_CA_FILE", "no such file"},
		},
	} {
		for _, level := range []eventlog.Level{eventlog.Info, eventlog.Error} {
			t.Run(name+" at "+string(level), func(t *testing.T) {
				cfg := settings(t, c.environ...)
				if c.change != nil {
					c.change(&cfg)
				}
				code, log := startsInVain(t, cfg, level, make(chan string))
				last := log[len(log)-1]
				if want := map[eventlog.Level]string{eventlog.Info: "node.stopped", eventlog.Error: "node.failed"}[level]; code != c.code || last.Event != want {
					t.Errorf("exit %d, the last line is %s, want %d and %s", code, last.Event, c.code, want)
				}
				for _, want := range c.says {
					if !strings.Contains(last.Reason, want) {
						t.Errorf("%q lacks %q", last.Reason, want)
					}
				}
				if strings.Contains(last.Reason, "hunter2") || strings.Contains(last.Reason, "\n") || strings.Contains(last.Reason, "leasehold: ") {
					t.Errorf("the reason is %q", last.Reason)
				}
			})
		}
	}
	t.Run("a stop before Redis answered", func(t *testing.T) {
		stop := make(chan string, 1)
		time.AfterFunc(100*time.Millisecond, func() { stop <- "SIGTERM"; close(stop) })
		code, log := startsInVain(t, settings(t, "LEASEHOLD_REDIS_URL=redis://"+taken.Addr().String()), eventlog.Info, stop)
		if last := log[len(log)-1]; code != exitOK || len(log) != 1 || last.Event != "node.stopped" || last.Reason != "SIGTERM" {
			t.Errorf("exit %d, logged %+v", code, log)
		}
	})
}

// The others plan with whoever has a heartbeat.
func TestANodeThatFailsLeavesTheFleet(t *testing.T) {
	s := redistest.StartServer(t, "--rename-command", "CONFIG", "")
	client := s.Client()
	defer func() { _ = client.Close() }()
	client.Set(t.Context(), "session:a", `{"kind":"log","interval":"1s"}`, 0)
	cfg := settings(t, "LEASEHOLD_REDIS_URL="+s.URL(), "LEASEHOLD_HTTP_ADDR=", "LEASEHOLD_KEYSPACE_EVENTS=require")
	code, log := startsInVain(t, cfg, eventlog.Info, make(chan string))
	var events []string
	for _, line := range log {
		events = append(events, line.Event)
	}
	if !slices.Contains(events, "node.draining") || code != exitFailure {
		t.Errorf("exit %d, logged %q: the node was not at work, or did not drain", code, events)
	}
	for _, pattern := range []string{"poll:node:*", "poll:info:*", "poll:lease:*"} {
		if left := client.Keys(t.Context(), pattern).Val(); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}

// told is what matters here of a line.
type told struct{ Event, Reason string }

// startsInVain runs the real node, which ends by itself or is stopped early, and returns
// its log, in which each line must be an object.
func startsInVain(t *testing.T, cfg config.Config, level eventlog.Level, stop <-chan string) (exitCode, []told) {
	t.Helper()
	var stderr bytes.Buffer
	log := eventlog.New(&stderr, eventlog.Options{Level: level, InstanceID: "n-1-00000001"})
	code := runNode(t.Context(), stop, nodeSpec{cfg: cfg, instance: "n-1-00000001", log: log, stdout: &stderr})
	log.Close()
	var all []told
	for text := range strings.Lines(stderr.String()) {
		var line told
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Errorf("no JSON: %q", text)
			continue
		}
		all = append(all, line)
	}
	if len(all) == 0 {
		t.Fatalf("nothing is logged, exit %d", code)
	}
	return code, all
}
