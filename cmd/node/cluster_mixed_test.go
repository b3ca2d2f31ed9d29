//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"leasehold/internal/redistest"
	"leasehold/rediskey"
	"leasehold/target"
)

// mixed is a fleet on a cluster with workers beside its nodes, and the target that sees
// every poll.
type mixed struct {
	*clustered

	target *target.Target
	served *target.Server
	nodes  map[string]*exec.Cmd
	apis   map[string]string
	polled []string // what nodes poll, the task aside
	lent   []string // what workers alone lease
}

// newMixed returns a trial on a cluster, with a target that keeps all polls.
func newMixed(t *testing.T, cluster *redistest.Cluster) *mixed {
	t.Helper()
	f := &mixed{
		clustered: &clustered{
			operator: &operator{
				t: t, path: program(t), env: append(
					os.Environ(), "LEASEHOLD_REDIS_URL="+cluster.URL(), "LEASEHOLD_LEASE_TTL=3s", "LEASEHOLD_LEASE_RENEW_INTERVAL=1s",
					"LEASEHOLD_HEARTBEAT_TTL=3s", "LEASEHOLD_HEARTBEAT_INTERVAL=1s",
				),
			},
			cluster: cluster, rdb: cluster.Client(), keys: rediskey.Default(), docs: map[string]string{},
		},
		target: target.New(target.Options{Keep: true}), nodes: map[string]*exec.Cmd{}, apis: map[string]string{},
	}
	t.Cleanup(func() { _ = f.rdb.Close() })
	served, err := target.Serve(t.Context(), "127.0.0.1:0", f.target)
	if err != nil {
		t.Fatal(err)
	}
	f.served = served
	return f
}

// Nodes and workers on three masters with replicas, through what ends leases: an expiry, a
// crash in the middle of a task, a stop, and the death of a master. The target judges that
// no two polls of a session meet.
func TestNodesAndWorkersOnAClusterOutliveEachOther(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	cluster.Replicate(t)
	f := newMixed(t, cluster)
	f.writes()
	f.joins("a", "b", "c")
	f.until("each has its share", func() bool { return f.shared("a", "b", "c") })

	f.lends()
	f.records()
	task := f.runsATask()
	f.crashes(task)
	f.stops()
	f.joins("d")
	f.losesAMaster()
	if n := f.target.Overlaps(); n > 0 {
		t.Errorf("%d polls overlapped", n)
	}
}

// writes stores the documents, such that each master has leases of both kinds.
func (f *mixed) writes() {
	f.t.Helper()
	of := map[string]int{}
	for i := 0; len(f.polled) < 12 || len(f.lent) < 6; i++ {
		id := "s" + strconv.Itoa(i)
		at := f.master(f.keys.Lease(id))
		of[at]++
		switch {
		case of[at] <= 4:
			f.polled = append(f.polled, id)
			f.put(id, `"interval":"500ms"`)
		case of[at] <= 6:
			f.lent = append(f.lent, id)
			f.docs[id] = `{"kind":"external"}`
		}
	}
	f.put("task", `"interval":"1h","timeout":"1m","misfire":"once"`)
	for id, doc := range f.docs {
		if err := f.rdb.Set(context.Background(), f.keys.Session(id), doc, 0).Err(); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *mixed) put(id, more string) {
	f.docs[id] = fmt.Sprintf(`{"url":%q,%s}`, f.served.URL(id), more)
}

// joins starts nodes with an API each.
func (f *mixed) joins(names ...string) {
	f.t.Helper()
	for _, name := range names {
		f.apis[name] = "127.0.0.1:" + strconv.Itoa(redistest.FreePort(f.t))
		f.nodes[name] = f.start(name, "--http-addr", f.apis[name])
	}
}

// shared reports whether these nodes have all that nodes poll, evenly.
func (f *mixed) shared(names ...string) bool {
	n := f.leases()
	all := 0
	for _, name := range names {
		if n[name] < len(f.polled)/len(names) {
			return false
		}
		all += n[name]
	}
	return all == len(f.polled)+1
}

// ask sends a request to a node, and again while it knows nothing.
func (f *mixed) ask(node, method, path, body string) (code int, got map[string]any) {
	f.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		r, err := http.NewRequestWithContext(f.t.Context(), method, "http://"+f.apis[node]+"/api/v1/"+path, strings.NewReader(body))
		if err != nil {
			f.t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err == nil && resp.StatusCode != http.StatusServiceUnavailable {
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			_ = json.Unmarshal(text, &got)
			return resp.StatusCode, got
		}
		if err == nil {
			_ = resp.Body.Close()
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("%s %s at %s: %v, %v", method, path, node, resp, err)
		}
	}
}

func (f *mixed) want(code int, node, method, path, body string) map[string]any {
	f.t.Helper()
	got, answer := f.ask(node, method, path, body)
	if got != code {
		f.t.Fatalf("%s %s at %s: %d, want %d: %v", method, path, node, got, code, answer)
	}
	return answer
}

func leaseOf(id string) string { return "sessions/" + url.PathEscape(id) + "/lease" }

func (f *mixed) version(id string) int64 {
	n, _ := strconv.ParseInt(f.state(id)["version"], 10, 64)
	return n
}

// lends has one worker take what is for workers, through one node, and renew all of it in
// one go through another. What it lets go another takes; what nodes may poll by then they
// poll when its lease has ended, and no sooner.
func (f *mixed) lends() {
	f.t.Helper()
	const w1, w2 = `{"holder_id":"w1"}`, `{"holder_id":"w2"}`
	var list []string
	versions := map[string]int64{}
	for _, id := range f.lent {
		versions[id] = int64(f.want(http.StatusCreated, "a", "POST", leaseOf(id), w1)["version"].(float64))
		if got := f.want(http.StatusConflict, "b", "POST", leaseOf(id), w2); got["holder_id"] != "w1" {
			f.t.Errorf("%s: %v", id, got)
		}
		list = append(list, fmt.Sprintf(`{"session_id":%q}`, id))
	}
	turned := f.lent[0]
	f.put(turned, `"interval":"500ms"`)
	f.rdb.Set(context.Background(), f.keys.Session(turned), f.docs[turned], 0)
	var last time.Duration
	for range 5 { // longer than the TTL
		last = f.target.Now()
		got := f.want(http.StatusOK, "b", "POST", "leases/renew", `{"holder_id":"w1","leases":[`+strings.Join(list, ",")+`]}`)
		for i, one := range got["leases"].([]any) {
			one := one.(map[string]any)
			if one["status"] != float64(http.StatusOK) || int64(one["version"].(float64)) != versions[f.lent[i]] {
				f.t.Errorf("renewed: %v, version %d", one, versions[f.lent[i]])
			}
		}
		time.Sleep(time.Second)
	}
	f.until("w1's leases have ended", func() bool {
		return !slices.ContainsFunc(f.lent, func(id string) bool { return f.holder(id) == "w1" })
	})
	f.until("the node polls what it may", func() bool { return len(f.polls(turned, 0)) > 0 })
	first := f.polls(turned, 0)[0]
	if int64(first.Token) != versions[turned]+1 || first.From < last+2*time.Second {
		f.t.Errorf("%s is first polled at %s with token %d; w1 renewed it at %s with %d", turned, first.From, first.Token, last, versions[turned])
	}
	f.polled = append(f.polled, turned)
	f.lent = f.lent[1:]
	for _, id := range f.lent {
		got := f.want(http.StatusCreated, "c", "POST", leaseOf(id), w2)
		if int64(got["version"].(float64)) != versions[id]+1 {
			f.t.Errorf("%s: %v after version %d", id, got, versions[id])
		}
		f.want(http.StatusNotFound, "a", "POST", leaseOf(id)+"/renew", w1)
		f.want(http.StatusNoContent, "a", "DELETE", leaseOf(id), w1)
		if h := f.holder(id); h != "w2" {
			f.t.Errorf("%s: w1 released the lease of w2, now %q has it", id, h)
		}
		f.want(http.StatusNoContent, "b", "DELETE", leaseOf(id), w2)
	}
}

// polls are those of a session that began since then.
func (f *mixed) polls(id string, since time.Duration) []target.Record {
	return slices.DeleteFunc(f.target.Records(), func(r target.Record) bool { return r.Session != id || r.From < since })
}

// records looks for what each master's sessions brought in the stream, which is on one of
// them.
func (f *mixed) records() {
	f.t.Helper()
	elsewhere := 0
	for _, id := range f.polled {
		if f.master(f.keys.Lease(id)) != f.master("poll:results") {
			elsewhere++
		}
		var results []struct {
			Data  struct{ Session, Holder string }
			Token string
		}
		f.until("the results of "+id, func() bool {
			f.do(&results, "sessions", "results", id)
			return len(results) > 0
		})
		if r := results[0]; r.Data.Session != id || r.Data.Holder != f.holder(id) || r.Token != f.state(id)["version"] {
			f.t.Errorf("%s: %+v, and its master has %v", id, r, f.state(id))
		}
	}
	if elsewhere == 0 {
		f.t.Error("all are on the master of the stream")
	}
}

// runsATask has one begun that does not end, and returns who runs it.
func (f *mixed) runsATask() (name string) {
	f.t.Helper()
	f.until("the first run is recorded", func() bool { return f.state("task")["ok"] == "1" })
	f.target.Set("task", target.Behavior{Hang: true})
	asked := f.target.Now()
	f.want(http.StatusAccepted, "a", "POST", "sessions/task/run", "")
	// It shows by its question that it was begun: the target records a poll at its end.
	f.until("the task is begun", func() bool { return f.target.Stats().InFlight > 0 && f.state("task")["busy"] != "" })
	f.t.Logf("begun %s after it was asked for", f.target.Now()-asked)
	name, _, _ = strings.Cut(f.holder("task"), "-")
	return name
}

// crashes kills who runs the task: another runs it again, when the lease has ended, with
// the next token.
func (f *mixed) crashes(name string) {
	f.t.Helper()
	before, instance := f.version("task"), f.holder("task")
	f.target.Set("task", target.Behavior{})
	killed := f.target.Now()
	f.end(name, syscall.SIGKILL)
	f.until("the task is run again", func() bool { return len(f.polls("task", killed)) > 0 })
	again := f.polls("task", killed)[0]
	if int64(again.Token) != before+1 || again.Instance == instance {
		f.t.Errorf("run again by %s with token %d, after %s with %d", again.Instance, again.Token, instance, before)
	}
	f.until("the others have all", func() bool { return f.shared(slices.Collect(maps.Keys(f.nodes))...) })
}

// end sends a signal, waits for the process, and returns its exit code.
func (f *mixed) end(name string, sig syscall.Signal) int {
	f.t.Helper()
	cmd := f.nodes[name]
	delete(f.nodes, name)
	delete(f.apis, name)
	if err := cmd.Process.Signal(sig); err != nil {
		f.t.Fatal(err)
	}
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// stops has a node drain: it ends with 0, and when it has, nothing is left to run out.
func (f *mixed) stops() {
	f.t.Helper()
	name := slices.Sorted(maps.Keys(f.nodes))[1]
	before := map[string]int64{}
	for _, id := range f.polled {
		if strings.HasPrefix(f.holder(id), name+"-") {
			before[id] = f.version(id)
		}
	}
	if code := f.end(name, syscall.SIGTERM); code != 0 {
		f.t.Errorf("%s ended with %d", name, code)
	}
	if left := f.leases()[name]; left > 0 {
		f.t.Errorf("%s has %d leases", name, left)
	}
	for _, key := range f.find("poll:node:*") {
		if strings.HasPrefix(key, "poll:node:"+name+"-") {
			f.t.Errorf("%s is left", key)
		}
	}
	if len(before) == 0 {
		f.t.Error("it had nothing to give back")
	}
	f.until("the other has all", func() bool { return f.shared(slices.Collect(maps.Keys(f.nodes))...) })
	for id, was := range before {
		if now := f.version(id); now != was+1 {
			f.t.Errorf("%s: the token went from %d to %d", id, was, now)
		}
	}
}

// losesAMaster kills one: its replica takes over, and what it had is polled again, under
// tokens that do not fall; a worker hears that nothing is known, and then the truth.
func (f *mixed) losesAMaster() {
	f.t.Helper()
	names := slices.Collect(maps.Keys(f.nodes))
	f.until("both have their shares", func() bool { return f.shared(names...) })
	victim := slices.IndexFunc(f.cluster.Nodes, func(s *redistest.Server) bool {
		return s.Addr() == f.master(f.keys.Lease(f.polled[0])) // has some, as all have
	})
	before := map[string]int64{}
	for _, id := range f.polled {
		before[id] = f.version(id)
	}
	lent := f.lent[slices.IndexFunc(f.lent, func(id string) bool { return f.master(f.keys.Lease(id)) == f.cluster.Nodes[victim].Addr() })]
	took := int64(f.want(http.StatusCreated, "d", "POST", leaseOf(lent), `{"holder_id":"w3"}`)["version"].(float64))
	time.Sleep(time.Second) // replicas have all of that
	f.cluster.Nodes[victim].Kill()
	switch code, got := f.ask("d", "POST", leaseOf(lent)+"/renew", `{"holder_id":"w3"}`); {
	case code == http.StatusOK && int64(got["version"].(float64)) == took:
	case code != http.StatusNotFound: // the lease has run out meanwhile
		f.t.Errorf("renewed: %d %v after version %d", code, got, took)
	}
	f.until("the replica has taken over", func() bool {
		return f.rdb.Get(context.Background(), f.keys.Session(f.polled[0])).Err() == nil
	})
	over := f.target.Now()
	for _, id := range f.polled {
		f.until(id+" is polled again", func() bool { return len(f.polls(id, over)) > 1 })
	}
	kept := 0
	for id, was := range before {
		now := f.version(id)
		if now < was {
			f.t.Errorf("%s: the token fell from %d to %d", id, was, now)
		}
		if now == was {
			kept++
		}
	}
	f.t.Logf("%d of %d sessions kept their owner", kept, len(before))
	f.until("both have their shares again", func() bool { return f.shared(names...) })
}
