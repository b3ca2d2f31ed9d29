package cli_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"leasehold/cli"
	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/results"
)

type happeningReply struct {
	Time       time.Time `json:"time"`
	Type       string    `json:"type"`
	SessionID  string    `json:"session_id"`
	InstanceID string    `json:"instance_id"`
	HolderID   string    `json:"holder_id"`
	Version    int64     `json:"version"`
	Cause      string    `json:"cause"`
	Result     *struct {
		Class  string `json:"class"`
		Status int    `json:"status"`
		Body   string `json:"body"`
	} `json:"result"`
}

// tail runs events until it has shown so much, beginning when it listens: do is called
// once then.
func (b *bench) tail(do func(), until func([]happeningReply) bool, args ...string) []happeningReply {
	b.t.Helper()
	notes := &screen{}
	begun := false
	read := func(shown string) []happeningReply {
		var all []happeningReply
		for line := range strings.Lines(shown) {
			var h happeningReply
			if strings.HasSuffix(line, "\n") {
				if err := json.Unmarshal([]byte(line), &h); err != nil {
					b.t.Errorf("%q: %v", line, err)
				}
				all = append(all, h)
			}
		}
		return all
	}
	got, shown := b.watch(func(d *cli.Deps) { d.Stderr = notes }, func(shown string) bool {
		if !begun && strings.Contains(notes.String(), "listening") {
			begun = true
			do()
		}
		return begun && until(read(shown))
	}, append([]string{"events", "-o", "jsonl"}, args...)...)
	if got.code != 0 {
		b.t.Errorf("%+v, %s", got, notes)
	}
	return read(shown)
}

func has(all []happeningReply, is func(happeningReply) bool) bool {
	return slices.ContainsFunc(all, is)
}

func TestEventsShowWhatHappens(t *testing.T) {
	b := newBench(t)
	there := b.node("there")
	var holder string
	var grant lease.Grant
	versions := map[string]int64{}
	began := time.Now().Add(-time.Minute)
	all := b.tail(func() {
		b.node("there") // its heartbeat is no news
		holder = b.node("a")
		b.sessions("s1")
		for _, g := range b.lease(holder, "s1", "s2") {
			versions[g.Session] = int64(g.Token)
		}
		grant = lease.Grant{Session: "s1", Holder: holder, Token: lease.Token(versions["s1"])}
		if err := b.store.SetCordon(t.Context(), holder, lease.Cordoned); err != nil {
			t.Error(err)
		}
	}, func(all []happeningReply) bool {
		// One after the other: of what happens at once not all need be told.
		if grant.Session != "" && has(all, func(h happeningReply) bool { return h.Type == "lease.taken" && h.SessionID == "s1" }) {
			b.store.Release(t.Context(), []lease.Release{{Grant: grant}})
			b.rdb.PExpire(t.Context(), b.keys.Lease("s2"), 10*time.Millisecond)
			b.rdb.Del(t.Context(), b.keys.Node(holder))
			grant.Session = ""
		}
		for _, want := range []string{"lease.freed", "lease.expired", "node.gone", "node.cordon", "session.changed"} {
			if !has(all, func(h happeningReply) bool { return h.Type == want }) {
				return false
			}
		}
		return true
	})
	for _, h := range all {
		var ok bool
		switch h.Type {
		case "lease.taken":
			ok = h.HolderID == holder && h.Version != 0 && h.Version == versions[h.SessionID]
		case "lease.freed":
			ok = h.SessionID == "s1" && h.Cause == "deleted"
		case "lease.expired":
			ok = h.SessionID == "s2"
		case "node.seen", "node.gone", "node.cordon":
			ok = h.InstanceID == holder
		case "session.changed":
			ok = h.SessionID == "s1"
		}
		if !ok || h.Time.Before(began) || h.Time.After(time.Now().Add(time.Minute)) {
			t.Errorf("%+v (%s, %s)", h, there, holder)
		}
	}
}

func TestEventsAreFilteredAndHavePolls(t *testing.T) {
	b := newBench(t)
	holder := b.node("a")
	result := func(session string, status int) {
		m := results.Encode(
			lease.Grant{Session: session, Holder: holder, Token: 7},
			lease.Result{Class: "http_error", Status: status, Sequence: 1, Body: []byte("answer")},
		)
		b.rdb.XAdd(t.Context(), streamArgs(session, string(m.JSON)))
	}
	result("web", 500) // before
	polled := func(h happeningReply) bool { return h.Type == "poll" }
	all := b.tail(func() {
		b.sessions("web", "other")
		b.lease(holder, "web", "other")
		result("other", 501)
		b.rdb.XAdd(t.Context(), streamArgs("web", "nonsense"))
		result("web", 503)
	}, func(all []happeningReply) bool {
		return has(all, polled) && has(all, func(h happeningReply) bool { return h.Type == "lease.taken" })
	}, "--polls", "--types", "poll,lease", "--session", "web")
	for _, h := range all {
		switch {
		case h.SessionID != "web" || h.Type != "poll" && h.Type != "lease.taken":
			t.Errorf("%+v", h)
		case h.Type == "poll" && (h.HolderID != holder || h.Result == nil || h.Result.Class != "http_error" || h.Result.Status != 503 || h.Result.Body != ""):
			t.Errorf("%+v", h)
		}
	}
	b.deps = nil
	b.fails(2, "must be among", "events", "--types", "nope")
	b.fails(2, "wants --polls", "events", "--types", "poll")
	b.fails(2, "text or jsonl", "events", "-o", "yaml")
	b.fails(1, "is off", "events", "--keyspace-events", "off")
	b.fails(1, "LEASEHOLD_RESULT_STREAM", "events", "--polls", "--result-stream", "")
}

func TestEventsForPeople(t *testing.T) {
	b := newBench(t)
	holder := b.node("a")
	begun, version, notes := false, int64(0), &screen{}
	_, shown := b.watch(func(d *cli.Deps) { d.Stderr = notes }, func(shown string) bool {
		if !begun && strings.Contains(notes.String(), "listening") {
			begun = true
			version = int64(b.lease(holder, "s\n1")[0].Token)
		}
		return strings.Contains(shown, "\n")
	}, "events", "-f")
	if line, _, _ := strings.Cut(shown, "\n"); !strings.HasSuffix(line, ` lease.taken     s\n1 by `+holder+" version "+strconv.FormatInt(version, 10)) {
		t.Errorf("%q", shown)
	}
}

func TestEventsOfAServerThatBecameAnother(t *testing.T) {
	b := newBench(t)
	other := redistest.StartServer(t)
	begun, notes := false, &screen{}
	_, shown := b.watch(func(d *cli.Deps) { d.Stderr = notes }, func(shown string) bool {
		if !begun && strings.Contains(notes.String(), "listening") {
			begun = true
			b.rdb.Do(t.Context(), "REPLICAOF", "127.0.0.1", other.Port)
		}
		return strings.Contains(shown, "gap")
	}, "events")
	if !strings.Contains(notes.String(), "events are lost: server_changed\n") {
		t.Errorf("%s%s", notes, shown)
	}
}

func TestEventsThatRedisDoesNotAnnounce(t *testing.T) {
	b := newBench(t)
	b.rdb.Do(t.Context(), "ACL", "SETUSER", "reader", "on", ">pw", "~*", "&*", "+@all", "-config")
	b.env = []string{strings.Replace(b.env[0], "redis://", "redis://reader:pw@", 1)}
	notes := &screen{}
	got, _ := b.watch(func(d *cli.Deps) { d.Stderr = notes }, func(string) bool {
		return strings.Contains(notes.String(), "events are not available")
	}, "events")
	if got.code != 0 || strings.Contains(notes.String(), "pw") {
		t.Errorf("%+v: %s", got, notes)
	}
}
