package fleet

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// vitals are what a process must not lose grip of.
type vitals struct{ files, threads, rssMB, goroutines int }

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
	return vitals{
		files: len(files), threads: field("Threads"), rssMB: field("VmRSS") >> 10, goroutines: n.goroutines(),
	}, true
}

// goroutines is how many the process has by its own metrics; zero: it did not say.
func (n *node) goroutines() int {
	value, _ := n.gauge("go_goroutines")
	return value
}

// gauge reads one of the node's metrics, named with its labels.
func (n *node) gauge(name string) (value int, told bool) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
	r, err := http.NewRequestWithContext(n.t.Context(), http.MethodGet, n.site()+"/metrics", http.NoBody)
	if err != nil {
		return 0, false
	}
	resp, err := client.Do(r)
	if err != nil {
		return 0, false
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body)
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\d+)`).FindSubmatch(text)
	if m == nil {
		return 0, false
	}
	value, err = strconv.Atoi(string(m[1]))
	return value, err == nil
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
		if now.files > was.files+20 || now.threads > was.threads+12 || now.rssMB > was.rssMB*3/2+16 ||
			was.goroutines > 0 && now.goroutines > was.goroutines*3/2+40 {
			f.t.Errorf("%s has grown from %+v to %+v", n.name, was, now)
		}
	}
}
