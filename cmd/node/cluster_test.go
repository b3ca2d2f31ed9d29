//go:build unix

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
	"leasehold/rediskey"
)

// clustered is a fleet on a Redis Cluster, its operator, and what the masters really have.
type clustered struct {
	*operator

	cluster *redistest.Cluster
	rdb     *redis.ClusterClient
	keys    rediskey.Keys
	docs    map[string]string // by ID
}

// The commands, and the changes over HTTP, of a fleet whose leases lie on three masters:
// what they say is what the masters have, and what they do takes effect there.
func TestOperatingAFleetOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	o := &clustered{
		operator: &operator{
			t: t, path: program(t), env: append(
				os.Environ(), "LEASEHOLD_REDIS_URL="+cluster.URL(), "LEASEHOLD_LEASE_TTL=3s", "LEASEHOLD_LEASE_RENEW_INTERVAL=1s",
				"LEASEHOLD_HEARTBEAT_TTL=3s", "LEASEHOLD_HEARTBEAT_INTERVAL=1s",
			),
		},
		cluster: cluster, rdb: cluster.Client(), keys: rediskey.Default(), docs: map[string]string{},
	}
	t.Cleanup(func() { _ = o.rdb.Close() })
	o.namesTheMasterThatAnnouncesNothing()
	o.addsDocuments()
	api := "127.0.0.1:" + strconv.Itoa(redistest.FreePort(t))
	o.start("a", "--http-addr", api)
	b := o.start("b")
	o.until("both nodes have their shares", func() bool {
		n := o.leases()
		return n["a"] == n["b"] && n["a"]+n["b"] == len(o.docs)-1
	})
	told := o.follows(api)
	o.showsWhatTheMastersHave()
	o.knowsItsNodes()
	o.editsSessions()
	o.runsTasks()
	o.releases(told)
	o.examines()
	o.pages(api)
	o.failsOver(b, told)
	o.do(nil, "sessions", "rm", "--all", "--yes")
	o.until("nothing of them is left", func() bool {
		return len(o.find("session:*")) == 0 && len(o.find("poll:lease:*")) == 0 && len(o.find("poll:state:*")) == 0
	})
}

// namesTheMasterThatAnnouncesNothing looks before any node has set the flags.
func (o *clustered) namesTheMasterThatAnnouncesNothing() {
	o.t.Helper()
	set := func(m *redistest.Server, flags string) {
		c := m.Client()
		defer func() { _ = c.Close() }()
		if err := c.ConfigSet(context.Background(), "notify-keyspace-events", flags).Err(); err != nil {
			o.t.Fatal(err)
		}
	}
	for _, m := range o.cluster.Nodes {
		set(m, "KEgx$e")
	}
	for _, silent := range o.cluster.Nodes {
		set(silent, "")
		var status struct {
			Events struct{ Missing, Problem string }
		}
		out, _ := o.command("status", "-o", "json").Output() // there is no node: exit 1
		if err := json.Unmarshal(out, &status); err != nil || status.Events.Missing == "" || !strings.Contains(status.Events.Problem, silent.Addr()) {
			o.t.Errorf("%s announces nothing: %v, %s", silent.Addr(), err, out)
		}
		set(silent, "KEgx$e")
	}
}

// addsDocuments has IDs that have hash tags of their own, or none that a state key could use.
func (o *clustered) addsDocuments() {
	o.t.Helper()
	for i := range 24 {
		o.docs["s"+strconv.Itoa(i)] = `{"kind":"log","interval":"500ms"}`
	}
	for _, id := range []string{"{}x", "a{b}c", "}{", "ü n\n", "a:b"} {
		o.docs[id] = `{"kind":"log"}`
	}
	o.docs["task"] = `{"kind":"log","cron":"@yearly"}`
	o.docs["ext"] = `{"kind":"external"}`
	var text strings.Builder
	for id, doc := range o.docs {
		fmt.Fprintf(&text, `{"id":"%s",%s`+"\n", strings.ReplaceAll(id, "\n", `\n`), doc[1:])
	}
	add := o.command("sessions", "add", "-f", "-")
	add.Stdin = strings.NewReader(text.String())
	if out, err := add.CombinedOutput(); err != nil || string(out) != fmt.Sprintf("%d added, 0 replaced, 0 unchanged\n", len(o.docs)) {
		o.t.Fatalf("%v: %s", err, out)
	}
	masters := map[string]bool{}
	for id := range o.docs {
		if !same(o.document(id), o.docs[id]) {
			o.t.Errorf("%q: %s, want %s", id, o.document(id), o.docs[id])
		}
		masters[o.master(o.keys.Lease(id))] = true
	}
	if len(masters) != len(o.cluster.Nodes) {
		o.t.Fatalf("only the masters %v have leases", masters)
	}
}

// same compares JSON.
func same(a, b string) bool {
	var x, y map[string]any
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		return false
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}

func (o *clustered) document(id string) string {
	return o.rdb.Get(context.Background(), o.keys.Session(id)).Val()
}

func (o *clustered) holder(id string) string {
	return o.rdb.Get(context.Background(), o.keys.Lease(id)).Val()
}

func (o *clustered) state(id string) map[string]string {
	return o.rdb.HGetAll(context.Background(), o.keys.State(id)).Val()
}

// master is the address of who has the key.
func (o *clustered) master(key string) string {
	o.t.Helper()
	m, err := o.rdb.MasterForKey(context.Background(), key)
	if err != nil {
		o.t.Fatal(err)
	}
	return m.Options().Addr
}

// find returns the keys of all masters.
func (o *clustered) find(pattern string) []string {
	o.t.Helper()
	var mu sync.Mutex
	var all []string
	err := o.rdb.ForEachMaster(context.Background(), func(ctx context.Context, m *redis.Client) error {
		keys, err := m.Keys(ctx, pattern).Result()
		mu.Lock()
		defer mu.Unlock()
		all = append(all, keys...)
		return err
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return all
}

// leases counts those of each node, by its name.
func (o *clustered) leases() map[string]int {
	n := map[string]int{}
	for id := range o.docs {
		if holder := o.holder(id); holder != "" {
			name, _, _ := strings.Cut(holder, "-")
			n[name]++
		}
	}
	return n
}

// shown is a session or a lease as the commands show it.
type shown struct {
	SessionID string `json:"session_id"`
	State     string `json:"state"`
	HolderID  string `json:"holder_id"`
	Version   int64  `json:"version"`
	TTL       int64  `json:"ttl_ms"`
	Preferred string `json:"preferred_holder_id"`
	Ranking   []any  `json:"ranking"`
}

func (o *clustered) showsWhatTheMastersHave() {
	o.t.Helper()
	var leases, sessions []shown
	o.do(&leases, "leases", "ls")
	o.do(&sessions, "sessions", "ls")
	if len(leases) != len(o.docs)-1 || len(sessions) != len(o.docs) {
		o.t.Errorf("%d leases and %d sessions", len(leases), len(sessions))
	}
	for _, id := range []string{"{}x", "a{b}c", "}{", "ü n\n", "a:b", "task", "ext", "s0", "s1"} {
		var one, lease, why shown
		o.do(&one, "sessions", "get", id)
		all := []shown{one}
		if id != "ext" { // nobody has it
			o.do(&lease, "leases", "get", id)
			o.do(&why, "explain", id)
			all = append(all, lease)
			if why.HolderID != o.holder(id) || why.Preferred == "" || len(why.Ranking) != 2 {
				o.t.Errorf("%q is explained: %+v", id, why)
			}
		}
		for _, list := range [][]shown{leases, sessions} {
			all = append(all, slices.DeleteFunc(slices.Clone(list), func(s shown) bool { return s.SessionID != id })...)
		}
		if want := 4; id != "ext" && len(all) != want || id == "ext" && len(all) != want/2 {
			o.t.Errorf("%q is shown %d times", id, len(all))
		}
		for _, s := range all {
			if s.HolderID != o.holder(id) || strconv.FormatInt(s.Version, 10) != cmp.Or(o.state(id)["version"], "0") || s.TTL > 3000 {
				o.t.Errorf("%q: %+v, and the masters have %q, %v", id, s, o.holder(id), o.state(id))
			}
		}
	}
	var status struct {
		Healthy  bool           `json:"healthy"`
		Members  int            `json:"members"`
		Sessions int            `json:"sessions"`
		States   map[string]int `json:"states"`
		Events   struct{ Flags, Missing string }
	}
	o.do(&status, "status")
	if !status.Healthy || status.Members != 2 || status.Sessions != len(o.docs) || status.States["ok"] != len(o.docs)-1 || status.Events.Missing != "" {
		o.t.Errorf("%+v", status)
	}
	for _, m := range o.cluster.Nodes {
		c := m.Client()
		if flags := c.ConfigGet(context.Background(), "notify-keyspace-events").Val()["notify-keyspace-events"]; flags != status.Events.Flags {
			o.t.Errorf("%s has the flags %q, and shown are %q", m.Addr(), flags, status.Events.Flags)
		}
		_ = c.Close()
	}
}

func (o *clustered) knowsItsNodes() {
	o.t.Helper()
	var nodes []struct {
		InstanceID    string `json:"instance_id"`
		Leases, Share int
		Cordon        string
	}
	ask := func() {
		o.do(&nodes, "nodes", "ls")
		if len(nodes) != 2 {
			o.t.Fatalf("%+v", nodes)
		}
	}
	ask()
	held := o.leases()
	for _, n := range nodes {
		name, _, _ := strings.Cut(n.InstanceID, "-")
		if n.Leases != held[name] || n.Share != held[name] || !slices.Contains(o.find("poll:node:*"), o.keys.Node(n.InstanceID)) {
			o.t.Errorf("%+v, and the masters have %v", n, held)
		}
		o.do(nil, "nodes", "cordon", n.InstanceID)
		if got := o.rdb.Get(context.Background(), o.keys.Cordon(n.InstanceID)).Val(); got != "cordoned" {
			o.t.Errorf("the cordon of %s is %q", n.InstanceID, got)
		}
	}
	ask()
	for _, n := range nodes {
		if n.Cordon != "cordoned" {
			o.t.Errorf("%+v", n)
		}
	}
	o.do(nil, "nodes", "uncordon", "a", "b")
	if left := o.find("poll:cordon:*"); len(left) > 0 {
		o.t.Errorf("left are %v", left)
	}
	var shares []struct{ Leases, Share, Gains, Losses int }
	o.do(&shares, "plan", "--without", "b")
	if n := held["b"]; len(shares) != 2 || shares[0].Gains != n || shares[1].Losses != n {
		o.t.Errorf("without b: %+v", shares)
	}
}

func (o *clustered) editsSessions() {
	o.t.Helper()
	for _, id := range []string{"s0", "s1", "s2", "}{"} {
		o.do(nil, "sessions", "pause", id)
		if !same(o.document(id), strings.Replace(o.docs[id], "{", `{"paused":true,`, 1)) {
			o.t.Errorf("%q is paused by %s", id, o.document(id))
		}
		o.until("the paused session is released", func() bool { return o.holder(id) == "" })
		o.do(nil, "sessions", "resume", id)
		o.until("the resumed session is leased", func() bool { return o.holder(id) != "" })
		o.do(nil, "sessions", "rm", id)
		if o.document(id) != "" {
			o.t.Errorf("%q is there", id)
		}
		add := o.command("sessions", "add", id, "-f", "-")
		add.Stdin = strings.NewReader(o.docs[id])
		if out, err := add.CombinedOutput(); err != nil || o.document(id) != o.docs[id] {
			o.t.Errorf("%v: %s; %s", err, out, o.document(id))
		}
		o.until("what came back is leased", func() bool { return o.holder(id) != "" })
	}
}

func (o *clustered) runsTasks() {
	o.t.Helper()
	due := o.state("task")["due"]
	o.do(nil, "sessions", "run", "task")
	o.until("the task is run", func() bool { s := o.state("task"); return s["started"] != "" && s["asked"] == "" })
	if got := o.state("task")["due"]; got != due {
		o.t.Errorf("its slot moved from %s to %s", due, got)
	}
	var results []struct {
		Data struct {
			Session, Holder string
		}
		Token string
	}
	o.until("the result of the run is shown", func() bool {
		o.do(&results, "sessions", "results", "task")
		return len(results) > 0
	})
	stream := o.rdb.XRange(context.Background(), "poll:results", "-", "+").Val()
	stream = slices.DeleteFunc(stream, func(m redis.XMessage) bool { return m.Values["session"] != "task" })
	if len(results) != 1 || len(stream) != 1 || results[0].Data.Session != "task" || results[0].Data.Holder != o.holder("task") ||
		results[0].Token != stream[0].Values["token"] || results[0].Token != o.state("task")["version"] {
		o.t.Errorf("shown is %+v, and the stream has %+v", results, stream)
	}
}

// releases ends a lease on each master, and waits until all who listen have heard of it.
func (o *clustered) releases(told *tellings) {
	o.t.Helper()
	done := map[string]bool{}
	for id := range o.docs {
		at := o.master(o.keys.Lease(id))
		if id == "ext" || done[at] {
			continue
		}
		done[at] = true
		before, _ := strconv.ParseInt(o.state(id)["version"], 10, 64)
		o.do(nil, "leases", "release", id, "--force")
		o.until("the released lease is taken again", func() bool {
			version, _ := strconv.ParseInt(o.state(id)["version"], 10, 64)
			return o.holder(id) != "" && version == before+1
		})
		want := telling{SessionID: id, HolderID: o.holder(id), Version: before + 1}
		for who := range told.heard() {
			o.until(who+" hears of it", func() bool { return slices.Contains(told.heard()[who], want) })
		}
	}
}

func (o *clustered) examines() {
	o.t.Helper()
	out, err := o.command("check", "--min-nodes", "2").Output()
	if want := fmt.Sprintf("LEASEHOLD OK - %d of %d sessions polled well by 2 nodes", len(o.docs)-1, len(o.docs)); err != nil || !strings.HasPrefix(string(out), want) {
		o.t.Errorf("%v: %s", err, out)
	}
	out, err = o.command("doctor", "-o", "json").Output()
	var report struct {
		Findings []struct{ Level, Check, Server, Found string }
	}
	if bad := json.Unmarshal(out, &report); bad != nil || err == nil || len(report.Findings) < 3*len(o.cluster.Nodes) {
		o.t.Fatalf("%v, %v: %s", err, bad, out)
	}
	for _, f := range report.Findings {
		if (f.Level == "ok") != (f.Check != "persistence") { // these masters have none
			o.t.Errorf("%+v", f)
		}
	}
	path := filepath.Join(o.t.TempDir(), "support.tar.gz")
	o.do(nil, "support", "-f", path)
	names, err := exec.Command("tar", "-tzf", path).Output()
	if err != nil {
		o.t.Fatal(err)
	}
	for _, m := range o.cluster.Nodes {
		for _, part := range []string{"server.txt", "memory.txt", "slowlog.json"} {
			if want := "/redis/" + strings.ReplaceAll(m.Addr(), ":", "-") + "/" + part + "\n"; !strings.Contains(string(names), want) {
				o.t.Errorf("the bundle lacks %s: %s", want, names)
			}
		}
	}
}

// pages lists the sessions over HTTP, a few at a time.
func (o *clustered) pages(api string) {
	o.t.Helper()
	seen := map[string]string{}
	for next := "/api/v1/sessions?limit=7"; next != ""; {
		var page []shown
		next = o.get(api, next, &page)
		for _, s := range page {
			seen[s.SessionID] = s.HolderID
		}
	}
	for id := range o.docs {
		if holder, there := seen[id]; !there || holder != o.holder(id) {
			o.t.Errorf("%q: %t, %q", id, there, holder)
		}
	}
}

// get reads an answer, and returns the path of the next page.
func (o *clustered) get(api, path string, into any) (next string) {
	o.t.Helper()
	resp, err := http.Get("http://" + api + path)
	if err != nil {
		o.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body)
	if err := json.Unmarshal(text, into); err != nil || resp.StatusCode != http.StatusOK {
		o.t.Fatalf("%s: %d %s: %v", path, resp.StatusCode, text, err)
	}
	_, next, _ = strings.Cut(resp.Header.Get("Link"), "<")
	next, _, _ = strings.Cut(next, ">")
	return next
}

// failsOver has a node die: the other one has all when the leases have run out.
func (o *clustered) failsOver(b *exec.Cmd, told *tellings) {
	o.t.Helper()
	instance := ""
	for id := range o.docs {
		if h := o.holder(id); strings.HasPrefix(h, "b-") {
			instance = h
		}
	}
	if err := b.Process.Signal(syscall.SIGKILL); err != nil {
		o.t.Fatal(err)
	}
	all := map[string]int{"a": len(o.docs) - 1}
	o.until("the other node has all", func() bool { return maps.Equal(o.leases(), all) })
	for who := range told.heard() {
		o.until(who+" hears that the node has gone", func() bool {
			return slices.Contains(told.heard()[who], telling{InstanceID: instance})
		})
	}
}
