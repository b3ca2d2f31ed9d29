package cli_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"leasehold/lease"
)

// sessionReply is a session as the commands show it.
type sessionReply struct {
	SessionID string     `json:"session_id"`
	State     string     `json:"state"`
	Kind      string     `json:"kind"`
	Paused    bool       `json:"paused"`
	Problem   string     `json:"problem"`
	HolderID  *string    `json:"holder_id"`
	Version   int64      `json:"version"`
	HeldSince *time.Time `json:"held_since"`
	ExpiresAt *time.Time `json:"expires_at"`
	TTL       *int64     `json:"ttl_ms"`
	NextRun   *time.Time `json:"next_run"`
	Failures  int        `json:"failures"`
	LateMS    int64      `json:"late_ms"`
	LastRun   *struct {
		StartedAt time.Time `json:"started_at"`
		OK        bool      `json:"ok"`
		Class     string    `json:"class"`
		Error     string    `json:"error"`
		Status    int       `json:"status"`
	} `json:"last_run"`
	Labels    map[string]string `json:"labels"`
	Document  map[string]any    `json:"document"`
	Preferred *string           `json:"preferred_holder_id"`
	Reason    string            `json:"preferred_reason"`
}

// everyState stores a session in each state, named by it.
func (b *bench) everyState() (alive string) {
	b.t.Helper()
	alive, gone := b.node("alive"), "gone-1764288000123456789-0000000b"
	doc := `{"url":"http://10.0.0.7/","labels":{"team":"core"}}`
	for _, id := range []string{"ok", "failing", "unleased", "orphaned", "api"} {
		b.put(id, doc)
	}
	b.put("paused", `{"kind":"log","isPaused":true}`)
	b.put("external", `{"kind":"external"}`)
	b.put("invalid", `{"kind":"nope"}`)
	b.lease(gone, "orphaned")
	b.lease("worker-1", "api")
	grants := b.lease(alive, "ok", "failing")
	b.poll(grants[0], lease.Result{OK: true, Class: "success", Status: 200})
	for _, id := range []string{"ok", "failing", "orphaned", "api"} {
		b.rdb.PExpire(b.t.Context(), b.keys.Lease(id), 10*time.Hour+25*time.Second) // looks the same for a while
	}
	b.rdb.PExpire(b.t.Context(), b.keys.Lease("ok"), 9*time.Hour+25*time.Second)
	b.poll(grants[1], lease.Result{Class: "http_error", Error: "status 500", Status: 500, Failures: 3, RetryAt: time.Now().Add(time.Hour)})
	return alive
}

func TestSessionsAreListedAsRedisHasThem(t *testing.T) {
	b := newBench(t)
	b.everyState()
	b.rdb.HSet(t.Context(), "poll:lease:foreign", "a", "b")
	b.put("foreign", `{"kind":"log"}`)
	all := list[sessionReply](b, "sessions", "ls")
	if len(all) != 9 {
		t.Fatalf("%d sessions", len(all))
	}
	if !slices.IsSortedFunc(all, func(a, b sessionReply) int { return strings.Compare(a.SessionID, b.SessionID) }) {
		t.Error("they are not sorted")
	}
	for _, s := range all {
		state := s.SessionID
		if state == "foreign" {
			state = "invalid"
		}
		if s.State != state {
			t.Errorf("%s is %s", s.SessionID, s.State)
		}
		b.sameAsRedis(s)
	}
}

// sameAsRedis compares a session field by field with the keys.
func (b *bench) sameAsRedis(s sessionReply) {
	b.t.Helper()
	ctx := b.t.Context()
	if s.SessionID == "foreign" {
		if !strings.Contains(s.Problem, "poll:lease:foreign") {
			b.t.Errorf("its problem is %q", s.Problem)
		}
		return
	}
	holder := b.rdb.Get(ctx, b.keys.Lease(s.SessionID)).Val()
	if (s.HolderID == nil) != (holder == "") || s.HolderID != nil && *s.HolderID != holder {
		b.t.Errorf("%s: holder %v, want %q", s.SessionID, s.HolderID, holder)
	}
	state := b.rdb.HGetAll(ctx, b.keys.State(s.SessionID)).Val()
	number := func(field string) int64 {
		n, _ := strconv.ParseInt(state[field], 10, 64)
		return n
	}
	if s.Version != number("version") || int64(s.Failures) != number("failures") {
		b.t.Errorf("%s: version %d, failures %d, want %v", s.SessionID, s.Version, s.Failures, state)
	}
	if holder == "" {
		if s.TTL != nil || s.ExpiresAt != nil || s.HeldSince != nil {
			b.t.Errorf("%s is free: %+v", s.SessionID, s)
		}
		return
	}
	left := b.rdb.PTTL(ctx, b.keys.Lease(s.SessionID)).Val()
	if s.TTL == nil || time.Duration(*s.TTL)*time.Millisecond < left || left < time.Duration(*s.TTL)*time.Millisecond-10*time.Second {
		b.t.Errorf("%s: TTL %v, and %s is left", s.SessionID, s.TTL, left)
	}
	if s.HeldSince == nil || s.HeldSince.UnixMilli() != number("since") {
		b.t.Errorf("%s: since %v, want %v", s.SessionID, s.HeldSince, state["since"])
	}
	if due := max(number("due"), number("retry_at")); due > 0 && (s.NextRun == nil || s.NextRun.UnixMilli() != due) {
		b.t.Errorf("%s: next %v, want %d", s.SessionID, s.NextRun, due)
	}
	if _, polled := state["started"]; polled != (s.LastRun != nil) {
		b.t.Errorf("%s: last run %v of %v", s.SessionID, s.LastRun, state)
	} else if polled && (s.LastRun.StartedAt.UnixMilli() != number("started") || s.LastRun.OK != (state["ok"] == "1") ||
		s.LastRun.Class != state["class"] || s.LastRun.Error != state["error"] || int64(s.LastRun.Status) != number("status")) {
		b.t.Errorf("%s: last run %+v of %v", s.SessionID, s.LastRun, state)
	}
}

func TestSessionsAreFiltered(t *testing.T) {
	b := newBench(t)
	alive := b.everyState()
	for args, want := range map[string]string{
		"--state ok":                     "ok",
		"--state failing,unleased":       "failing unleased",
		"--state paused --state invalid": "invalid paused",
		"--owner " + alive:               "failing ok",
		"--owner alive":                  "failing ok",
		"--owner worker-1":               "api",
		"--owner nobody":                 "",
		"-l team=core --state ok":        "ok",
		"-l team":                        "api failing ok orphaned unleased",
		"-l team=other":                  "",
		"-l team=core -l nope":           "",
		"--kind external":                "external",
		"--kind log":                     "paused",
	} {
		got := strings.Fields(b.ok(append([]string{"sessions", "ls", "-o", "name"}, strings.Fields(args)...)...))
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", args, got, want)
		}
	}
	if got := b.ok("sessions", "ls", "--late", "-o", "name"); got != "" {
		t.Errorf("late before: %s", got)
	}
	b.rdb.HSet(t.Context(), b.keys.State("ok"), "due", time.Now().Add(-time.Hour).UnixMilli())
	if got := b.ok("sessions", "ls", "--late", "-o", "name"); strings.TrimSpace(got) != "ok" {
		t.Errorf("late: %s", got)
	}
	b.fails(2, `--state="nope": must be one of`, "sessions", "ls", "--state", "nope")
	b.fails(2, `--kind="nope": must be http`, "sessions", "ls", "--kind", "nope")
	b.fails(2, `--sort-by must be one of session, kind, state`, "sessions", "ls", "--sort-by", "nope")
	for _, line := range []string{"status", "nodes get a", "leases get a", "sessions get a", "explain a", "probe a"} { // one thing has no order
		b.fails(2, "unknown flag: --sort-by", append(strings.Fields(line), "--sort-by", "ttl")...)
	}
	b.fails(2, "must be one of table, wide", "sessions", "ls", "-o", "nope")
	b.fails(2, "LEASEHOLD_LEASE_TTL", "sessions", "ls", "--lease-ttl", "never")
}

// fixed replaces what differs from run to run by as many characters.
func fixed(s string) string {
	for pattern, by := range map[string]string{
		`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`: "2030-01-01T12:00:00.000Z",
		`\b\d{16}\b`:              "1764288000123456",
		`127\.0\.0\.1:\d+`:        "HOST:PORT",
		`flags "[^"]*"`:           "flags",
		`(REDIS +)[0-9.]+`:        "${1}VERSION",
		`(LAST TOOK +)[0-9a-zµ]+`: "${1}0s",
	} {
		s = regexp.MustCompile(pattern).ReplaceAllString(s, by)
	}
	return s
}

func TestTables(t *testing.T) {
	b := newBench(t)
	b.everyState()
	b.put("esc\x1b[2J\n\"é", `{"kind":"log"}`)
	for name, args := range map[string]string{
		"sessions-ls.txt":      "sessions ls",
		"sessions-ls-wide.txt": "sessions ls -o wide --sort-by state",
		"sessions-get.txt":     "sessions get failing",
	} {
		golden(t, name, fixed(b.ok(strings.Fields(args)...)))
	}
	if got := b.ok("sessions", "ls", "--no-headers", "--state", "ok"); strings.Contains(got, "SESSION") || strings.Count(got, "\n") != 1 {
		t.Errorf("without headers: %s", got)
	}
	for _, format := range []string{"table", "wide", "name"} {
		if got := b.ok("sessions", "ls", "-o", format); strings.ContainsRune(got, '\x1b') {
			t.Errorf("%s lets an ID steer the terminal: %q", format, got)
		}
	}
}

func TestASessionIsShownWithItsDocumentAndNoSecret(t *testing.T) {
	b := newBench(t)
	first, second := b.node("a"), b.node("b")
	b.put("s1", `{"url":"http://me:pass1@10.0.0.7/x?token=pass2&q=1","headers":{"Authorization":"pass3"},"body":"pass4","labels":{"team":"core"},"password":"pass5"}`)
	b.put("s2", `{"kind":"log"}`)
	b.lease(first, "s1")
	b.lease(second, "s2")
	got := one[sessionReply](b, "sessions", "get", "s1")
	b.sameAsRedis(got)
	if got.Document["url"] != "http://10.0.0.7/x?token=***&q=1" || got.Labels["team"] != "core" {
		t.Errorf("document %v, labels %v", got.Document, got.Labels)
	}
	if got.Preferred == nil || *got.Preferred != first || !strings.Contains(got.Reason, "its share of 1") {
		t.Errorf("preferred %v because %s", got.Preferred, got.Reason)
	}
	for _, format := range []string{"table", "wide", "json", "jsonl", "yaml", "name"} {
		if out := b.ok("sessions", "get", "s1", "-o", format); regexp.MustCompile(`pass\d`).MatchString(out) {
			t.Errorf("%s shows a secret: %s", format, out)
		}
	}
	b.fails(1, `no session "nope"`, "sessions", "get", "nope")
	b.fails(2, "accepts 1 arg(s)", "sessions", "get")
}

func TestFormatsHoldTheSameFields(t *testing.T) {
	b := newBench(t)
	b.put("a", `{"kind":"log"}`)
	b.put("b", `{"kind":"log","labels":{"x":"true","y":"😀"}}`)
	var lines []map[string]any
	for line := range strings.Lines(b.ok("sessions", "ls", "-o", "jsonl", "--sort-by", "session")) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, row)
	}
	if want := list[map[string]any](b, "sessions", "ls"); fmt.Sprint(lines) != fmt.Sprint(want) || len(lines) != 2 {
		t.Errorf("lines %v, want %v", lines, want)
	}
	golden(t, "sessions-ls.yaml", b.ok("sessions", "ls", "-o", "yaml"))
	if got := b.ok("sessions", "ls", "--state", "api", "-o", "json"); got != "[]\n" {
		t.Errorf("no sessions are %q", got)
	}
}

func TestADocumentIsPrintedSoThatItCanBePasted(t *testing.T) {
	const doc = `{"url":"http://x/?a&b<c>","labels":{"n":"\"q\" \\u0026 \u202e\u0085\ud83d\ude00\ue000\u0007 é"},"interval":1.50}`
	b := newBench(t)
	b.rdb.Set(t.Context(), "session:a", doc, 0)
	for _, format := range []string{"table", "wide"} {
		_, line, found := strings.Cut(b.ok("sessions", "get", "a", "-o", format), "DOCUMENT")
		line, _, _ = strings.Cut(line, "\n")
		line = strings.TrimSpace(line)
		if !found || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%s: %q", format, line)
		}
		if !strings.Contains(line, `?a&b<c>`) || !strings.Contains(line, "1.50") {
			t.Errorf("%s: %s", format, line)
		}
		var got, want any
		_ = json.Unmarshal([]byte(doc), &want)
		if err := json.Unmarshal([]byte(line), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s (%v)", format, line, err)
		}
	}
}
