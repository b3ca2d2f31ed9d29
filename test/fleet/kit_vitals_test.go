package fleet

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// vitals are what a process must not lose grip of.
type vitals struct{ files, threads, rssMB int }

// vitals reads them, where the system has /proc.
func (n *node) vitals() (v vitals, ok bool) {
	dir := "/proc/" + strconv.Itoa(n.cmd.Process.Pid)
	files, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return v, false
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return v, false
	}
	field := func(name string) int {
		m := regexp.MustCompile(name + `:\s+(\d+)`).FindSubmatch(status)
		if m == nil {
			return 0
		}
		value, _ := strconv.Atoi(string(m[1]))
		return value
	}
	return vitals{files: len(files), threads: field("Threads"), rssMB: field("VmRSS") >> 10}, true
}

// pulse reads the vitals of all nodes, to be compared by flat when all is over.
func (f *fleet) pulse() map[*node]vitals {
	all := map[*node]vitals{}
	for _, n := range f.nodes {
		if v, ok := n.vitals(); ok {
			all[n] = v
		}
	}
	return all
}

// flat checks that the nodes did not grow by a fault that is over. A node may have filled
// its pool of 16 connections to Redis meanwhile, and no more.
func (f *fleet) flat(before map[*node]vitals) {
	f.t.Helper()
	for n, was := range before {
		now, ok := n.vitals()
		if !ok {
			continue // it was ended
		}
		f.t.Logf("%s: %+v, before %+v", n.name, now, was)
		if now.files > was.files+20 || now.threads > was.threads+12 || now.rssMB > was.rssMB*3/2+16 {
			f.t.Errorf("%s has grown from %+v to %+v", n.name, was, now)
		}
	}
}
