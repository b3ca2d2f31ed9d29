package leasetest

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/gomega" //nolint:revive,staticcheck // specs read as sentences

	"leasehold/lease"
	"leasehold/session"
)

func memberSpecs(run Runner) {
	it(run, "beats, is listed and checked, and leaves", func(ctx context.Context, g Gomega, f *Fixture) {
		for i := range 5 {
			g.Expect(f.Store.Beat(ctx, fmt.Sprintf("n%d", i), long)).To(Succeed())
		}
		g.Expect(f.raw(ctx, g, "GET", f.Keys.Node("n0"))).To(Equal("1"))
		g.Expect(f.Store.Leave(ctx, "n3")).To(Succeed())
		list, err := f.Store.List(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(names(list)).To(Equal([]string{"n0", "n1", "n2", "n4"}))
		g.Expect(list[0].Remaining).To(BeNumerically("~", long, time.Second))
		checked, err := f.Store.Check(ctx, []string{"n4", "n3", "n0"})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(names(checked)).To(Equal([]string{"n4", "n3", "n0"}))
		g.Expect(checked[0].Remaining).To(BeNumerically("~", long, time.Second))
		g.Expect(checked[1].Remaining).To(BeZero())
	})

	it(run, "tells of a loss for as long as it is noted", func(ctx context.Context, g Gomega, f *Fixture) {
		told := func(ago time.Duration) {
			since, noted, err := f.Store.LossNoted(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(noted).To(BeTrue())
			g.Expect(since).To(BeNumerically("~", ago, 500*time.Millisecond))
		}
		untold := func() {
			_, noted, err := f.Store.LossNoted(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(noted).To(BeFalse())
		}
		untold()
		g.Expect(f.Store.NoteLoss(ctx, "n1", short)).To(Succeed())
		told(0)
		f.Sleep(short + 2*time.Millisecond)
		untold()
	})

	it(run, "tells since when a loss was seen, and makes no note shorter", func(ctx context.Context, g Gomega, f *Fixture) {
		left := func() int64 { return f.raw(ctx, g, "PTTL", f.Keys.Loss()).(int64) }
		ago := func() time.Duration {
			since, noted, err := f.Store.LossNoted(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(noted).To(BeTrue())
			return since
		}
		g.Expect(f.Store.NoteLoss(ctx, "n1", long)).To(Succeed())
		g.Expect(f.raw(ctx, g, "GET", f.Keys.Loss())).To(Equal(fmt.Sprint(long.Milliseconds(), " n1")))
		f.raw(ctx, g, "PEXPIRE", f.Keys.Loss(), (long - 20*time.Second).Milliseconds())
		g.Expect(ago()).To(BeNumerically("~", 20*time.Second, time.Second))

		g.Expect(f.Store.NoteLoss(ctx, "n2", short)).To(Succeed()) // a second one, now
		g.Expect(left()).To(BeNumerically("~", (long - 20*time.Second).Milliseconds(), 1000))
		g.Expect(ago()).To(BeNumerically("~", 0, time.Second))

		g.Expect(f.Store.NoteLoss(ctx, "n3", 2*long)).To(Succeed())
		g.Expect(left()).To(BeNumerically("~", 2*long.Milliseconds(), 1000))
		g.Expect(ago()).To(BeNumerically("~", 0, time.Second))
	})

	it(run, "takes a foreign key for a note of now, and leaves it alone", func(ctx context.Context, g Gomega, f *Fixture) {
		odd := map[string][]any{
			"list":    {"RPUSH", f.Keys.Loss(), "x"},
			"text":    {"SET", f.Keys.Loss(), "x y", "PX", 60000},
			"endless": {"SET", f.Keys.Loss(), "30000 n1"},
		}
		for what, command := range odd {
			f.raw(ctx, g, "DEL", f.Keys.Loss())
			f.raw(ctx, g, command...)
			ago, noted, err := f.Store.LossNoted(ctx)
			g.Expect(err).NotTo(HaveOccurred(), what)
			g.Expect(noted).To(BeTrue(), what)
			g.Expect(ago).To(BeZero(), what)
			g.Expect(f.Foreign()).To(ContainElement(f.Keys.Loss()), what)
			g.Expect(f.Store.NoteLoss(ctx, "n1", long)).To(Succeed(), what)
		}
		f.raw(ctx, g, "DEL", f.Keys.Loss())
		f.raw(ctx, g, "RPUSH", f.Keys.Loss(), "x")
		g.Expect(f.Store.NoteLoss(ctx, "n1", long)).To(Succeed())
		g.Expect(f.raw(ctx, g, "LLEN", f.Keys.Loss())).To(Equal(int64(1)))
	})

	it(run, "lists a heartbeat no longer than its TTL", func(ctx context.Context, g Gomega, f *Fixture) {
		g.Expect(f.Store.Beat(ctx, "n1", short)).To(Succeed())
		f.Sleep(short + 2*time.Millisecond)
		g.Expect(f.Store.List(ctx)).To(BeEmpty())
		checked, err := f.Store.Check(ctx, []string{"n1"})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(checked[0].Remaining).To(BeZero())
	})

	it(run, "leaves out and reports what is no heartbeat", func(ctx context.Context, g Gomega, f *Fixture) {
		g.Expect(f.Store.Beat(ctx, "n1", long)).To(Succeed())
		f.raw(ctx, g, "SET", f.Keys.Node("forever"), "1")
		f.raw(ctx, g, "SET", f.Keys.Node(""), "1", "PX", 60000)
		f.raw(ctx, g, "HSET", f.Keys.Node("hash"), "a", "b")
		list, err := f.Store.List(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(names(list)).To(Equal([]string{"n1"}))
		g.Expect(f.Foreign()).To(ContainElements(f.Keys.Node("forever"), f.Keys.Node(""), f.Keys.Node("hash")))
		checked, err := f.Store.Check(ctx, []string{"forever"})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(checked[0].Remaining).To(BeZero())
		g.Expect(f.raw(ctx, g, "EXISTS", f.Keys.Node("hash"))).To(Equal(int64(1)))
	})
}

func names(members []lease.Member) []string {
	out := make([]string, len(members))
	for i, m := range members {
		out[i] = m.Instance
	}

	return out
}

func sourceSpecs(run Runner) {
	it(run, "scans all documents, whatever their ID and size, and nothing else", func(ctx context.Context, g Gomega, f *Fixture) {
		want := map[string]string{"big": strings.Repeat("x", 3<<20), "empty": ""}
		for i, id := range oddIDs() {
			want[id] = fmt.Sprintf(`{"n":%d}`, i)
		}
		for i := range 1500 {
			want[fmt.Sprintf("many-%d", i)] = "{}"
		}
		for id, raw := range want {
			f.raw(ctx, g, "SET", f.Keys.Session(id), raw)
		}
		f.raw(ctx, g, "SET", "unrelated", "x")
		f.take(ctx, g, "n1", "leased", long)
		got := map[string]string{}
		largest := 0
		g.Expect(f.Store.Scan(ctx, func(docs []session.Document) {
			largest = max(largest, len(docs))
			for _, d := range docs {
				g.Expect(d.Err).NotTo(HaveOccurred())
				got[d.ID] = string(d.Raw)
			}
		})).To(Succeed())
		g.Expect(got).To(HaveLen(len(want)))
		for id, raw := range want {
			if got[id] != raw { // the matcher would print megabytes
				g.Expect(got[id]).To(HaveLen(len(raw)), id)
				g.Expect(got[id][:min(100, len(raw))]).To(Equal(raw[:min(100, len(raw))]), id)
			}
		}
		g.Expect(largest).To(BeNumerically("<=", 1000))
	})

	it(run, "reads documents in order; absent ones are nil, foreign ones have an error", func(ctx context.Context, g Gomega, f *Fixture) {
		f.raw(ctx, g, "SET", f.Keys.Session("a"), "{}")
		f.raw(ctx, g, "SET", f.Keys.Session("e"), "")
		f.raw(ctx, g, "RPUSH", f.Keys.Session("list"), "x")
		docs, err := f.Store.Get(ctx, []string{"e", "none", "list", "a"})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(docs[0]).To(Equal(session.Document{ID: "e", Raw: []byte{}}))
		g.Expect(docs[1]).To(Equal(session.Document{ID: "none"}))
		g.Expect(docs[2].Err).To(MatchError(lease.ErrForeign))
		g.Expect(docs[3]).To(Equal(session.Document{ID: "a", Raw: []byte("{}")}))
		var scanned []string
		g.Expect(f.Store.Scan(ctx, func(docs []session.Document) {
			for _, d := range docs {
				scanned = append(scanned, d.ID)
			}
		})).To(Succeed())
		sort.Strings(scanned)
		g.Expect(scanned).To(Equal([]string{"a", "e", "list"}))
		g.Expect(f.Store.Get(ctx, nil)).To(BeEmpty())
	})
}

func batchSpecs(run Runner) {
	it(run, "answers 2,000 mixed claims, renewals and releases each for itself", func(ctx context.Context, g Gomega, f *Fixture) {
		const n = 2000
		kind := func(i int) string {
			switch {
			case i%3 == 0:
				return "theirs"
			case i%100 == 1:
				return "foreign"
			default:
				return "ours"
			}
		}
		claims := make([]lease.Claim, n)
		var theirs []lease.Claim
		for i := range claims {
			claims[i] = lease.Claim{Session: fmt.Sprintf("s%04d", i), TTL: long}
			switch kind(i) {
			case "theirs":
				theirs = append(theirs, claims[i])
			case "foreign":
				f.raw(ctx, g, "RPUSH", f.Keys.Lease(claims[i].Session), "x")
			}
		}
		for _, o := range f.Store.Acquire(ctx, "other", theirs) {
			g.Expect(o.Granted).To(BeTrue())
		}
		grants := make([]lease.Grant, n)
		for i, o := range f.Store.Acquire(ctx, "me", claims) {
			grants[i] = lease.Grant{Session: claims[i].Session, Holder: "me", Token: o.Token}
			g.Expect(o.Session).To(Equal(claims[i].Session))
			g.Expect(o.Granted).To(Equal(kind(i) == "ours"), "claim %d", i)
			g.Expect(errors.Is(o.Err, lease.ErrForeign)).To(Equal(kind(i) == "foreign"), "claim %d", i)
		}
		for i, v := range f.Store.Renew(ctx, Renewals(long, grants...)) {
			g.Expect(v.Err == nil).To(Equal(kind(i) == "ours"), "renewal %d: %v", i, v.Err)
			g.Expect(v.Holder).To(Equal(map[string]string{"theirs": "other"}[kind(i)]), "renewal %d", i)
		}
		releases := make([]lease.Release, n)
		for i := range grants {
			releases[i].Grant = grants[i]
		}
		for i, err := range f.Store.Release(ctx, releases) {
			g.Expect(err == nil).To(Equal(kind(i) == "ours"), "release %d: %v", i, err)
		}
		ids := make([]string, n)
		for i := range claims {
			ids[i] = claims[i].Session
		}
		for i, st := range f.Store.Look(ctx, ids) {
			g.Expect(st.Holder).To(Equal(map[string]string{"theirs": "other"}[kind(i)]), "look %d", i)
		}
	})

	it(run, "loads its scripts again wherever the server forgot them", func(ctx context.Context, g Gomega, f *Fixture) {
		flush := func() { g.Expect(f.Everywhere(ctx, "SCRIPT", "FLUSH")).To(Succeed()) }
		slot := lease.Slot{Interval: time.Second, Bound: time.Second}
		flush()
		var grants []lease.Grant
		for i := range 40 {
			grants = append(grants, f.take(ctx, g, "n1", strconv.Itoa(i), long))
		}
		flush()
		for _, v := range f.Store.Renew(ctx, Renewals(long, grants...)) {
			g.Expect(v.Err).NotTo(HaveOccurred())
		}
		for _, polls := range []func(lease.Grant) error{
			func(grant lease.Grant) error { _, err := f.Store.Begin(ctx, grant, slot); return err },
			func(grant lease.Grant) error { return f.Store.Finish(ctx, grant, lease.Result{OK: true}) },
		} {
			flush()
			errs := make([]error, len(grants))
			var wg sync.WaitGroup
			for i, grant := range grants {
				wg.Go(func() { errs[i] = polls(grant) })
			}
			wg.Wait()
			g.Expect(errors.Join(errs...)).NotTo(HaveOccurred())
		}
		flush()
		releases := make([]lease.Release, len(grants))
		for i := range grants {
			releases[i].Grant = grants[i]
		}
		g.Expect(errors.Join(f.Store.Release(ctx, releases)...)).NotTo(HaveOccurred())
	})

	it(run, "answers nothing to nothing", func(ctx context.Context, g Gomega, f *Fixture) {
		g.Expect(f.Store.Acquire(ctx, "n1", nil)).To(BeEmpty())
		g.Expect(f.Store.Renew(ctx, nil)).To(BeEmpty())
		g.Expect(f.Store.Release(ctx, nil)).To(BeEmpty())
		g.Expect(f.Store.Check(ctx, nil)).To(BeEmpty())
	})
}
