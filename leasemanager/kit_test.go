package leasemanager_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
	"leasehold/internal/redistest"
	"leasehold/lease/cell"
	"leasehold/leasemanager"
)

const (
	ttl    = 30 * time.Second
	margin = 2 * time.Second
)

// fleet is Redis, and any number of members on links of their own.
type fleet struct {
	*nodetest.Fleet

	g       Gomega
	started []*member
}

// member is one simulated service.
type member struct {
	*leasemanager.Member

	g      Gomega
	link   *redistest.Link
	client *redis.Client
	ahead  atomic.Int64 // its wall clock, of the others'

	mu    sync.Mutex
	heard []string // by the callbacks: "acquired s0"
	infos []leasemanager.LeaseInfo
	whys  []error
	onEnd func(id string) // called in Lost
}

// run gives a spec a fleet in virtual time, and stops all members at its end.
func run(f func(g Gomega, f *fleet)) {
	GinkgoHelper()
	bubble.Run(func(g Gomega) {
		all := &fleet{Fleet: nodetest.New(g), g: g}
		defer all.Stop()
		defer func() {
			for _, m := range all.started {
				m.link.Heal()
				_ = m.Stop()
				_ = m.client.Close()
			}
		}()
		f(g, all)
	})
}

// add returns a member that was not started.
func (f *fleet) add(options ...leasemanager.Option) *member {
	link := f.Mini.Link()
	m := &member{g: f.g, link: link, client: link.Client()}
	cfg := leasemanager.Config{Client: m.client, Name: fmt.Sprintf("m%d", len(f.started)+1), Margin: margin}
	options = append([]leasemanager.Option{leasemanager.WithCallbacks(m.callbacks())}, options...)
	made, err := leasemanager.New(cfg, options...)
	f.g.Expect(err).NotTo(HaveOccurred())
	m.Member = made
	f.started = append(f.started, m)
	return m
}

// start returns a member that runs.
func (f *fleet) start(options ...leasemanager.Option) *member {
	m := f.add(options...)
	f.g.Expect(m.Start(m.context())).To(Succeed())
	bubble.Sleep(0)
	return m
}

func (m *member) context() context.Context {
	return cell.WithWall(context.Background(), func(t time.Time) time.Time { return t.Add(time.Duration(m.ahead.Load())) })
}

func (m *member) callbacks() leasemanager.Callbacks {
	note := func(what string) func(leasemanager.LeaseInfo) {
		return func(i leasemanager.LeaseInfo) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.heard = append(m.heard, what+" "+i.SessionID)
			m.infos = append(m.infos, i)
		}
	}
	lost := note("lost")
	return leasemanager.Callbacks{
		Acquired: note("acquired"), Uncertain: note("uncertain"), Certain: note("certain"),
		Lost: func(i leasemanager.LeaseInfo, why error) {
			m.mu.Lock()
			m.whys = append(m.whys, why)
			onEnd := m.onEnd
			m.mu.Unlock()
			if onEnd != nil {
				onEnd(i.SessionID)
			}
			lost(i)
		},
	}
}

// told returns what the callbacks were told so far.
func (m *member) told() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.heard...)
}

func (m *member) atEnd(f func(id string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onEnd = f
}

// why returns why leases were lost so far.
func (m *member) why() []error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]error(nil), m.whys...)
}

// take leases a session, which must succeed.
func (m *member) take(id string) {
	GinkgoHelper()
	ours, err := m.TryAcquire(context.Background(), id)
	m.g.Expect(err).NotTo(HaveOccurred())
	m.g.Expect(ours).To(BeTrue())
	m.g.Expect(m.IsOwned(id)).To(BeTrue())
}

// refused tries to lease a session, which must fail without an error.
func (m *member) refused(id string) {
	GinkgoHelper()
	ours, err := m.TryAcquire(context.Background(), id)
	m.g.Expect(err).NotTo(HaveOccurred())
	m.g.Expect(ours).To(BeFalse())
}

// after starts something and returns where its answer will be.
func after[T any](f func() T) <-chan T {
	c := make(chan T, 1)
	go func() { c <- f() }()
	return c
}
