package demo

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

// start is when the logs of these tests begin.
func start() time.Time { return time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC) }

// logged is a line of a node's log, so many milliseconds after the start.
type logged struct {
	at   int
	node string
	text string // the fields that differ
}

// read feeds lines to a new digest and returns what it tells in the end.
func read(t *testing.T, lines ...logged) []string {
	t.Helper()
	d := newDigest()
	for _, l := range lines {
		at := start().Add(time.Duration(l.at) * time.Millisecond)
		text := fmt.Sprintf(`{"time":%q,"instance_id":"%s-1-0000000a",%s}`, at.Format(time.RFC3339Nano), l.node, l.text)
		parsed, ok := parseLine([]byte(text))
		if !ok {
			t.Fatalf("no line: %s", text)
		}
		d.feed(l.node, parsed, at)
	}
	return d.all()
}

func acquired(session string, version int, ms string) string {
	text := fmt.Sprintf(`"event":"lease.acquired","endpoint_id":%q,"version":%d`, session, version)
	if ms != "" {
		text += `,"takeover_ms":` + ms
	}
	return text
}

func released(session string, version int, reason string) string {
	return fmt.Sprintf(`"event":"lease.released","endpoint_id":%q,"version":%d,"reason":%q`, session, version, reason)
}

func TestDigest(t *testing.T) {
	for name, c := range map[string]struct {
		lines []logged
		want  []string
	}{
		"a first lease": {
			lines: []logged{{0, "node-1", acquired("a", 7, "")}},
			want:  []string{"node-1 took 1 session"},
		},
		"a burst is one line with the median": {
			lines: []logged{
				{0, "node-2", acquired("a", 7, "")},
				{0, "node-2", acquired("b", 7, "")},
				{1, "node-2", acquired("c", 7, "")},
				{6000, "node-1", acquired("a", 8, "1")},
				{6001, "node-1", acquired("b", 8, "90")},
				{6002, "node-1", acquired("c", 8, "3.14")},
			},
			want: []string{"node-2 took 3 sessions", "node-1 took over 3 sessions of node-2, 3.1 ms after the deadline at the median"},
		},
		"what was given back is not taken over, though the giver's line is read later": {
			lines: []logged{
				{0, "node-1", acquired("a", 7, "")},
				{902, "node-2", acquired("a", 8, "0.8")},
				{901, "node-1", released("a", 7, "rebalance")},
			},
			want: []string{
				"node-1 took 1 session", "node-1 gave back 1 session for balance",
				"node-2 took 1 session from node-1, 0.8 ms after each was given back at the median",
			},
		},
		"an old release says nothing about a later takeover": {
			lines: []logged{
				{0, "node-1", acquired("a", 7, "")},
				{1, "node-1", released("a", 7, "rebalance")},
				{2, "node-2", acquired("a", 8, "1")},
				{6000, "node-3", acquired("a", 9, "2")},
			},
			want: []string{
				"node-1 took 1 session", "node-1 gave back 1 session for balance",
				"node-2 took 1 session from node-1, 1.0 ms after each was given back at the median",
				"node-3 took over 1 session of node-2, 2.0 ms after the deadline at the median",
			},
		},
		"what many nodes say about one is told once, and again when it changes": {
			lines: []logged{
				{0, "node-1", `"event":"member.joined","member":"node-3-1-0000000a"`},
				{1, "node-2", `"event":"member.joined","member":"node-3-1-0000000a"`},
				{2, "node-2", `"event":"member.joined","member":"node-1-1-0000000a"`},
				{900, "node-1", `"event":"member.expired","member":"node-3-1-0000000a"`},
				{901, "node-2", `"event":"member.expired","member":"node-3-1-0000000a"`},
			},
			want: []string{"node-1 and node-3 joined the fleet", "the heartbeat of node-3 has run out"},
		},
		"who said that it leaves has left, who did not has died": {
			lines: []logged{
				{0, "node-3", `"event":"node.draining","reason":"SIGTERM"`},
				{1, "node-1", `"event":"member.left","member":"node-3-1-0000000a"`},
				{2, "node-1", `"event":"member.left","member":"node-2-1-0000000a"`},
				{3, "node-4", `"event":"member.expired","member":"node-2-1-0000000a"`},
			},
			want: []string{"node-3 hands its sessions over (SIGTERM)", "node-3 left the fleet", "the heartbeat of node-2 has run out"},
		},
		"lines that the node held back count": {
			lines: []logged{{0, "node-1", acquired("a", 7, "")}, {1000, "node-1", `"event":"lease.acquired","count":66`}},
			want:  []string{"node-1 took 67 sessions"},
		},
		"trouble is told": {
			lines: []logged{
				{0, "node-1", `"event":"lease.lost","endpoint_id":"a"`},
				{1, "node-1", `"event":"lease.expired","endpoint_id":"b"`},
				{2, "node-1", `"event":"node.fenced","reason":"no heartbeat"`},
				{3, "node-1", `"event":"node.unfenced","duration_ms":5400`},
				{4, "node-2", `"event":"poll.failed","reason":"timeout"`},
				{5, "node-2", `"event":"poll.failed","reason":"timeout"`},
				{6, "node-2", `"event":"redis.down","message":"Redis does not answer","error":"EOF"`},
			},
			want: []string{
				"node-1 has lost 1 lease and polls no more under it", "node-1 has lost 1 lease and polls no more under it",
				"node-1 finds itself cut off and polls nothing: no heartbeat", "node-1 is back in the fleet after 5.4 s",
				"2 polls of node-2 failed: timeout", "node-2: Redis does not answer: EOF",
			},
		},
		"routine is not": {
			lines: []logged{{0, "node-1", `"event":"node.ready"`}, {0, "node-1", `"event":"events.subscribed"`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := read(t, c.lines...); !reflect.DeepEqual(got, c.want) {
				t.Errorf("told\n%q, want\n%q", got, c.want)
			}
		})
	}
}

func TestABurstEndsWhenItIsQuietOrOld(t *testing.T) {
	d := newDigest()
	for at := start(); len(d.due(at)) == 0; at = at.Add(quiet / 2) { // never quiet
		d.feed("node-1", line{Event: "lease.released", Reason: "rebalance"}, at)
		if at.Sub(start()) > 2*oldest {
			t.Fatal("a steady row of events is never told")
		}
	}
	d.feed("node-1", line{Event: "lease.released", Reason: "rebalance"}, start())
	if got := d.due(start().Add(quiet - 1)); got != nil {
		t.Errorf("told too early: %q", got)
	}
	if got := d.due(start().Add(quiet)); len(got) != 1 {
		t.Errorf("told %q after it was quiet", got)
	}
	if got := d.due(start().Add(time.Hour)); got != nil {
		t.Errorf("told twice: %q", got)
	}
}

func TestWhatIsNoLogLine(t *testing.T) {
	for _, text := range []string{"panic: boom", "", "{", `{"a":1}`, "[]", "leasehold: no usable Redis"} {
		if l, ok := parseLine([]byte(text)); ok {
			t.Errorf("%q is taken for %+v", text, l)
		}
	}
}
