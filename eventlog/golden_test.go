package eventlog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"leasehold/eventlog"
)

// lines returns what a log writes in a bubble, whose clock starts at midnight UTC
// on 2000-01-01.
func lines(t *testing.T, o eventlog.Options, write func(*eventlog.Log)) []string {
	t.Helper()
	var buf bytes.Buffer
	synctest.Test(t, func(*testing.T) {
		log := eventlog.New(&buf, o)
		write(log)
		log.Close()
	})
	var all []string
	for l := range bytes.Lines(buf.Bytes()) {
		all = append(all, string(l))
	}
	return all
}

var errBoom = errors.New("boom")

// golden has each event's line after the parts that all lines share.
var golden = []struct {
	event eventlog.Event
	want  string // level, event and what follows the message
}{
	{
		eventlog.NodeStarting{Version: "1.2.3", PID: 42, Settings: map[string]string{"LEASEHOLD_LEASE_TTL": "30s", "LEASEHOLD_API_TOKEN": "***"}},
		`{"level":"info","event":"node.starting","node_version":"1.2.3","pid":42,"settings":{"LEASEHOLD_API_TOKEN":"***","LEASEHOLD_LEASE_TTL":"30s"}}`,
	},
	{
		eventlog.NodeReady{HTTPAddr: "127.0.0.1:8080", Redis: "redis://u:p@127.0.0.1:6379/0"},
		`{"level":"info","event":"node.ready","http_addr":"127.0.0.1:8080","redis":"redis://***@127.0.0.1:6379/0"}`,
	},
	{
		eventlog.NodeDraining{Reason: "SIGTERM", Leases: 3},
		`{"level":"info","event":"node.draining","reason":"SIGTERM","leases":3}`,
	},
	{
		eventlog.NodeFailed{Reason: "no usable Redis at redis://u:p@h"},
		`{"level":"error","event":"node.failed","reason":"no usable Redis at redis://***@h"}`,
	},
	{
		eventlog.NodeStopped{Reason: "drained", LeasesLeft: 1, Duration: 1500 * time.Millisecond},
		`{"level":"info","event":"node.stopped","reason":"drained","leases_left":1,"duration_ms":1500}`,
	},
	{
		eventlog.NodeFenced{Reason: "heartbeat", Err: errBoom},
		`{"level":"error","event":"node.fenced","reason":"heartbeat","error":"boom"}`,
	},
	{
		eventlog.NodeUnfenced{Duration: 1234567 * time.Nanosecond},
		`{"level":"info","event":"node.unfenced","duration_ms":1.234}`,
	},
	{
		eventlog.NodeSummary{
			Leases: 3, Ideal: 4, Members: 2, Polls: 18, Failures: 1, Delay: 12 * time.Millisecond, Remaining: 18 * time.Second,
			Events: "ok", Heartbeat: "fresh",
		},
		`{"level":"info","event":"node.summary","leases":3,"ideal":4,"members":2,"polls":18,"failures":1,"delay_ms":12,` +
			`"remaining_ms":18000,"heartbeat":"fresh","events":"ok"}`,
	},
	{
		eventlog.NodeCordoned{Reason: "drained"},
		`{"level":"info","event":"node.cordoned","reason":"drained"}`,
	},
	{
		eventlog.NodeUncordoned{},
		`{"level":"info","event":"node.uncordoned"}`,
	},
	{
		eventlog.MemberJoined{Member: "b-1-0000000a", Members: 2},
		`{"level":"info","event":"member.joined","member":"b-1-0000000a","members":2}`,
	},
	{
		eventlog.MemberLeft{Member: "b-1-0000000a", Members: 1},
		`{"level":"info","event":"member.left","member":"b-1-0000000a","members":1}`,
	},
	{
		eventlog.MemberExpired{Member: "b-1-0000000a", Members: 1},
		`{"level":"warn","event":"member.expired","member":"b-1-0000000a","members":1}`,
	},
	{
		eventlog.LeaseAcquired{Session: "s1", Version: 7, Trigger: "expired", Previous: "b-1-0000000a", Takeover: 12 * time.Millisecond},
		`{"level":"info","event":"lease.acquired","endpoint_id":"s1","version":7,"trigger":"expired","previous":"b-1-0000000a","takeover_ms":12}`,
	},
	{
		eventlog.LeaseAcquired{Session: "s1", Version: 7, Trigger: "scan", Takeover: -1},
		`{"level":"info","event":"lease.acquired","endpoint_id":"s1","version":7,"trigger":"scan"}`,
	},
	{
		eventlog.LeaseAcquired{Session: "s1", Version: 7, Holder: "w1", Trigger: "api", Takeover: -1},
		`{"level":"info","event":"lease.acquired","endpoint_id":"s1","version":7,"holder":"w1","trigger":"api"}`,
	},
	{
		eventlog.LeaseAcquireFailed{Session: "s1", Trigger: "timer", Holder: "b-1-0000000a"},
		`{"level":"debug","event":"lease.acquire_failed","endpoint_id":"s1","trigger":"timer","holder":"b-1-0000000a"}`,
	},
	{
		eventlog.LeaseAcquireFailed{Session: "s1", Trigger: "plan", Err: errBoom, Repeat: true},
		`{"level":"debug","event":"lease.acquire_failed","endpoint_id":"s1","trigger":"plan","error":"boom"}`,
	},
	{
		eventlog.LeaseAcquireFailed{Session: "s1", Err: errBoom},
		`{"level":"warn","event":"lease.acquire_failed","endpoint_id":"s1","error":"boom"}`,
	},
	{
		eventlog.LeaseReleased{Session: "s1", Version: 7, Reason: "rebalance", Held: 90 * time.Second},
		`{"level":"info","event":"lease.released","endpoint_id":"s1","version":7,"reason":"rebalance","held_ms":90000}`,
	},
	{
		eventlog.LeaseReleased{Session: "s1", Version: 7, Holder: "w1", Reason: "api"},
		`{"level":"info","event":"lease.released","endpoint_id":"s1","version":7,"holder":"w1","reason":"api"}`,
	},
	{
		eventlog.LeaseRenewed{Session: "s1", Version: 7},
		`{"level":"debug","event":"lease.renewed","endpoint_id":"s1","version":7}`,
	},
	{
		eventlog.LeaseRenewed{Session: "s1", Version: 7, Holder: "w1"},
		`{"level":"debug","event":"lease.renewed","endpoint_id":"s1","version":7,"holder":"w1"}`,
	},
	{
		eventlog.LeaseRenewFailed{Session: "s1", Version: 7, Err: errBoom, Remaining: 18 * time.Second},
		`{"level":"warn","event":"lease.renew_failed","endpoint_id":"s1","version":7,"remaining_ms":18000,"error":"boom"}`,
	},
	{
		eventlog.LeaseExpired{Session: "s1", Version: 7, Reason: "no answer", Held: time.Minute},
		`{"level":"warn","event":"lease.expired","endpoint_id":"s1","version":7,"reason":"no answer","held_ms":60000}`,
	},
	{
		eventlog.LeaseLost{Session: "s1", Version: 7, Reason: "taken", Holder: "b-1-0000000a", Held: time.Minute},
		`{"level":"warn","event":"lease.lost","endpoint_id":"s1","version":7,"holder":"b-1-0000000a","reason":"taken","held_ms":60000}`,
	},
	{eventlog.SessionAdded{Session: "s1"}, `{"level":"info","event":"session.added","endpoint_id":"s1"}`},
	{eventlog.SessionChanged{Session: "s1"}, `{"level":"info","event":"session.changed","endpoint_id":"s1"}`},
	{eventlog.SessionRemoved{Session: "s1"}, `{"level":"info","event":"session.removed","endpoint_id":"s1"}`},
	{
		eventlog.SessionInvalid{Key: "session:s1", Session: "s1", Reason: "url is missing"},
		`{"level":"warn","event":"session.invalid","endpoint_id":"s1","reason":"url is missing","key":"session:s1"}`,
	},
	{
		eventlog.KeyForeign{Key: "poll:lease:s1", Reason: "is a list"},
		`{"level":"warn","event":"key.foreign","key":"poll:lease:s1","reason":"is a list"}`,
	},
	{
		eventlog.PollStarted{Session: "s1", Version: 7, Delay: 12 * time.Millisecond},
		`{"level":"debug","event":"poll.started","endpoint_id":"s1","version":7,"delay_ms":12}`,
	},
	{
		eventlog.PollStarted{Session: "s1", Version: 7, Delay: 2500 * time.Millisecond, Missed: 2},
		`{"level":"debug","event":"poll.started","endpoint_id":"s1","version":7,"delay_ms":2500,"missed":2}`,
	},
	{
		eventlog.PollStarted{Session: "s1", Version: 7, Delay: -1},
		`{"level":"debug","event":"poll.started","endpoint_id":"s1","version":7}`,
	},
	{
		eventlog.PollSkipped{Session: "s1", Version: 7, Reason: "not_due"},
		`{"level":"debug","event":"poll.skipped","endpoint_id":"s1","version":7,"reason":"not_due"}`,
	},
	{
		eventlog.PollCanceled{Session: "s1", Version: 7, Duration: 12 * time.Millisecond},
		`{"level":"debug","event":"poll.canceled","endpoint_id":"s1","version":7,"duration_ms":12}`,
	},
	{
		eventlog.PollSucceeded{Session: "s1", Version: 7, Duration: 250 * time.Microsecond, Status: 200, Trace: "0af7"},
		`{"level":"debug","event":"poll.succeeded","endpoint_id":"s1","version":7,"duration_ms":0.25,"status":200,"trace_id":"0af7"}`,
	},
	{
		eventlog.PollFailed{Session: "s1", Version: 7, Class: "timeout", Err: errBoom, Duration: 5 * time.Second, Failures: 1},
		`{"level":"warn","event":"poll.failed","endpoint_id":"s1","version":7,"reason":"timeout","failures":1,"duration_ms":5000,"error":"boom"}`,
	},
	{
		eventlog.PollFailed{Session: "s1", Version: 7, Class: "timeout", Err: errBoom, Failures: 2, Repeat: true, Trace: "0af7"},
		`{"level":"debug","event":"poll.failed","endpoint_id":"s1","version":7,"reason":"timeout","failures":2,"duration_ms":0,"trace_id":"0af7","error":"boom"}`,
	},
	{
		eventlog.PollRecovered{Session: "s1", Version: 7, Failures: 2},
		`{"level":"info","event":"poll.recovered","endpoint_id":"s1","version":7,"failures":2}`,
	},
	{
		eventlog.PollLogged{Session: "s1", Version: 7},
		`{"level":"info","event":"poll.logged","endpoint_id":"s1","version":7}`,
	},
	{
		eventlog.PollDeferred{Session: "s1", Version: 7, Err: errBoom},
		`{"level":"warn","event":"poll.deferred","endpoint_id":"s1","version":7,"error":"boom"}`,
	},
	{
		eventlog.ResultDropped{Sink: "webhook", Count: 3, Err: errBoom},
		`{"level":"warn","event":"result.dropped","sink":"webhook","count":3,"error":"boom"}`,
	},
	{
		eventlog.ResultFenced{Session: "s1", Version: 7, Err: errBoom},
		`{"level":"error","event":"result.fenced","endpoint_id":"s1","version":7,"error":"boom"}`,
	},
	{
		eventlog.EventsSubscribed{Flags: "AKE", Channels: []string{"__keyevent@*__:expired", "__keyevent@0__:del"}},
		`{"level":"info","event":"events.subscribed","flags":"AKE","channels":"__keyevent@*__:expired __keyevent@0__:del"}`,
	},
	{
		eventlog.EventsLost{Reason: "connection lost", Err: errBoom},
		`{"level":"warn","event":"events.lost","reason":"connection lost","error":"boom"}`,
	},
	{
		eventlog.ClaimsHeldOff{Reason: "Redis was restarted or replaced", Duration: 30 * time.Second},
		`{"level":"warn","event":"claims.held_off","reason":"Redis was restarted or replaced","duration_ms":30000}`,
	},
	{
		eventlog.ClaimsHeldOff{Reason: "whether Redis lost data is not known", Duration: time.Second, Err: errBoom},
		`{"level":"warn","event":"claims.held_off","reason":"whether Redis lost data is not known","duration_ms":1000,"error":"boom"}`,
	},
	{
		eventlog.EventsDisabled{Reason: "CONFIG is not allowed"},
		`{"level":"warn","event":"events.disabled","reason":"CONFIG is not allowed"}`,
	},
	{
		eventlog.ReconcileRepaired{Kind: "missed session", Count: 2},
		`{"level":"warn","event":"reconcile.repaired","kind":"missed session","count":2}`,
	},
	{
		eventlog.ReconcileFailed{Kind: "session", Err: errBoom},
		`{"level":"warn","event":"reconcile.failed","kind":"session","error":"boom"}`,
	},
	{
		eventlog.ActorFailed{Actor: "supervisor/membership", Reason: "nil map", Stack: "goroutine 1\nmain.go:3"},
		`{"level":"error","event":"actor.failed","reason":"nil map","actor":"supervisor/membership","stack":"goroutine 1\nmain.go:3"}`,
	},
	{eventlog.RedisDown{Err: errBoom}, `{"level":"warn","event":"redis.down","error":"boom"}`},
	{eventlog.RedisUp{}, `{"level":"info","event":"redis.up"}`},
	{
		eventlog.SettingsWarning{Reason: "maxmemory-policy may evict leases"},
		`{"level":"warn","event":"settings.warning","reason":"maxmemory-policy may evict leases"}`,
	},
	{
		eventlog.TracesStarted{Endpoint: "https://me:hunter2@otel.example:4318", Sampler: "AlwaysOnSampler"},
		`{"level":"info","event":"traces.started","endpoint":"https://***@otel.example:4318","sampler":"AlwaysOnSampler"}`,
	},
	{
		eventlog.TracesDropped{Count: 3, Err: errBoom},
		`{"level":"warn","event":"traces.dropped","count":3,"error":"boom"}`,
	},
}

func TestEveryEventWritesItsLine(t *testing.T) {
	for _, c := range golden {
		name, _, message := eventlog.Describe(c.event)
		t.Run(name, func(t *testing.T) {
			got := lines(t, eventlog.Options{Level: eventlog.Debug, InstanceID: "a-1-00000001"}, func(l *eventlog.Log) { l.Emit(c.event) })
			if len(got) != 1 {
				t.Fatalf("%d lines, want 1: %q", len(got), got)
			}
			var want map[string]any
			mustDecode(t, c.want, &want)
			want["time"] = "2000-01-01T00:00:00.000Z"
			want["instance_id"] = "a-1-00000001"
			want["message"] = message
			var line map[string]any
			mustDecode(t, got[0], &line)
			if !reflect.DeepEqual(line, want) {
				t.Errorf("line\n%s\nwant\n%v", got[0], want)
			}
			if message == "" {
				t.Error("the message is empty")
			}
		})
	}
}

// A field of an event that no golden case sets would go untested.
func TestTheGoldenCasesCoverEveryEvent(t *testing.T) {
	covered := make(map[reflect.Type]map[string]bool)
	for _, c := range golden {
		v := reflect.ValueOf(c.event)
		if covered[v.Type()] == nil {
			covered[v.Type()] = make(map[string]bool)
		}
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				covered[v.Type()][v.Type().Field(i).Name] = true
			}
		}
	}
	for _, e := range eventlog.All() {
		typ := reflect.TypeOf(e)
		if covered[typ] == nil {
			t.Errorf("%s has no golden case", typ)
		}
		for f := range typ.Fields() {
			if !covered[typ][f.Name] {
				t.Errorf("no golden case sets %s.%s", typ, f.Name)
			}
		}
		delete(covered, typ)
	}
	for typ := range covered {
		t.Errorf("All() misses %s", typ)
	}
}

// The table of the log events in the public contract.
func TestTheContractsEventsExistWithTheirLevels(t *testing.T) {
	contract := map[string]string{
		"node.starting": "info", "node.ready": "info", "node.draining": "info",
		"node.stopped": "info", "node.fenced": "error", "node.unfenced": "info",
		"member.joined": "info", "member.left": "info", "member.expired": "warn",
		"lease.acquired": "info", "lease.acquire_failed": "debug", "lease.released": "info",
		"lease.renewed": "debug", "lease.renew_failed": "warn", "lease.expired": "warn", "lease.lost": "warn",
		"session.added": "info", "session.changed": "info", "session.removed": "info", "session.invalid": "warn",
		"poll.started": "debug", "poll.succeeded": "debug", "poll.failed": "warn",
		"poll.recovered": "info", "result.fenced": "error",
		"events.subscribed": "info", "events.lost": "warn", "events.disabled": "warn", "reconcile.repaired": "warn",
		// Beyond the contract.
		"poll.logged": "info", "poll.deferred": "warn", "key.foreign": "warn", "actor.failed": "error",
		"redis.down": "warn", "redis.up": "info", "settings.warning": "warn", "result.dropped": "warn",
		"node.failed": "error", "node.summary": "info", "node.cordoned": "info", "node.uncordoned": "info", "poll.skipped": "debug", "poll.canceled": "debug",
		"claims.held_off": "warn", "traces.started": "info", "traces.dropped": "warn", "reconcile.failed": "warn",
	}
	for _, e := range eventlog.All() {
		name, level, _ := eventlog.Describe(e)
		if want, ok := contract[name]; !ok || string(level) != want {
			t.Errorf("%s is at %s, want %q", name, level, want)
		}
		delete(contract, name)
	}
	for name := range contract {
		t.Errorf("no event is called %s", name)
	}
}

func mustDecode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("no JSON: %v: %q", err, text)
	}
}
