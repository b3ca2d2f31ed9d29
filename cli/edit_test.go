package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"leasehold/cli"
)

func (b *bench) file(text string) string {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "in.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bench) documents() map[string]string {
	b.t.Helper()
	docs := map[string]string{}
	for _, key := range b.rdb.Keys(b.t.Context(), "session:*").Val() {
		docs[strings.TrimPrefix(key, "session:")] = b.rdb.Get(b.t.Context(), key).Val()
	}
	return docs
}

func TestSessionsAreAddedAsTheyAre(t *testing.T) {
	for name, input := range map[string]string{
		"lines":      "{\"id\":\"a/b\",\"kind\":\"log\", \"x\": 1.50 ,\"z\":9007199254740993}\n\n{\"session_id\":\"c\",\"id\":7,\"url\":\"http://h/\\u00e9\"}",
		"a mark":     "\ufeff{\"id\":\"a/b\",\"kind\":\"log\", \"x\": 1.50 ,\"z\":9007199254740993}\n{\"session_id\":\"c\",\"id\":7,\"url\":\"http://h/\\u00e9\"}",
		"a list":     "[\n{\"id\":\"a/b\",\"kind\":\"log\", \"x\": 1.50 ,\"z\":9007199254740993},\n\n{\"session_id\":\"c\",\"id\":7,\"url\":\"http://h/\\u00e9\"}]\n",
		"one a page": "{\"kind\":\"log\",\n  \"x\": 1.50 ,\n\n\"id\":\"a/b\",\"z\":9007199254740993} {\n\"id\":7,\"url\":\"http://h/\\u00e9\",\"session_id\":\"c\"}\n",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			want := map[string]string{
				"a/b": `{"kind":"log","x": 1.50,"z":9007199254740993}`, "c": `{"id":7,"url":"http://h/\u00e9"}`,
			}
			if got := b.ok("sessions", "add", "-f", b.file(input), "--dry-run"); got != "2 would be added, 0 replaced, 0 unchanged\n" || len(b.documents()) != 0 {
				t.Errorf("a dry run says %q and leaves %v", got, b.documents())
			}
			b.stdin = input
			if got := b.ok("sessions", "add", "-f", "-"); got != "2 added, 0 replaced, 0 unchanged\n" {
				t.Error(got)
			}
			if got := b.documents(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v, want %v", got, want)
			}
			if got := b.ok("sessions", "add", "-f", "-"); got != "0 added, 0 replaced, 2 unchanged\n" {
				t.Errorf("again: %s", got)
			}
		})
	}
}

func TestABareDocumentIsAddedAsItIs(t *testing.T) {
	b := newBench(t)
	const doc = "{\n \"id\": \"kept\",\n \"kind\": \"log\"\n}\n"
	b.ok("sessions", "add", "web", "-f", b.file(doc))
	if b.doc("web") != doc {
		t.Errorf("%q", b.doc("web"))
	}
	b.fails(2, "kind must be http, log or external", "sessions", "add", "bad", "-f", b.file(`{"kind":"x"}`))
	b.fails(2, "is not valid JSON", "sessions", "add", "bad", "-f", b.file(`{`))
	b.fails(2, "id is empty", "sessions", "add", "", "-f", b.file(doc))
	b.fails(2, "no such file", "sessions", "add", "-f", "nope.json")
	b.fails(2, `required flag(s) "file"`, "sessions", "add", "web")
	if docs := b.documents(); len(docs) != 1 {
		t.Errorf("%v", docs)
	}
}

func TestAFaultyInputIsToldWholeAndWritesNothing(t *testing.T) {
	b := newBench(t)
	b.put("old", `{"kind":"log"}`)
	input := `{"id":"a","kind":"log"}
{"id":"b"}
nonsense
{"id":"a","kind":"log"}
{"kind":"log"}
{"id":5,"kind":"log"}
"text"
{"id":"","kind":"log"}
{"id":"c","kind":"log","interval":"1ms"}
{"id":"\ufffd","kind":"log"}
{"id":"\ud800","kind":"log"}
{"id":"d","kind":"log"
{"id":"e","kind":"log"}`
	got := b.run("sessions", "add", "-f", b.file(input))
	want := `leasehold: nothing was written, since the input has 10 faults:
  line 2: session b: url is missing, and kind http needs one
  line 3: is not valid JSON at line 3, byte 2
  line 4: session a is on line 1 already
  line 5: has neither id nor session_id, which must be a string
  line 6: id must be a string
  line 7: must be an object with an id and the fields of a document
  line 8: session : id is empty
  line 9: session c: interval must be at least 100ms, is "1ms"
  line 11: has half of a surrogate pair in its ID
  line 12: is not valid JSON at line 13, byte 1
`
	if got.code != 2 || got.stderr != want || got.stdout != "" || len(b.documents()) != 1 {
		t.Errorf("%+v, want %s", got, want)
	}
	b.fails(2, "line 3: from here on it is not valid JSON at line 3, byte 3", "sessions", "add", "-f", b.file("[\n{\"id\":\"a\",\"kind\":\"log\"},\n nope]"))
	b.fails(2, "line 2: something stands behind the list", "sessions", "add", "-f", b.file("[{\"id\":\"a\",\"kind\":\"log\"}]\nx"))
	b.fails(2, "has 1 fault:", "sessions", "add", "-f", b.file("x"))
	b.fails(2, "line 2: is not valid JSON: it ends too early, at line 3, byte 6", "sessions", "add", "-f", b.file("\n{\n \"a\":1"))
	b.fails(2, "the input has no sessions", "sessions", "add", "-f", b.file(" \n"))
	b.fails(2, "is not a UUID", "sessions", "add", "--session-id-format", "uuid", "-f", b.file(`{"id":"a","kind":"log"}`))
	if len(b.documents()) != 1 {
		t.Errorf("%v", b.documents())
	}
}

func TestASessionThatIsThereIsReplacedOnlyWhenAsked(t *testing.T) {
	b := newBench(t)
	b.put("old", `{"kind":"log"}`)
	b.rdb.HSet(t.Context(), "session:hash", "a", "b")
	b.stdin = `{"id":"new","kind":"log"}` + "\n" + `{"id":"old","kind":"log","x":1}`
	b.fails(1, "line 2: session old: there is such a session already", "sessions", "add", "-f", "-")
	if b.doc("new") != "" || b.doc("old") != `{"kind":"log"}` {
		t.Error("something was written")
	}
	if got := b.ok("sessions", "add", "-f", "-", "--replace"); got != "1 added, 1 replaced, 0 unchanged\n" || b.doc("old") != `{"kind":"log","x":1}` {
		t.Errorf("%s: %s", got, b.doc("old"))
	}
	b.stdin = `{"id":"hash","kind":"log"}`
	b.fails(1, "foreign type", "sessions", "add", "-f", "-", "--replace")
	if b.rdb.HGet(t.Context(), "session:hash", "a").Val() != "b" {
		t.Error("a foreign key was written")
	}
}

func TestSessionsAreRemoved(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		b.put(id, `{"kind":"log"}`)
	}
	b.rdb.HSet(t.Context(), "session:hash", "a", "b")
	b.rdb.Set(t.Context(), "other:a", "1", 0)
	got := b.run("sessions", "rm", "a", "nope", "hash", "b")
	if got.code != 1 || got.stdout != "a removed\nb removed\n" || !strings.Contains(got.stderr, "session nope: there is no such session") ||
		!strings.Contains(got.stderr, "session hash: key has a foreign type") {
		t.Errorf("%+v", got)
	}
	b.fails(2, "say --yes too", "sessions", "rm", "--all")
	b.fails(2, "wants IDs, or --all", "sessions", "rm")
	b.fails(2, "wants IDs, or --all", "sessions", "rm", "c", "--all", "--yes")
	if n := b.rdb.Exists(t.Context(), "session:c", "session:d").Val(); n != 2 {
		t.Fatalf("%d are left", n)
	}
	if got := b.ok("sessions", "rm", "--all", "--yes"); got != "2 removed\n" {
		t.Error(got)
	}
	if n := b.rdb.Exists(t.Context(), "session:c", "session:d", "session:hash", "other:a").Val(); n != 2 {
		t.Errorf("%d are left, want what is no session", n)
	}
}

// Who is told that all are removed takes it for done.
func TestRemovingAllFailsWithTheFirstThatIsNotRemoved(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"a", "b"} {
		b.put(id, `{"kind":"log"}`)
	}
	user := func(rights ...any) {
		t.Helper()
		if err := b.rdb.Do(t.Context(), append([]any{"ACL", "SETUSER", "reader", "on", ">p", "resetkeys", "~session:*", "resetchannels", "+@all"}, rights...)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	user("-del")
	admin := b.env
	b.env = []string{"LEASEHOLD_REDIS_URL=" + strings.Replace(b.redis.URL(), "redis://", "redis://reader:p@", 1)}
	if got := b.run("sessions", "rm", "--all", "--yes"); got.code != 1 || got.stdout != "0 removed\n" || !strings.Contains(got.stderr, "NOPERM") ||
		!strings.Contains(got.stderr, "session ") {
		t.Errorf("%+v", got)
	}
	if n := len(b.documents()); n != 2 {
		t.Errorf("%d are left", n)
	}
	// Some of them can't be removed: the others are.
	user("resetkeys", "%R~session:*", "~session:a")
	if got := b.run("sessions", "rm", "--all", "--yes"); got.code != 1 || got.stdout != "1 removed\n" || !strings.Contains(got.stderr, "session b: ") {
		t.Errorf("%+v", got)
	}
	b.env = admin
	if got := b.ok("sessions", "rm", "--all", "--yes"); got != "1 removed\n" {
		t.Error(got)
	}
}

func TestPausingAndResuming(t *testing.T) {
	b := newBench(t)
	b.put("a", `{"kind":"log", "x" : 1.0}`)
	b.rdb.Expire(t.Context(), "session:a", time.Hour)
	if got := b.ok("sessions", "pause", "a"); got != "a paused\n" || b.doc("a") != `{"kind":"log", "x" : 1.0,"paused":true}` {
		t.Errorf("%s: %s", got, b.doc("a"))
	}
	if left := b.rdb.TTL(t.Context(), "session:a").Val(); left < 50*time.Minute {
		t.Errorf("its expiry is %s", left)
	}
	if got := b.ok("sessions", "pause", "a"); got != "a unchanged\n" {
		t.Error(got)
	}
	if got := b.ok("sessions", "resume", "a"); got != "a resumed\n" || b.doc("a") != `{"kind":"log", "x" : 1.0,"paused":false}` {
		t.Errorf("%s: %s", got, b.doc("a"))
	}
	b.put("bad", `[]`)
	b.rdb.HSet(t.Context(), "session:hash", "a", "b")
	got := b.run("sessions", "pause", "nope", "bad", "hash", "a")
	if got.code != 1 || got.stdout != "a paused\n" || strings.Count(got.stderr, "\n") != 3 {
		t.Errorf("%+v", got)
	}
	b.fails(2, "requires at least 1 arg(s)", "sessions", "resume")
}

// A writer counts up a field while the session is paused and resumed: no count is lost,
// nor is a pause.
func TestPausingLosesNothingOfAnotherWriter(t *testing.T) {
	b := newBench(t)
	b.put("a", `{"kind":"log","n":0}`)
	const counts = 300
	var wg sync.WaitGroup
	wg.Go(func() {
		const add = `local d = cjson.decode(redis.call('GET', KEYS[1])); d.n = d.n + 1; redis.call('SET', KEYS[1], cjson.encode(d)); return d.n`
		for range counts {
			time.Sleep(time.Millisecond)
			if err := b.rdb.Eval(context.Background(), add, []string{"session:a"}).Err(); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range 20 {
		b.ok("sessions", []string{"pause", "resume"}[i%2], "a")
	}
	wg.Wait()
	b.ok("sessions", "pause", "a")
	var doc struct {
		N      int
		Paused bool
	}
	if err := json.Unmarshal([]byte(b.doc("a")), &doc); err != nil || doc.N != counts || !doc.Paused {
		t.Errorf("%s: %v", b.doc("a"), err)
	}
}

func TestATaskIsAskedFor(t *testing.T) {
	b := newBench(t)
	b.put("task", `{"kind":"log","cron":"@daily"}`)
	b.put("plain", `{"kind":"log"}`)
	b.put("paused", `{"kind":"log","cron":"@daily","paused":true}`)
	if got := b.ok("sessions", "run", "task"); got != "task asked for\n" {
		t.Error(got)
	}
	if b.rdb.HGet(t.Context(), b.keys.State("task"), "asked").Val() == "" {
		t.Error("nobody will run it")
	}
	got := b.run("sessions", "run", "plain", "paused", "nope")
	if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "plain: it is no task") ||
		!strings.Contains(got.stderr, "paused: it is paused") || !strings.Contains(got.stderr, "nope: no session") {
		t.Errorf("%+v", got)
	}
	if b.rdb.Exists(t.Context(), b.keys.State("plain"), b.keys.State("paused")).Val() != 0 {
		t.Error("a state was made")
	}
}

func TestAHundredThousandSessions(t *testing.T) {
	n := 3000
	if text := os.Getenv("SESSIONS"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	b := newBench(t)
	var in strings.Builder
	for i := range n {
		fmt.Fprintf(&in, "{\"id\":\"session-%06d\",\"url\":\"http://10.0.0.7:9090/status\",\"interval\":\"10s\",\"labels\":{\"team\":\"t%d\"}}\n", i, i%7)
	}
	path := b.file(in.String())
	var bar strings.Builder
	b.deps = func(d *cli.Deps) { d.Progress, d.Stderr = true, &bar }
	took := func(what string, args ...string) string {
		t.Helper()
		began := time.Now()
		out := b.ok(args...)
		t.Logf("%s of %d: %s", what, n, time.Since(began).Round(time.Millisecond))
		return out
	}
	if out := took("add", "sessions", "add", "-f", path); out != fmt.Sprintf("%d added, 0 replaced, 0 unchanged\n", n) {
		t.Fatal(out)
	}
	if n >= 5000 && !strings.Contains(bar.String(), fmt.Sprintf("written %d of %d", n, n)) {
		t.Error("no progress was shown")
	}
	nodes := []string{b.node("a"), b.node("b"), b.node("c")}
	for _, node := range nodes { // however long all of it takes
		b.rdb.PExpire(t.Context(), b.keys.Node(node), time.Hour)
	}
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("session-%06d", i))
	}
	b.lease(nodes[0], ids[:n/3]...)
	b.lease(nodes[1], ids[n/3:2*n/3]...)
	b.lease(nodes[2], ids[2*n/3:]...)
	for _, format := range []string{"table", "json", "jsonl", "name"} {
		out := took("ls -o "+format, "sessions", "ls", "-o", format)
		if strings.Count(out, "session-") != n {
			t.Errorf("%s lists %d", format, strings.Count(out, "session-"))
		}
	}
	began := time.Now()
	b.run("status")
	t.Logf("status of %d: %s", n, time.Since(began).Round(time.Millisecond))
	took("leases ls", "leases", "ls", "-o", "name")
	took("explain", "explain", ids[0])
	took("plan", "plan", "--without", "b")
	if out := took("rm", "sessions", "rm", "--all", "--yes"); out != fmt.Sprintf("%d removed\n", n) {
		t.Error(out)
	}
}

// meddler runs once, at the first write.
type meddler struct {
	io.Writer

	once sync.Once
	run  func()
}

func (m *meddler) Write(p []byte) (int, error) {
	m.once.Do(m.run)
	return m.Writer.Write(p)
}

func TestSomebodyElseAddsTheSameSessions(t *testing.T) {
	var in strings.Builder
	for i := range 600 { // in two batches
		fmt.Fprintf(&in, "{\"id\":\"s%03d\",\"kind\":\"log\"}\n", i)
	}
	for name, c := range map[string]struct {
		theirs string
		code   int
		says   string
	}{
		"just so":   {`{"kind":"log"}`, 0, ""},
		"otherwise": {`{"kind":"external"}`, 1, "500 of 600 sessions are written for certain; somebody else adds the same ones: repeat the command with --replace"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.deps = func(d *cli.Deps) {
				d.Stdout = &meddler{Writer: d.Stdout, run: func() { // between the two
					for i := 500; i < 600; i++ {
						b.rdb.Set(t.Context(), fmt.Sprintf("session:s%03d", i), c.theirs, 0)
					}
				}}
			}
			b.fails(c.code, c.says, "sessions", "add", "-f", b.file(in.String()), "-o", "name")
			if got := b.documents()["s599"]; got != c.theirs || len(b.documents()) != 600 {
				t.Errorf("%s, %d documents", got, len(b.documents()))
			}
		})
	}
}
