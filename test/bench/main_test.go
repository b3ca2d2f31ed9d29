package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// role is the environment variable that makes a process of this test a peer.
const role = "BENCH_ROLE"

// A line is one subject of the table.
type line struct {
	name string
	run  func(t *testing.T, r *report)
	// deep lines run with FULL=1 alone.
	deep bool
}

func lines() []line {
	return []line{
		{name: "crash-300", run: crash(300, shortTTL)},
		{name: "crash-300-default", run: crash(300, defaultTTL)},
		{name: "crash-1000", run: crash(1000, shortTTL)},
		{name: "crash-1000-default", run: crash(1000, defaultTTL)},
		{name: "crash-3000", run: crash(3000, shortTTL)},
		{name: "crash-3000-default", run: crash(3000, defaultTTL)},
		{name: "crash-10000", run: crash(10_000, shortTTL)},
		{name: "crash-10000-default", run: crash(10_000, defaultTTL)},
		{name: "crash-peers", run: crashOfPeers},
		{name: "stop", run: stop},
		{name: "stop-peers", run: stopOfPeers},
		{name: "cold-10000", run: cold(10_000, 1)},
		{name: "cold-100000", run: cold(100_000, 6), deep: true},
		{name: "cold-five", run: coldFive},
		{name: "document", run: document},
		{name: "join", run: join},
		{name: "renew", run: renew},
		{name: "renew-peers", run: renewOfPeers},
		{name: "rest-20000", run: rest(20_000)},
		{name: "rest-100000", run: rest(100_000), deep: true},
		{name: "nodes", run: moreNodes},
		{name: "polls", run: polls},
		{name: "plan", run: plan},
		{name: "plan-million", run: planMillion},
		{name: "size", run: size},
	}
}

// binary is the program under test, with the symbols that make build leaves in it.
var binary string

func TestMain(m *testing.M) {
	if peer, ok := peers()[os.Getenv(role)]; ok {
		peer()
		return
	}
	os.Exit(prepare(m))
}

func prepare(m *testing.M) int {
	if os.Getenv("BENCH") == "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "leasehold")
	if err := build(binary, ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func build(to, flags string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", to, "./cmd/node")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w: %s", err, out)
	}
	return nil
}

// wanted reports whether the line is one of those named, by its name or by the part
// before a hyphen.
func wanted(name, only string) bool {
	for one := range strings.SplitSeq(only, ",") {
		if one == "" || one == name || strings.HasPrefix(name, one+"-") {
			return true
		}
	}
	return false
}

// TestFleet measures all lines: see the package's doc.
func TestFleet(t *testing.T) {
	if os.Getenv("BENCH") == "" {
		t.Skip("takes minutes: make bench-fleet")
	}
	runs, _ := strconv.Atoi(os.Getenv("RUNS"))
	r := newReport()
	for range max(1, runs) {
		for _, l := range lines() {
			if l.deep && os.Getenv("FULL") == "" || !wanted(l.name, os.Getenv("ONLY")) {
				continue
			}
			t.Run(l.name, func(t *testing.T) { l.run(t, r) })
		}
	}
	fmt.Print(r.markdown())
	if out := os.Getenv("OUT"); out != "" {
		if err := os.WriteFile(out, r.json(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
