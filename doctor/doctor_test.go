package doctor_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/config"
	"leasehold/doctor"
	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/redisstore"
)

// bench is a server with nothing to complain of.
type bench struct {
	t     *testing.T
	url   string
	admin *redis.Client
}

func newBench(t *testing.T) *bench {
	t.Helper()
	s := redistest.StartServer(t, "--appendonly", "yes", "--notify-keyspace-events", "KEgx$e")
	b := &bench{t: t, url: s.URL(), admin: s.Client()}
	t.Cleanup(func() { _ = b.admin.Close() })
	return b
}

func (b *bench) do(args ...any) {
	b.t.Helper()
	if err := b.admin.Do(b.t.Context(), args...).Err(); err != nil {
		b.t.Fatalf("%v: %v", args, err)
	}
}

// look examines the address with more settings.
func look(t *testing.T, url string, environ ...string) doctor.Report {
	t.Helper()
	cfg, err := config.Load(append([]string{"LEASEHOLD_REDIS_URL=" + url}, environ...), nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := redisstore.Open(url, redisstore.OpenOptions{Timeout: cfg.RedisTimeout})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	return doctor.Run(t.Context(), client, cfg, func(error) string { return "advice" })
}

// of returns the findings of a check, or those of a level.
func of(r doctor.Report, match func(doctor.Finding) bool) []doctor.Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f doctor.Finding) bool { return !match(f) })
}

func bad(r doctor.Report) []doctor.Finding {
	return of(r, func(f doctor.Finding) bool { return f.Level != doctor.OK })
}

func TestASoundServerHasNothingToFix(t *testing.T) {
	b := newBench(t)
	b.do("SET", "session:a", `{"kind":"log"}`)
	r := look(t, b.url)
	if found := bad(r); len(found) > 0 || r.Worst() != doctor.OK {
		t.Errorf("%+v", found)
	}
	var names []string
	for _, f := range r.Findings {
		names = append(names, f.Check)
	}
	want := "contact version role rights scripts events expiry memory persistence hz round-trip clock keys settings members"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("checks %s", got)
	}
	if keys := b.admin.Keys(t.Context(), "*").Val(); !slices.Equal(keys, []string{"session:a"}) {
		t.Errorf("left behind: %v", keys)
	}
}

// Each fault is found by its check alone, with its level and its fix.
func TestWhatIsWrongIsNamedWithItsFix(t *testing.T) {
	b := newBench(t)
	for name, c := range map[string]struct {
		harm, heal []string
		environ    []string
		check      string
		level      doctor.Level
		fix        string
	}{
		"no events": {
			harm: []string{"CONFIG SET notify-keyspace-events KE$"}, heal: []string{"CONFIG SET notify-keyspace-events KEgx$e"},
			check: "events expiry", level: doctor.Warning, fix: "CONFIG SET notify-keyspace-events",
		},
		"eviction": {
			harm: []string{"CONFIG SET maxmemory-policy volatile-ttl"}, heal: []string{"CONFIG SET maxmemory-policy noeviction"},
			check: "memory", level: doctor.Unsafe, fix: "CONFIG SET maxmemory-policy noeviction",
		},
		"a memory that is full": {
			harm: []string{"CONFIG SET maxmemory 1"}, heal: []string{"CONFIG SET maxmemory 0"},
			check: "memory scripts", level: doctor.Unsafe, fix: "CONFIG SET maxmemory",
		},
		"replicas that are not there": {
			harm: []string{"CONFIG SET min-replicas-to-write 1"}, heal: []string{"CONFIG SET min-replicas-to-write 0"},
			check: "scripts", level: doctor.Unsafe, fix: "min-replicas-to-write",
		},
		"no persistence": {
			harm: []string{"CONFIG SET appendonly no"}, heal: []string{"CONFIG SET appendonly yes"},
			check: "persistence", level: doctor.Warning, fix: "CONFIG SET appendonly yes",
		},
		"a slow clock": {
			harm: []string{"CONFIG SET hz 1"}, heal: []string{"CONFIG SET hz 10"},
			check: "hz", level: doctor.Warning, fix: "CONFIG SET hz 10",
		},
		"another program's list": {
			harm: []string{"RPUSH poll:lease:x 1"}, heal: []string{"DEL poll:lease:x"},
			check: "keys", level: doctor.Unsafe, fix: "LEASEHOLD_KEY_PREFIX",
		},
		"another program's key": {
			harm: []string{"SET poll:queue 1"}, heal: []string{"DEL poll:queue"},
			check: "keys", level: doctor.Warning, fix: "LEASEHOLD_KEY_PREFIX",
		},
		"a document that is none": {
			harm: []string{"HSET session:x a 1"}, heal: []string{"DEL session:x"},
			check: "keys", level: doctor.Warning, fix: "LEASEHOLD_SESSION_PREFIX",
		},
		"a lease for ever": {
			harm: []string{"SET poll:lease:x me"}, heal: []string{"DEL poll:lease:x"},
			check: "keys", level: doctor.Warning, fix: "DEL",
		},
		"a short drain": {
			environ: []string{"LEASEHOLD_DRAIN_TIMEOUT=1s"}, check: "settings", level: doctor.Warning,
		},
	} {
		for _, line := range c.harm {
			b.do(words(line)...)
		}
		r := look(t, b.url, c.environ...)
		for _, line := range c.heal {
			b.do(words(line)...)
		}
		for _, f := range bad(r) {
			if f.Check == "expiry" && f.Level == doctor.Unknown {
				continue // no key can be written to see it expire
			}
			if !slices.Contains(strings.Fields(c.check), f.Check) || f.Level != c.level || !strings.Contains(f.Fix, c.fix) {
				t.Errorf("%s: %+v", name, f)
			}
		}
		for check := range strings.FieldsSeq(c.check) {
			if len(of(r, func(f doctor.Finding) bool { return f.Check == check && f.Level == c.level })) == 0 {
				t.Errorf("%s: not found by %s: %+v", name, check, r.Findings)
			}
		}
	}
}

// Others may need flags that nodes don't. A shell would make nothing of $e.
func TestTheFixForEventsCanBePastedAndKeepsTheFlagsOfOthers(t *testing.T) {
	b := newBench(t)
	b.do("ACL", "SETUSER", "default", ">s3cret")
	b.do("CONFIG", "SET", "notify-keyspace-events", "lKEgx")
	r := look(t, strings.Replace(b.url, "redis://", "redis://default:s3cret@", 1))
	had := b.admin.ConfigGet(t.Context(), "notify-keyspace-events").Val()["notify-keyspace-events"]
	addr := strings.TrimSuffix(strings.TrimPrefix(b.url, "redis://"), "/0")
	want := "redis-cli -u redis://" + addr + " CONFIG SET notify-keyspace-events '" + had + "$e'"
	var got []string
	for _, f := range bad(r) {
		command, _, _ := strings.Cut(f.Fix, "\n")
		got = append(got, command)
	}
	if !slices.Equal(got, []string{want}) {
		t.Errorf("%q, want %q", got, want)
	}
	if !strings.Contains(had, "l") {
		t.Errorf("the server has %q", had)
	}

	b.do("CONFIG", "SET", "notify-keyspace-events", "lKg$e") // nothing tells of a key that ran out
	for _, f := range bad(look(t, strings.Replace(b.url, "redis://", "redis://default:s3cret@", 1))) {
		_, flags, found := strings.Cut(f.Fix, "notify-keyspace-events '")
		flags, _, _ = strings.Cut(flags, "'\n")
		if !found || strings.Trim("lKg$eEx", flags) != "" || strings.Trim(flags, "lKg$eEx") != "" || strings.Contains(f.Fix, "s3cret") {
			t.Errorf("%s: %q", f.Check, f.Fix)
		}
	}
}

func words(line string) []any {
	var all []any
	for w := range strings.FieldsSeq(line) {
		all = append(all, w)
	}
	return all
}

func TestAMemberWithOtherSettingsIsNamed(t *testing.T) {
	b := newBench(t)
	cfg, err := config.Load([]string{"LEASEHOLD_LEASE_TTL=40s"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	store := redisstore.New(b.admin, cfg.Keys, redisstore.Options{})
	for _, name := range []string{"a-1-00000001", "b-1-00000002"} {
		if err := errors.Join(store.Beat(t.Context(), name, time.Minute),
			store.Publish(t.Context(), lease.Card{Instance: name, Shared: cfg.Shared()}, time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	r := look(t, b.url, "LEASEHOLD_LEASE_SAFETY_MARGIN=2s")
	for _, f := range bad(r) {
		if f.Check != "members" || f.Level != doctor.Warning || !strings.Contains(f.Found, "30s here and 40s on a-1-00000001") && !strings.Contains(f.Found, "LEASEHOLD_LEASE_SAFETY_MARGIN") {
			t.Errorf("%+v", f)
		}
	}
	if n := len(bad(r)); n != 2 {
		t.Errorf("%d findings, want one for each setting: %+v", n, bad(r))
	}
	if found := bad(look(t, b.url, "LEASEHOLD_LEASE_TTL=40s")); len(found) > 0 {
		t.Errorf("the same settings: %+v", found)
	}
}

func TestAReplicaIsUnsafe(t *testing.T) {
	b := newBench(t)
	second := redistest.StartServer(t)
	c := second.Client()
	defer func() { _ = c.Close() }()
	addr := strings.Split(strings.TrimSuffix(strings.TrimPrefix(b.url, "redis://"), "/0"), ":")
	if err := c.Do(t.Context(), "REPLICAOF", addr[0], addr[1]).Err(); err != nil {
		t.Fatal(err)
	}
	r := look(t, second.URL())
	found := of(r, func(f doctor.Finding) bool { return f.Check == "role" })
	if len(found) != 1 || found[0].Level != doctor.Unsafe || !strings.Contains(found[0].Fix, addr[0]+":"+addr[1]) || r.Worst() != doctor.Unsafe {
		t.Errorf("%+v", found)
	}
	for _, f := range of(r, func(f doctor.Finding) bool { return f.Check == "scripts" }) {
		if !strings.Contains(f.Fix, "primary") {
			t.Errorf("%+v", f)
		}
	}
}

// A command that was renamed is another fault than one that the user may not run.
func TestCommandsThatTheServerLacksAreNamed(t *testing.T) {
	s := redistest.StartServer(t, "--appendonly", "yes", "--notify-keyspace-events", "KEgx$e",
		"--rename-command", "SCAN", "", "--rename-command", "PUBLISH", "", "--rename-command", "PEXPIRE", "")
	r := look(t, s.URL())
	found := of(r, func(f doctor.Finding) bool { return f.Check == "rights" })
	if len(found) != 2 {
		t.Fatalf("%+v", found)
	}
	for i, want := range []struct {
		level       doctor.Level
		lacks, name string
	}{{doctor.Unsafe, "the server lacks +scan +pexpire", "SCAN, PEXPIRE,"}, {doctor.Warning, "the server lacks +publish: ", "PUBLISH,"}} {
		if f := found[i]; f.Level != want.level || !strings.Contains(f.Found, want.lacks) || !strings.Contains(f.Fix, want.name) || !strings.Contains(f.Fix, "rename-command") {
			t.Errorf("%+v", f)
		}
	}
}

func TestARefusalIsAnAnswer(t *testing.T) {
	b := newBench(t)
	r := look(t, strings.Replace(b.url, "redis://", "redis://nobody:hunter2@", 1))
	if len(r.Findings) != 1 || !strings.HasPrefix(r.Findings[0].Found, "Redis refuses to answer: WRONGPASS") {
		t.Errorf("%+v", r.Findings)
	}
}

func TestEachMasterOfAClusterIsLookedAt(t *testing.T) {
	c := redistest.StartCluster(t)
	admin := c.Nodes[1].Client()
	defer func() { _ = admin.Close() }()
	for _, n := range c.Nodes {
		a := n.Client()
		if err := a.ConfigSet(t.Context(), "notify-keyspace-events", "KEgx$e").Err(); err != nil {
			t.Fatal(err)
		}
		_ = a.Close()
	}
	if err := admin.ConfigSet(t.Context(), "maxmemory-policy", "volatile-lru").Err(); err != nil {
		t.Fatal(err)
	}
	r := look(t, c.URL())
	for _, f := range r.Findings {
		switch {
		case f.Check == "memory" && (f.Level == doctor.Unsafe) != (f.Server == c.Nodes[1].Addr()),
			f.Check == "expiry" && f.Level != doctor.OK, f.Check == "rights" && f.Level != doctor.OK, f.Check == "scripts" && f.Level != doctor.OK:
			t.Errorf("%+v", f)
		}
	}
	if n := len(of(r, func(f doctor.Finding) bool { return f.Check == "expiry" })); n != 3 {
		t.Errorf("%d servers had a key run out", n)
	}
	alone := look(t, c.Nodes[0].URL())
	if f := of(alone, func(f doctor.Finding) bool { return f.Check == "role" }); f[0].Level != doctor.Unsafe {
		t.Errorf("one address of a cluster: %+v", f)
	}
}

func TestNoRedisIsOneFinding(t *testing.T) {
	s := redistest.StartServer(t)
	s.Kill()
	r := look(t, s.URL())
	if len(r.Findings) != 1 || r.Worst() != doctor.Unsafe || r.Findings[0].Fix != "advice" {
		t.Errorf("%+v", r)
	}
}

// scope is what the settings of these tests come to.
func scope() doctor.Scope {
	cfg, err := config.Load(nil, nil)
	if err != nil {
		panic(err)
	}
	return doctor.Scope{Keys: cfg.Keys, Stream: cfg.ResultStream}
}

// as makes a user by a line of ACL SETUSER, and returns the address with it.
func (b *bench) as(line string) string {
	b.t.Helper()
	b.do(words(strings.Replace(line, ">PASSWORD", ">hunter2", 1))...)
	return strings.Replace(b.url, "redis://", "redis://leasehold:hunter2@", 1)
}

func TestTheLeastRightsAreEnough(t *testing.T) {
	b := newBench(t)
	r := look(t, b.as(scope().SetUser("leasehold")))
	if found := bad(r); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

func TestEachMissingRightIsNamed(t *testing.T) {
	b := newBench(t)
	all := scope().Rights()
	for i, missing := range all {
		b.do("ACL", "DELUSER", "leasehold")
		line := []string{"ACL SETUSER leasehold on >PASSWORD resetkeys resetchannels -@all"}
		for j, r := range all {
			if i != j {
				line = append(line, r.Rule)
			}
		}
		r := look(t, b.as(strings.Join(line, " ")))
		found := of(r, func(f doctor.Finding) bool { return f.Check == "rights" })
		want := doctor.Unsafe
		if missing.Optional != "" {
			want = doctor.Warning
		}
		if len(found) != 1 || found[0].Level != want || found[0].Fix != "ACL SETUSER leasehold "+missing.Rule {
			t.Errorf("without %s: %+v", missing.Rule, found)
		}
		for _, f := range r.Findings {
			if strings.Contains(f.Found+f.Fix, "hunter2") {
				t.Errorf("the password is in %+v", f)
			}
		}
	}
}

// Managed services refuse CONFIG and INFO: that is no failure.
func TestWhatIsRefusedIsUnknown(t *testing.T) {
	b := newBench(t)
	r := look(t, b.as(scope().SetUser("leasehold")+" -config -info"))
	for _, f := range r.Findings {
		switch f.Check {
		case "version", "role", "events", "memory", "persistence", "hz":
			if f.Level != doctor.Unknown || f.Fix == "" {
				t.Errorf("%+v", f)
			}
		case "rights":
			if f.Level != doctor.Warning {
				t.Errorf("%+v", f)
			}
		default:
			if f.Level != doctor.OK {
				t.Errorf("%+v", f)
			}
		}
	}
}

func TestTheDocumentedUserIsTheOneThatIsTested(t *testing.T) {
	text, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	if line := scope().SetUser("leasehold"); !strings.Contains(string(text), line+"\n") {
		t.Errorf("docs/security.md lacks\n%s", line)
	}
}
