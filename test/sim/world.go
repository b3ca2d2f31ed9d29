package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
	"leasehold/node"
)

// Timings of the simulated fleets: those of the demo, so that an hour of virtual
// time holds many terms.
const (
	ttl      = 6 * time.Second
	interval = 2 * time.Second
)

// world is one simulated fleet and what was done to it.
type world struct {
	g     gomega.Gomega
	rnd   *rand.Rand
	fleet *nodetest.Fleet
	nodes []*nodetest.Member
	docs  map[string]doc
	made  int
	log   []string // the faults, in order
	start time.Time
}

type doc struct {
	interval time.Duration
	paused   bool
	broken   bool
}

func timings(c *node.Config) {
	c.LeaseTTL, c.RenewInterval, c.Margin = ttl, ttl/3, ttl/15
	c.HeartbeatTTL, c.HeartbeatInterval = ttl, ttl/3
	c.ReconcileInterval = 10 * time.Second
	c.Store.Timeout = time.Second
}

func newWorld(g gomega.Gomega, seed uint64) *world {
	w := &world{
		g: g, rnd: rand.New(rand.NewPCG(seed, seed)), fleet: nodetest.New(g),
		docs: map[string]doc{}, start: time.Now(),
	}
	for range 10 + w.rnd.IntN(20) {
		w.add()
	}
	for range 3 + w.rnd.IntN(3) {
		w.join()
	}
	return w
}

func (w *world) note(format string, args ...any) {
	at := time.Since(w.start).Round(time.Millisecond)
	w.log = append(w.log, fmt.Sprintf("%s ", at)+fmt.Sprintf(format, args...))
}

func (w *world) join() {
	m := w.fleet.Start(timings)
	w.nodes = append(w.nodes, m)
	w.note("join %s", m.Name)
}

func (w *world) add() {
	w.made++
	w.put(fmt.Sprintf("d%d", w.made), doc{interval: interval})
}

func (w *world) put(id string, d doc) {
	w.docs[id] = d
	text := fmt.Sprintf(`{"url":"http://192.0.2.1/","interval":%q,"paused":%t}`, d.interval, d.paused)
	if d.broken {
		text = "{" + id
	}
	w.fleet.Put(id, text)
}

func (w *world) someDoc() (string, doc) {
	ids := make([]string, 0, len(w.docs))
	for i := 1; i <= w.made; i++ {
		if id := fmt.Sprintf("d%d", i); w.has(id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return "", doc{}
	}
	id := ids[w.rnd.IntN(len(ids))]
	return id, w.docs[id]
}

func (w *world) has(id string) bool {
	_, ok := w.docs[id]
	return ok
}

// sleep lets up to most pass.
func (w *world) sleep(most time.Duration) {
	bubble.Sleep(time.Duration(w.rnd.Int64N(int64(most))))
}

// restart empties Redis as a restart without persistence does, and stores the
// documents again, as their owner would.
func (w *world) restart() {
	w.fleet.Events.Restart()
	w.putAll()
}

func (w *world) putAll() {
	for id, d := range w.docs {
		w.put(id, d)
	}
}

func (w *world) keys(pattern string) []string {
	keys, err := w.fleet.Client.Keys(context.Background(), pattern).Result()
	w.g.Expect(err).NotTo(gomega.HaveOccurred())
	return keys
}

// dump writes the logs of all nodes, in order, where DUMP names a file.
func (w *world) dump() {
	path := os.Getenv("DUMP")
	if path == "" {
		return
	}
	var lines []string
	for _, m := range w.fleet.Members() {
		lines = append(lines, strings.Split(m.Log.String(), "\n")...)
	}
	slices.Sort(lines)
	w.g.Expect(os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600)).To(gomega.Succeed())
}

func (w *world) history() string { return strings.Join(w.log, "\n") }
