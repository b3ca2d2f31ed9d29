package results_test

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"leasehold/lease"
	"leasehold/results"
)

var (
	grant = lease.Grant{Session: "web", Holder: "n1", Token: 1_764_329_368_123_456}
	start = time.Date(2026, 11, 28, 12, 0, 0, 250_000_000, time.UTC)
)

// decode reads an event as a consumer does.
func decode(t *testing.T, m results.Message) (e results.Event, loose map[string]any) {
	t.Helper()
	if err := json.Unmarshal(m.JSON, &e); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(m.JSON, &loose); err != nil {
		t.Fatal(err)
	}
	return e, loose
}

func TestAResultIsACloudEvent(t *testing.T) {
	_, got := decode(t, results.Encode(grant, lease.Result{
		OK: false, Class: "timeout", Error: "no <answer>", Status: 503, Bytes: 12, Body: []byte("out of <b>"),
		Due: start.Add(-250 * time.Millisecond), Started: start, Sequence: 1_764_329_368_123_460,
		Duration: 1500 * time.Millisecond, Failures: 2,
	}))
	want := map[string]any{
		"specversion": "1.0", "type": "leasehold.poll.result", "datacontenttype": "application/json",
		"id":     "web/1764329368123456/1764329368123460",
		"source": "/sessions/web", "time": "2026-11-28T12:00:01.75Z",
		"token": "1764329368123456", "sequence": "1764329368123460",
		"data": map[string]any{
			"session": "web", "holder": "n1", "scheduled": "2026-11-28T12:00:00Z", "started": "2026-11-28T12:00:00.25Z",
			"delay_ms": 250.0, "duration_ms": 1500.0, "ok": false, "class": "timeout", "error": "no <answer>",
			"failures": 2.0, "status": 503.0, "bytes": 12.0, "body": "out of <b>",
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v, want\n%v", got, want)
	}
}

func TestAFirstPollIsNotLate(t *testing.T) {
	e, _ := decode(t, results.Encode(grant, lease.Result{Started: start}))
	if !e.Data.Scheduled.Equal(start) || e.Data.DelayMS != 0 {
		t.Errorf("scheduled %v, delay %d", e.Data.Scheduled, e.Data.DelayMS)
	}
}

// The characters that CloudEvents forbids in its attributes are those below 0x20 and
// from 0x7f to 0x9f.
func TestEverySessionIDGivesValidAttributes(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []string{"a/b", "a%2Fb", "a b", "line\nbreak", "\x01\x7f", "\u0085", "größe-会议-🚦", "..", "?q#f", "{}"} {
		g := grant
		g.Session = id
		m := results.Encode(g, lease.Result{Started: start})
		e, _ := decode(t, m)
		if e.Data.Session != id || m.Session != id || m.ID != e.ID {
			t.Errorf("%q comes back as %q", id, e.Data.Session)
		}
		if strings.ContainsFunc(e.ID+e.Source, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			t.Errorf("%q gives %q, %q", id, e.ID, e.Source)
		}
		if u, err := url.Parse(e.Source); err != nil || u.Path != "/sessions/"+id {
			t.Errorf("%q has the source %q: %v", id, e.Source, err)
		}
		if other, ok := seen[e.ID]; ok {
			t.Errorf("%q and %q share an ID", id, other)
		}
		seen[e.ID] = id
	}
}

func TestABodyIsTextWhereItCanBe(t *testing.T) {
	for name, c := range map[string]struct {
		body, text string
		binary     bool
	}{
		"none":                       {"", "", false},
		"text":                       {"größe", "größe", false},
		"a broken character at last": {"ab\xe4\xbc", "", true}, // whoever cuts a text does it between two
		"not UTF-8":                  {"\xff\xfe\x00", "", true},
		"a broken character early":   {"\xe4\xbc then more", "", true},
	} {
		e, _ := decode(t, results.Encode(grant, lease.Result{Started: start, Body: []byte(c.body)}))
		if e.Data.Body != c.text || (string(e.Data.BodyBase64) == c.body && c.binary) != c.binary {
			t.Errorf("%s: body %q, base64 of %q", name, e.Data.Body, e.Data.BodyBase64)
		}
	}
}
