package fleet

import (
	"bytes"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"leasehold/internal/redistest"
	"leasehold/test/fleet/check"
)

// once runs the program to its end.
func once(t *testing.T, environ []string) (code int, stdout, stderr string, took time.Duration) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, "run")
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = environ, &out, &errs, ownProcess()
	begun := time.Now()
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String(), time.Since(begun)
}

func TestWrongSettingsAreNamedAllAtOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{})
	code, stdout, stderr, _ := once(t, f.environ("a",
		"LEASEHOLD_REDIS_URL=http://:hunter2@h/0", "LEASEHOLD_LEASE_TTL=soon", "LEASEHOLD_HEARTBEAT_INTERVAL=5s",
		"LEASEHOLD_POLL_CONCURRENCY=-1", "LEASEHOLD_KEYSPACE_EVENTS=maybe", "LEASEHOLD_LEASE_TLL=6s"))
	if code != 2 || stdout != "" {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
	for _, part := range []string{
		"LEASEHOLD_REDIS_URL", "LEASEHOLD_LEASE_TTL", "soon", "LEASEHOLD_HEARTBEAT_INTERVAL", "LEASEHOLD_HEARTBEAT_TTL",
		"LEASEHOLD_POLL_CONCURRENCY", "-1", "LEASEHOLD_KEYSPACE_EVENTS", "maybe", "LEASEHOLD_LEASE_TLL",
	} {
		if !strings.Contains(stderr, part) {
			t.Errorf("%s is not named", part)
		}
	}
	if strings.Contains(stderr, "hunter2") || t.Failed() {
		t.Errorf("stderr is\n%s", stderr)
	}
}

func TestWithoutARedisItSaysWhatToDo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{})
	nobody := "127.0.0.1:" + strconv.Itoa(redistest.FreePort(t))
	code, stdout, stderr, took := once(t, f.environ("a", "LEASEHOLD_REDIS_URL=redis://:hunter2@"+nobody+"/0"))
	if code != 1 || stdout != "" || took > 2*time.Second {
		t.Errorf("exit code %d after %s, stdout %q", code, took, stdout)
	}
	for _, part := range []string{nobody, "LEASEHOLD_REDIS_URL", "leasehold demo"} {
		if !strings.Contains(stderr, part) {
			t.Errorf("%q is not in stderr", part)
		}
	}
	if strings.Contains(stderr, "hunter2") || t.Failed() {
		t.Errorf("stderr is\n%s", stderr)
	}
	t.Logf("exit after %s", took.Round(time.Millisecond))
}

// badDocuments are of no use, each for its own reason.
func badDocuments() map[string]string {
	return map[string]string{
		"b1": `{bad`, "b2": "", "b3": `[]`, "b4": `null`, "b5": `"x"`, "b6": strings.Repeat("a", 1<<20+1),
		"b7": "\xff\xfe", "b8": `{"url":5}`, "b9": `{}`, "b10": strings.Repeat("[", 100_000),
		"b11": `{"url":"http://127.0.0.1/","interval":"1ms"}`, "b12": `{"url":"http://127.0.0.1/","kind":"ftp"}`,
		"b13": `{"url":"ftp://127.0.0.1/"}`, "b14": `{"url":"http://127.0.0.1/","interval":1e300}`, "b\xff": `{"url":"http://127.0.0.1/"}`,
	}
}

// One bad document stops nothing else. C33: hermes-agent#61723, hermes-agent#61382,
// hibiken/asynq#1140.
func TestBadDocumentsStopNothingElse(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{ttl: 3 * time.Second, env: []string{"LEASEHOLD_RECONCILE_INTERVAL=2s"}})
	ids := f.putMany(5)
	bad := badDocuments()
	for id, document := range bad {
		f.set(f.keys.Session(id), document)
	}
	nodes := f.start("a", "b")
	f.settled(10*time.Second, nodes...)
	before := f.pulse()
	w := check.Window{From: f.target.Now()}
	wait(2 * f.plan.ttl)
	f.warnedOnce(nodes, bad)
	f.flat(before)

	// Written over and over, each other than before, each stays bad: that is no news.
	for i := range 20 {
		for id, document := range bad {
			f.set(f.keys.Session(id), document+strings.Repeat(" ", i+1))
		}
		wait(50 * time.Millisecond)
	}
	wait(f.plan.interval)
	f.warnedOnce(nodes, bad)

	f.put("b1", "")
	at := f.target.Now()
	t.Logf("polled %s after the correction", f.pollAfter("b1", at-effect, effect)-at)
	f.settled(f.plan.ttl, nodes...)
	w.To = f.target.Now()
	f.pass("the good ones", check.Gaps(f.history(), ids, w, f.plan.interval*3/2, 6*len(ids)).Err())

	delete(bad, "b1")
	ids = append(ids, "b1")
	for i, n := range nodes { // one after the other, so that all are polled meanwhile
		if code := n.term(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		nodes[i] = f.start(n.name)[0]
		f.settled(2*f.plan.ttl, nodes...)
	}
	wait(3 * f.plan.interval)
	f.warnedOnce(nodes, bad)
	restarts := check.Window{From: w.To, To: f.target.Now()}
	f.pass("the good ones over restarts", check.Gaps(f.history(), ids, restarts, f.plan.interval*3/2, 3*len(ids)).Err())
	f.safe(10 * len(ids))
}

// warnedOnce checks that each node has one line about each bad document, and that none
// of these has a lease or a state.
func (f *fleet) warnedOnce(nodes []*node, bad map[string]string) {
	f.t.Helper()
	for id := range bad {
		key := f.keys.Session(strings.ToValidUTF8(id, "\ufffd"))
		for _, n := range nodes {
			told := n.all(func(l line) bool { return l.Key == key })
			if len(told) != 1 || told[0].Event != "session.invalid" || told[0].Level != "warn" || told[0].Reason == "" {
				f.t.Errorf("%s has %d lines about %q: %.300v", n.name, len(told), id, told)
			}
		}
		for _, left := range []string{f.keys.Lease(id), f.keys.State(id)} {
			if f.rdb.Exists(f.t.Context(), left).Val() != 0 {
				f.t.Errorf("a bad document has %q", left)
			}
		}
	}
}

// Keys of others under the fleet's prefixes are left alone. C34:
// sidekiq-unique-jobs#491, sesamecare/redlock#6.
func TestForeignKeysAreLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{ttl: 3 * time.Second, env: []string{"LEASEHOLD_RECONCILE_INTERVAL=2s"}})
	ids := f.putMany(6)
	ctx := t.Context()
	f.rdb.HSet(ctx, "session:web:42", "user", "x")
	f.rdb.SAdd(ctx, "session:index", "s1", "s2")
	f.rdb.LPush(ctx, "session:q", 1)
	f.rdb.HSet(ctx, "poll:lease:s5", "a", "b")
	f.rdb.Set(ctx, "poll:node:", "x", 0)
	f.rdb.HSet(ctx, "poll:node:zz", "a", "b")
	// A name that the fleet uses too: each in its own place.
	f.rdb.Set(ctx, f.keys.State("s4"), "x", 0)
	f.rdb.Set(ctx, "poll:results", "x", 0)
	foreign := []string{"session:web:42", "session:index", "session:q", "poll:node:", "poll:node:zz", "poll:results"}
	freed := []string{"poll:lease:s5", f.keys.State("s4")}
	before := f.dump(slices.Concat(foreign, freed))

	nodes := f.start("a", "b")
	stuck := []string{"s4", "s5"}
	good := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(stuck, id) })
	until(t, 10*time.Second, "the good ones are held", func() bool { return len(f.holders()) == len(good) })
	w := check.Window{From: f.target.Now()}
	wait(2 * f.plan.ttl)
	w.To = f.target.Now()
	for _, id := range stuck {
		f.silent(id, 0)
	}
	for _, n := range nodes {
		if free, told := n.gauge(`leasehold_sessions{state="unleased"}`); free != len(stuck) {
			t.Errorf("%s counts %d unleased (%t), want %d", n.name, free, told, len(stuck))
		}
	}
	if after := f.dump(slices.Concat(foreign, freed)); !slices.Equal(before, after) {
		t.Errorf("foreign keys were\n%q\nand are\n%q", before, after)
	}
	f.toldOnce(nodes, "session:web:42", "session:index", "session:q", "poll:lease:s5", "poll:lease:s4", "poll:results")
	f.pass("the good ones", check.All(
		check.Gaps(f.history(), good, w, f.plan.interval*3/2, 5*len(good)),
		check.Rhythm(f.history(), good, w, f.plan.interval, 250*time.Millisecond, 5*len(good)),
		check.AcquiredOnce(f.history(), good, w, len(good)),
	))

	at := f.target.Now()
	for _, key := range freed {
		f.del(key)
	}
	for _, id := range stuck {
		t.Logf("%s is polled %s after its key was freed", id, f.pollAfter(id, at, 2*time.Second+f.plan.interval)-at)
	}
	f.settled(2*f.plan.ttl, nodes...) // neither of the foreign heartbeats has a share
	if after := f.dump(foreign); !slices.Equal(before[:len(foreign)], after) {
		t.Errorf("foreign keys are %q in the end", after)
	}
	f.safe(25)
}

// toldOnce checks that the nodes name each key, and no node twice.
func (f *fleet) toldOnce(nodes []*node, keys ...string) {
	f.t.Helper()
	for _, key := range keys {
		all := 0
		for _, n := range nodes {
			told := n.all(func(l line) bool { return l.Key == key })
			all += len(told)
			if len(told) > 1 {
				f.t.Errorf("%s told %d times of %s: %.300v", n.name, len(told), key, told)
			}
		}
		if all == 0 {
			f.t.Errorf("nobody told of %s", key)
		}
	}
}

// dump returns the keys' values as Redis would store them.
func (f *fleet) dump(keys []string) []string {
	f.t.Helper()
	var values []string
	for _, key := range keys {
		v, err := f.rdb.Dump(f.t.Context(), key).Result()
		if err != nil {
			f.t.Fatalf("%s: %v", key, err)
		}
		values = append(values, v)
	}
	return values
}
