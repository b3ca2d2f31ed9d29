package leasetest

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"leasehold/lease"
	"leasehold/rediskey"
	"leasehold/session"
)

// Store is everything that the suite proves.
type Store interface {
	lease.Store
	lease.Reader
	lease.Inspector
	lease.Ledger
	lease.Asker
	lease.Members
	lease.Registry
	session.Source
	session.Pager
}

// Fixture is one empty store and ways to look behind it.
type Fixture struct {
	Store Store
	Keys  rediskey.Keys
	// Stream is the key of the stream of results.
	Stream string
	// Apart says that the stream is appended to outside the fenced write, as in a
	// cluster: a repetition appends again then, since the first may have been lost.
	Apart bool
	// Do runs a raw command on the server that owns its first key; a missing reply
	// is nil without an error.
	Do func(ctx context.Context, args ...any) (any, error)
	// Everywhere runs a raw command on all servers.
	Everywhere func(ctx context.Context, args ...any) error
	// Sleep lets the store's time pass.
	Sleep func(time.Duration)
	// Foreign returns the keys that were reported as foreign so far.
	Foreign func() []string
}

// Runner gives body a Gomega and a fresh fixture, and cleans up after it.
type Runner func(body func(g gomega.Gomega, f *Fixture))

// Specs adds the whole suite to the Ginkgo container around the call.
func Specs(run Runner) {
	ginkgo.Describe("acquire", func() { acquireSpecs(run) })
	ginkgo.Describe("renew", func() { renewSpecs(run) })
	ginkgo.Describe("renew, with a poll in flight,", func() { busySpecs(run) })
	ginkgo.Describe("release", func() { releaseSpecs(run) })
	ginkgo.Describe("acquire, for work without a begin,", func() { aloneSpecs(run) })
	ginkgo.Describe("look", func() { lookSpecs(run) })
	ginkgo.Describe("read", func() { readSpecs(run) })
	ginkgo.Describe("begin", func() { beginSpecs(run) })
	ginkgo.Describe("tasks", func() { taskSpecs(run) })
	ginkgo.Describe("finish", func() { finishSpecs(run) })
	ginkgo.Describe("members", func() { memberSpecs(run) })
	ginkgo.Describe("cards and cordons", func() { registrySpecs(run) })
	ginkgo.Describe("source", func() { sourceSpecs(run) })
	ginkgo.Describe("pager", func() { pageSpecs(run) })
	ginkgo.Describe("batches", func() { batchSpecs(run) })
}

// Times of the suite. short is one that specs wait for.
const (
	long  = 30 * time.Second
	short = 300 * time.Millisecond
)

// it adds one spec.
func it(run Runner, text string, body func(ctx context.Context, g gomega.Gomega, f *Fixture)) {
	ginkgo.It(text, func() {
		run(func(g gomega.Gomega, f *Fixture) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			body(ctx, g, f)
		})
	})
}

// claim makes one claim and returns its outcome.
func (f *Fixture) claim(ctx context.Context, holder, id string, ttl time.Duration) lease.Outcome {
	return f.Store.Acquire(ctx, holder, []lease.Claim{{Session: id, TTL: ttl}})[0]
}

// take is a claim that has to be granted.
func (f *Fixture) take(ctx context.Context, g gomega.Gomega, holder, id string, ttl time.Duration) lease.Grant {
	ginkgo.GinkgoHelper()
	o := f.claim(ctx, holder, id, ttl)
	g.Expect(o.Err).NotTo(gomega.HaveOccurred())
	g.Expect(o.Granted).To(gomega.BeTrue(), "%s takes %q, holder is %s", holder, id, o.Holder)

	return lease.Grant{Session: id, Holder: holder, Token: o.Token}
}

func (f *Fixture) renew(ctx context.Context, grant lease.Grant, ttl time.Duration) lease.Verdict {
	return f.Store.Renew(ctx, Renewals(ttl, grant))[0]
}

func (f *Fixture) release(ctx context.Context, grant lease.Grant) error {
	return f.Store.Release(ctx, []lease.Release{{Grant: grant}})[0]
}

func (f *Fixture) forget(ctx context.Context, grant lease.Grant) error {
	return f.Store.Release(ctx, []lease.Release{{Grant: grant, Forget: true}})[0]
}

// raw runs a command that has to work.
func (f *Fixture) raw(ctx context.Context, g gomega.Gomega, args ...any) any {
	ginkgo.GinkgoHelper()
	v, err := f.Do(ctx, args...)
	g.Expect(err).NotTo(gomega.HaveOccurred(), fmt.Sprint(args...))

	return v
}

// holder is the raw value of the lease key, nil when it is missing.
func (f *Fixture) holder(ctx context.Context, g gomega.Gomega, id string) any {
	ginkgo.GinkgoHelper()

	return f.raw(ctx, g, "GET", f.Keys.Lease(id))
}

// left is the raw remaining time of a key; -1 and -2 as Redis says.
func (f *Fixture) left(ctx context.Context, g gomega.Gomega, key string) time.Duration {
	ginkgo.GinkgoHelper()
	ms, _ := f.raw(ctx, g, "PTTL", key).(int64)
	if ms < 0 {
		return time.Duration(ms)
	}

	return time.Duration(ms) * time.Millisecond
}

// field is a raw field of the state of session "s", nil when it is missing.
func (f *Fixture) field(ctx context.Context, g gomega.Gomega, field string) any {
	ginkgo.GinkgoHelper()

	return f.raw(ctx, g, "HGET", f.Keys.State("s"), field)
}

// number is a raw field of the state of session "s" as a number.
func (f *Fixture) number(ctx context.Context, g gomega.Gomega, field string) int64 {
	ginkgo.GinkgoHelper()
	text, _ := f.field(ctx, g, field).(string)
	n, err := strconv.ParseInt(text, 10, 64)
	g.Expect(err).NotTo(gomega.HaveOccurred(), "field %s is %q", field, text)

	return n
}

// oddIDs are IDs that break what was not made for them.
func oddIDs() []string {
	return []string{
		"a", "a:b:c", "{", "}", "{}", "{}x", "}{", "{a}", "a{b}c", "a}b{c", "x{}{y}", "*", "[ab]?\\",
		"line\nbreak\r\n", " space ", "\x01\x7f", "größe-会议-🚦", "%20/..", "123", "-1", "1e15",
		string(make512()),
	}
}

func make512() []byte {
	b := make([]byte, 512)
	for i := range b {
		b[i] = "{}:*abc"[i%7]
	}

	return b
}
