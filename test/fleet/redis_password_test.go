package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"leasehold/test/fleet/check"
)

const (
	rightPassword   = "right-5521"
	wrongPassword   = "wrong-7431"
	rotatedPassword = "rotated-9915"
)

// A login that fails is said to have failed, and no output has a secret in it. C09:
// gitroomhq/postiz-app#1003, Kuadrant/limitador#360.
func TestAWrongPasswordEndsTheStartWithoutSayingIt(t *testing.T) {
	t.Parallel()
	f := passwordFleet(t)
	f.put("s", "")
	for _, env := range [][]string{
		{"LEASEHOLD_REDIS_URL=" + f.url(":"+wrongPassword+"@")},
		{"LEASEHOLD_REDIS_URL=" + f.url("user:"+wrongPassword+"@")},
		{"LEASEHOLD_REDIS_URL=" + f.url(""), "LEASEHOLD_API_TOKEN=" + wrongPassword},
		{"LEASEHOLD_REDIS_URL=" + f.url(":"+wrongPassword+"@") + "?password=" + wrongPassword},
	} {
		code, stdout, stderr, took := once(t, f.environ("a", append(env, "LEASEHOLD_LOG_LEVEL=debug")...))
		if code != 1 && code != 2 || took > 30*time.Second {
			t.Errorf("%v: exit %d after %s", env, code, took)
		}
		if code == 1 && !strings.Contains(stderr, "refuses the user name or password") {
			t.Errorf("%v: it is not said that the login failed: %s", env, stderr)
		}
		secretless(t, env[0], stdout+stderr)
	}
	if n := len(f.target.Records()); n > 0 {
		t.Errorf("%d polls", n)
	}
}

func TestAPasswordThatIsRotatedStopsPollsInTime(t *testing.T) {
	long(t)
	f := passwordFleet(t)
	admin := f.rdb.Conn()
	t.Cleanup(func() { _ = admin.Close() })
	rotate := func(password string) {
		for _, args := range [][]any{
			{"CONFIG", "SET", "requirepass", password},
			{"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"},
			{"CLIENT", "KILL", "TYPE", "pubsub"},
		} {
			if err := admin.Do(t.Context(), args...).Err(); err != nil {
				t.Fatalf("%v: %v", args, err)
			}
		}
	}
	f.plan.env = []string{"LEASEHOLD_REDIS_URL=" + f.url(":"+rightPassword+"@"), "LEASEHOLD_LOG_LEVEL=debug"}
	ids := f.putMany(4)
	n := f.start("a")[0]
	f.settled(10*time.Second, n)
	wait(f.plan.interval)
	before := f.pulse()

	rotate(rotatedPassword)
	from := f.target.Now()
	f.passes(from, 2*f.plan.ttl)
	rotate(rightPassword)
	back := f.target.Now()
	t.Logf("no login for 2 TTL: %s", f.quiet(from, back))
	for _, p := range f.target.Records() {
		if p.From > from+f.plan.ttl && p.From < back {
			t.Errorf("%s was polled %s after the login was refused", p.Session, p.From-from)
		}
	}
	f.revived(ids, back, f.plan.ttl+f.plan.interval+5*time.Second)
	f.settled(2*f.plan.ttl, n)
	f.flat(before)
	refused := n.all(func(l line) bool { return strings.Contains(l.Error, "WRONGPASS") })
	if len(refused) == 0 {
		t.Error("no line says that the login was refused")
	}
	f.pass("rotation", check.All(
		check.Overlaps(f.history(), 20), check.Tokens(f.history(), 20), check.Owners(f.history(), check.OwnerTolerance, 20),
		check.FailClosed(f.history(), check.OwnerTolerance, 20), check.Acquisitions(f.history(), check.Window{}, 20),
	))
	if code := n.term(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, l := range n.all() {
		secretless(t, "the log", l.text)
	}
}

// passwordFleet is a fleet whose Redis wants a password. The trial's own client has it.
func passwordFleet(t *testing.T) *fleet {
	t.Helper()
	f := newFleet(t, plan{ttl: 3 * time.Second, server: []string{"--requirepass", rightPassword}, login: rightPassword})
	return f
}

func (f *fleet) url(login string) string {
	return fmt.Sprintf("redis://%s%s/0", login, f.redis.Addr())
}

// secretless checks that a text has no password in it.
func secretless(t *testing.T, what, text string) {
	t.Helper()
	for _, secret := range []string{rightPassword, wrongPassword, rotatedPassword} {
		if strings.Contains(text, secret) {
			t.Errorf("%s has the secret %s: %.500s", what, secret, text)
		}
	}
}
