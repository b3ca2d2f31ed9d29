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
		"b1": `{bad`, "b2": "", "b3": `[]`, "b4": `null`, "b5": `"x"`, "b6": strings.Repeat("a", 1<<20),
		"b7": "\xff\xfe", "b8": `{"url":5}`, "b9": `{}`, "b10": strings.Repeat("[", 100_000),
		"b11": `{"url":"http://127.0.0.1/","interval":"1ms"}`, "b12": `{"url":"http://127.0.0.1/","kind":"ftp"}`,
		"b13": `{"url":"ftp://127.0.0.1/"}`, "b14": `{"url":"http://127.0.0.1/","interval":1e300}`, "b\xff": `{"url":"http://127.0.0.1/"}`,
	}
}

func TestBadDocumentsStopNothingElse(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{env: []string{"LEASEHOLD_RECONCILE_INTERVAL=2s"}})
	ids := f.putMany(5)
	bad := badDocuments()
	for id, document := range bad {
		f.set(f.keys.Session(id), document)
	}
	nodes := f.start("a", "b")
	f.settled(10*time.Second, nodes...)
	w := check.Window{From: f.target.Now()}
	wait(f.plan.ttl)
	for id := range bad {
		for _, n := range nodes {
			warned := n.all(event("session.invalid"), func(l line) bool { return l.Key == f.keys.Session(strings.ToValidUTF8(id, "\ufffd")) })
			if len(warned) != 1 || warned[0].Level != "warn" || warned[0].Reason == "" {
				t.Errorf("%s warned %d times of %q: %.200v", n.name, len(warned), id, warned)
			}
		}
		if left := f.keysLike("poll:*" + id); len(left) != 0 && id != "b1" {
			t.Errorf("%q has keys: %q", id, left)
		}
	}
	at := f.target.Now()
	f.put("b1", "")
	t.Logf("polled %s after the correction", f.pollAfter("b1", at, effect)-at)
	wait(f.plan.interval)
	w.To = f.target.Now()
	f.pass("the good ones", check.Gaps(f.history(), ids, w, f.plan.interval*3/2, 6*len(ids)).Err())
	f.safe(7 * len(ids))
}

func TestForeignKeysAreLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{env: []string{"LEASEHOLD_RECONCILE_INTERVAL=2s"}})
	ids := f.putMany(6)
	ctx := t.Context()
	f.rdb.HSet(ctx, "session:web:42", "user", "x")
	f.rdb.SAdd(ctx, "session:index", "s1", "s2")
	f.rdb.LPush(ctx, "session:q", 1)
	f.rdb.HSet(ctx, "poll:lease:s5", "a", "b")
	f.rdb.Set(ctx, "poll:node:", "x", 0)
	f.rdb.HSet(ctx, "poll:node:zz", "a", "b")
	foreign := []string{"session:web:42", "session:index", "session:q", "poll:lease:s5", "poll:node:", "poll:node:zz"}
	before := f.dump(foreign)

	nodes := f.start("a", "b")
	good := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "s5" })
	until(t, 10*time.Second, "the good ones are shared", func() bool { return even(f.holders(), 5, nodes) })
	w := check.Window{From: f.target.Now()}
	wait(f.plan.ttl)
	w.To = f.target.Now()
	f.silent("s5", 0)
	if after := f.dump(foreign); !slices.Equal(before, after) {
		t.Errorf("foreign keys were\n%q\nand are\n%q", before, after)
	}
	for _, n := range nodes {
		for _, key := range foreign[:4] {
			told := n.all(func(l line) bool { return l.Key == key })
			if len(told) != 1 {
				t.Errorf("%s told %d times of %s: %.300v", n.name, len(told), key, told)
			}
		}
	}
	at := f.target.Now()
	f.del("poll:lease:s5")
	t.Logf("polled %s after its lease's key was freed", f.pollAfter("s5", at, 2*time.Second+f.plan.interval)-at)
	f.settled(f.plan.ttl, nodes...)
	f.pass("the good ones", check.Gaps(f.history(), good, w, f.plan.interval*3/2, 4*len(good)).Err())
	f.safe(25)
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
