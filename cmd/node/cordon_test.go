//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"leasehold/internal/redistest"
)

// A drained node hands over to the others, takes nothing back whoever comes and goes,
// and takes its share when it is uncordoned.
func TestDrainingANodeOfAFleet(t *testing.T) {
	t.Parallel()
	server := redistest.StartServer(t)
	rdb := server.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	o := &operator{t: t, path: program(t), env: append(os.Environ(), "LEASEHOLD_REDIS_URL="+server.URL())}
	const sessions = 12
	for i := range sessions {
		rdb.Set(context.Background(), fmt.Sprintf("session:s%d", i), `{"kind":"log","interval":"500ms"}`, 0)
	}
	nodes := map[string]*exec.Cmd{}
	for _, name := range []string{"a", "b", "c"} {
		nodes[name] = o.start(name)
	}
	// leases counts those of each node, by its name.
	leases := func() map[string]int {
		n := map[string]int{}
		for _, key := range rdb.Keys(context.Background(), "poll:lease:*").Val() {
			if holder := rdb.Get(context.Background(), key).Val(); holder != "" {
				name, _, _ := strings.Cut(holder, "-")
				n[name]++
			}
		}
		return n
	}
	is := func(want map[string]int) func() bool {
		return func() bool { return fmt.Sprint(leases()) == fmt.Sprint(want) }
	}
	o.until("four sessions a node", is(map[string]int{"a": 4, "b": 4, "c": 4}))
	out, err := o.command("nodes", "drain", "b", "--timeout", "60s").Output()
	if err != nil || !strings.HasPrefix(string(out), "b-") || !strings.HasSuffix(string(out), " drained\n") {
		t.Fatalf("%v: %s", err, out)
	}
	if got := leases(); got["b"] != 0 {
		t.Errorf("drained, and it has %v", got)
	}
	o.until("the others have all", is(map[string]int{"a": 6, "c": 6}))

	if err := nodes["c"].Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = nodes["c"].Wait()
	o.until("the only one that takes any has all", is(map[string]int{"a": sessions}))
	o.start("c")
	o.until("a node that was restarted has its share", is(map[string]int{"a": 6, "c": 6}))
	for range 20 { // and that stays so
		time.Sleep(50 * time.Millisecond)
		if got := leases(); got["b"] != 0 {
			t.Fatalf("the drained node takes something back: %v", got)
		}
	}
	o.do(nil, "nodes", "uncordon", "b")
	o.until("it takes its share again", is(map[string]int{"a": 4, "b": 4, "c": 4}))

	o.do(nil, "nodes", "cordon", "c")
	o.do(nil, "nodes", "drain", "a", "--timeout", "60s")
	o.until("a cordoned node takes nothing", is(map[string]int{"b": 8, "c": 4}))
	o.do(nil, "status")
}
