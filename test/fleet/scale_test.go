package fleet

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/test/fleet/check"
)

const (
	manySessions = 2000
	manyInterval = 10 * time.Second
)

// Thousands of sessions come and go at once, and a flood of forged events between. C39:
// redis/go-redis#1421, redis/go-redis#2267, ovh/cds#7833.
func TestThousandsOfSessionsComeAndGoAtOnce(t *testing.T) {
	long(t)
	f := newFleet(t, plan{interval: 2 * time.Second})
	ids := f.putMany(10)
	nodes := f.start("a", "b", "c")
	f.settled(10*time.Second, nodes...)
	w := check.Window{From: f.target.Now()}
	m := &many{fleet: f}

	m.put()
	came := f.target.Now()
	held := m.leased(30*time.Second, nodes)
	t.Logf("all are leased after %s", (f.target.Now() - came).Round(time.Millisecond))
	tokens := m.tokens()
	m.polled(came, 30*time.Second+manyInterval)

	before := m.holders()
	m.forge()
	wait(2 * time.Second)
	if after := m.holders(); !maps.Equal(before, after) {
		t.Error("forged events changed owners")
	}
	f.passes(came, 3*f.plan.ttl)
	m.bound(nodes)
	unmoved := 0
	for id, token := range m.tokens() {
		if token == tokens[id] {
			unmoved++
		}
	}
	t.Logf("%d of %d tokens have not changed since the first acquisition", unmoved, manySessions)
	if unmoved < manySessions*99/100 {
		t.Errorf("%d of %d sessions have moved", manySessions-unmoved, manySessions)
	}
	m.kept(held, nodes)

	m.del()
	gone := f.target.Now()
	until(t, f.plan.ttl+2*time.Second, "no lease is left", func() bool {
		time.Sleep(20 * time.Millisecond)
		return len(m.holders()) == 0
	})
	t.Logf("no lease is left after %s", (f.target.Now() - gone).Round(time.Millisecond))
	m.silent(gone + 2*time.Second)
	until(t, 10*time.Second, "no state is left", func() bool { return len(f.scanned("poll:*bulk-*")) == 0 })
	f.settled(f.plan.ttl, nodes...)
	w.To = f.target.Now()

	f.pass("the ten that were there", check.All(
		check.Gaps(f.history(), ids, w, 2*f.plan.interval, 100),
		check.Steady(f.history(), ids, check.Window{From: came + f.plan.ttl, To: gone}, 50),
	))
	m.calm(nodes)
	m.stats()
	h := f.history()
	f.pass("safety", check.All(check.Overlaps(h, manySessions), check.Tokens(h, manySessions)))
}

// many are the sessions of the trial. The witness does not read them: that would be
// most of the load.
type many struct{ *fleet }

func bulk(i int) string { return fmt.Sprintf("bulk-%d", i) }

// pipe sends one command for each session in one pipe.
func (m *many) pipe(each func(p redis.Pipeliner, id string)) []redis.Cmder {
	m.t.Helper()
	cmds, err := m.rdb.Pipelined(m.t.Context(), func(p redis.Pipeliner) error {
		for i := range manySessions {
			each(p, bulk(i))
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		m.t.Fatal(err)
	}
	return cmds
}

func (m *many) put() {
	m.pipe(func(p redis.Pipeliner, id string) {
		p.Set(m.t.Context(), m.keys.Session(id), m.document(id, fmt.Sprintf(`,"interval":%q`, manyInterval)), 0)
	})
}

func (m *many) del() {
	m.pipe(func(p redis.Pipeliner, id string) { p.Del(m.t.Context(), m.keys.Session(id)) })
}

// forge announces what did not happen, as anybody may.
func (m *many) forge() {
	for _, event := range []string{"expired", "del"} {
		m.pipe(func(p redis.Pipeliner, id string) {
			p.Publish(m.t.Context(), fmt.Sprintf("__keyevent@%d__:%s", m.plan.db, event), m.keys.Lease(id))
		})
	}
	m.pipe(func(p redis.Pipeliner, id string) {
		p.Publish(m.t.Context(), fmt.Sprintf("__keyspace@%d__:%s", m.plan.db, m.keys.Session(id)), "del")
	})
}

func (m *many) holders() map[string]string {
	m.t.Helper()
	held := map[string]string{}
	for i, c := range m.pipe(func(p redis.Pipeliner, id string) { p.Get(m.t.Context(), m.keys.Lease(id)) }) {
		if holder, err := c.(*redis.StringCmd).Result(); err == nil {
			held[bulk(i)] = holder
		}
	}
	return held
}

func (m *many) tokens() map[string]int64 {
	m.t.Helper()
	tokens := map[string]int64{}
	for i, c := range m.pipe(func(p redis.Pipeliner, id string) { p.HGet(m.t.Context(), m.keys.State(id), "version") }) {
		token, err := c.(*redis.StringCmd).Int64()
		if err != nil {
			m.t.Fatalf("the token of %s: %v", bulk(i), err)
		}
		tokens[bulk(i)] = token
	}
	return tokens
}

// leased waits until all are held.
func (m *many) leased(limit time.Duration, nodes []*node) map[string]string {
	m.t.Helper()
	var held map[string]string
	until(m.t, limit, "all are leased", func() bool {
		time.Sleep(20 * time.Millisecond)
		held = m.holders()
		return len(held) == manySessions
	})
	for id, holder := range held {
		if len(of(map[string]string{id: holder}, nodes[0]))+len(of(map[string]string{id: holder}, nodes[1]))+
			len(of(map[string]string{id: holder}, nodes[2])) != 1 {
			m.t.Errorf("%s is held by %s", id, holder)
		}
	}
	return held
}

// polled waits until all were polled.
func (m *many) polled(from, limit time.Duration) {
	m.t.Helper()
	var last time.Duration
	until(m.t, from+limit-m.target.Now(), "all are polled", func() bool {
		time.Sleep(100 * time.Millisecond)
		first := map[string]time.Duration{}
		for _, p := range m.target.Records() {
			if _, ok := first[p.Session]; !ok && strings.HasPrefix(p.Session, "bulk-") {
				first[p.Session] = p.From
				last = p.From
			}
		}
		return len(first) == manySessions
	})
	m.t.Logf("all are polled after %s", (last - from).Round(time.Millisecond))
}

// bound reads what the nodes and their connections take while all is at work.
func (m *many) bound(nodes []*node) {
	m.t.Helper()
	for _, n := range nodes {
		list, err := m.rdb.Do(m.t.Context(), "CLIENT", "LIST").Text()
		if err != nil {
			m.t.Fatal(err)
		}
		connected := strings.Count(list, " name=leasehold:"+n.id+" ")
		v, ok := n.vitals()
		m.t.Logf("%s: %d clients of Redis, %+v", n.name, connected, v)
		if connected == 0 || connected >= 100 {
			m.t.Errorf("%s has %d clients", n.name, connected)
		}
		if ok && v.rssMB >= 300 {
			m.t.Errorf("%s takes %d MB", n.name, v.rssMB)
		}
	}
}

// kept checks that all are held as evenly as can be, and by whom they were.
func (m *many) kept(before map[string]string, nodes []*node) {
	m.t.Helper()
	now := m.holders()
	moved := 0
	for id, holder := range now {
		if before[id] != holder {
			moved++
		}
	}
	maps.Copy(now, m.fleet.holders())
	counts := loads(now, nodes)
	m.t.Logf("loads %v, %d moved since all were leased", counts, moved)
	if !even(now, manySessions+len(m.known()), nodes) {
		m.t.Errorf("loads are %v of %d", counts, len(now))
	}
	if moved > manySessions/100 {
		m.t.Errorf("%d owners have changed", moved)
	}
}

// silent checks that none was polled from a moment on.
func (m *many) silent(from time.Duration) {
	m.t.Helper()
	m.passes(from, time.Second)
	late := 0
	for _, p := range m.target.Records() {
		if p.From > from && strings.HasPrefix(p.Session, "bulk-") {
			late++
		}
	}
	if late > 0 {
		m.t.Errorf("%d polls of deleted sessions", late)
	}
}

// calm checks that no lease was given up for want of a connection, or of anything.
func (m *many) calm(nodes []*node) {
	m.t.Helper()
	for _, n := range nodes {
		for _, name := range []string{
			"lease.lost", "lease.expired", "lease.renew_failed", "node.fenced", "member.expired", "redis.down",
		} {
			if told := n.all(event(name)); len(told) > 0 {
				m.t.Errorf("%s: %d times %.300s", n.name, len(told), told[0].text)
			}
		}
		if told := n.all(func(l line) bool { return strings.Contains(l.text, "pool timeout") }); len(told) > 0 {
			m.t.Errorf("%s: %.300s", n.name, told[0].text)
		}
	}
}

// stats checks that no command stalled the server for others.
func (m *many) stats() {
	m.t.Helper()
	stats, err := m.rdb.Info(m.t.Context(), "commandstats").Result()
	if err != nil {
		m.t.Fatal(err)
	}
	for _, name := range []string{"cmdstat_keys:", "cmdstat_flushall:", "cmdstat_smembers:"} {
		if strings.Contains(stats, name) {
			m.t.Errorf("%s was used", name)
		}
	}
}

// scanned lists the keys of a pattern without stalling the server.
func (f *fleet) scanned(pattern string) []string {
	f.t.Helper()
	var found []string
	keys := f.rdb.Scan(f.t.Context(), 0, pattern, 1000).Iterator()
	for keys.Next(f.t.Context()) {
		found = append(found, keys.Val())
	}
	if err := keys.Err(); err != nil {
		f.t.Fatal(err)
	}
	return found
}
