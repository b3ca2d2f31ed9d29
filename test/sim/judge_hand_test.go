package sim

import (
	"bufio"
	"crypto/sha1"
	"encoding/hex"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"leasehold/internal/nodetest"
	"leasehold/lease"
	"leasehold/rediskey"
)

// hand writes histories by hand: what Redis and the target would show the judge.
type hand struct {
	*judge
	clock  time.Time
	node   *server.Peer
	engine *server.Peer
	lua    *server.Peer
	frozen map[string][]stand
	// anonymous has servers that don't say which they are.
	anonymous bool
	tasks     map[string]bool
	rules     rules
}

const (
	handTTL    = 30 * time.Second
	handMargin = 2 * time.Second
)

func newHand(t *testing.T) *hand {
	t.Helper()
	peer := func(name string) *server.Peer {
		p := server.NewPeer(bufio.NewWriter(io.Discard))
		p.ClientName = name
		return p
	}
	h := &hand{
		clock: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), node: peer(""), engine: peer(nodetest.OwnClient), lua: peer(""),
		frozen: map[string][]stand{}, tasks: map[string]bool{},
	}
	set := settings{ttl: handTTL, margin: handMargin, longest: 10 * time.Second, timeout: time.Second}
	h.judge = newJudge(set, h, func() time.Time { return h.clock }, func(p *server.Peer) bool { return p == h.lua })
	for _, name := range []string{"acquire", "renew", "release", "begin", "finish", "ask"} {
		h.send("SCRIPT", "LOAD", "-- "+name+" does something\n")
	}
	return h
}

func (h *hand) nameless(time.Time) bool { return h.anonymous }

// stand is how long a process stood still; to is zero while it does, or is dead.
type stand struct{ from, to time.Time }

func (h *hand) freeze(instance string) {
	h.frozen[instance] = append(h.frozen[instance], stand{from: h.clock})
}

func (h *hand) wake(instance string) {
	h.frozen[instance][len(h.frozen[instance])-1].to = h.clock
}

func (h *hand) thaw(instance string, at time.Time) time.Time {
	for _, s := range h.frozen[instance] {
		switch {
		case at.Before(s.from):
		case s.to.IsZero():
			return never
		case !at.After(s.to):
			return s.to
		}
	}
	return time.Time{}
}

func (h *hand) task(session string) (ever, always bool) { return h.tasks[session], h.tasks[session] }

func (h *hand) calendar(string) (rules, bool) { return h.rules, h.rules.every > 0 }

func (h *hand) pass(d time.Duration)              { h.clock = h.clock.Add(d) }
func (h *hand) send(cmd string, args ...string)   { h.command(h.node, cmd, args...) }
func (h *hand) meddle(cmd string, args ...string) { h.command(h.engine, cmd, args...) }
func (h *hand) inner(cmd string, args ...string)  { h.command(h.lua, cmd, args...) }

func leaseKey(id string) string { return rediskey.Default().Lease(id) }
func stateKey(id string) string { return rediskey.Default().State(id) }
func text(n int64) string       { return strconv.FormatInt(n, 10) }

// run calls a script for one session.
func (h *hand) run(name, id string, args ...string) {
	sha := shaOf("-- " + name + " does something\n")
	h.send("EVALSHA", append([]string{sha, "2", leaseKey(id), stateKey(id)}, args...)...)
}

func ms(d time.Duration) string { return text(d.Milliseconds()) }

// take acquires a lease whose counter exists.
func (h *hand) take(id, holder string) {
	h.run("acquire", id, holder, "0", ms(handTTL), "")
	h.inner("SET", leaseKey(id), holder, "NX", "PX", ms(handTTL))
	h.inner("HINCRBY", stateKey(id), "version", "1")
	h.inner("PEXPIRE", stateKey(id), "1000000")
}

// first acquires a lease that never was.
func (h *hand) first(id, holder string, token int64) {
	h.run("acquire", id, holder, "0", ms(handTTL), "")
	h.inner("SET", leaseKey(id), holder, "NX", "PX", ms(handTTL))
	h.inner("HSET", stateKey(id), "version", text(token))
}

func (h *hand) renew(id, holder string, token int64) { h.renewBusy(id, holder, token, 0) }

// renewBusy renews, and says how long the poll in flight may still last.
func (h *hand) renewBusy(id, holder string, token int64, left time.Duration) {
	h.run("renew", id, "0", holder, text(token), ms(handTTL), "", ms(left))
	h.inner("PEXPIRE", leaseKey(id), ms(handTTL))
}

// refuse lets Redis refuse a renewal.
func (h *hand) refuse(id, holder string, token int64) {
	h.run("renew", id, "0", holder, text(token), ms(handTTL), "", "0")
	h.denied("PEXPIRE")
}

func (h *hand) release(id, holder string, token int64) {
	h.run("release", id, holder, text(token), "")
	h.inner("DEL", leaseKey(id))
}

// force is a release by somebody else.
func (h *hand) force(id, holder string, token int64) {
	h.run("release", id, holder, text(token), "forced")
	h.inner("DEL", leaseKey(id))
}

func (h *hand) begin(id, holder string, token, slot int64) {
	h.run("begin", id, holder, text(token), "10000", "5000")
	now := text(h.clock.UnixMilli())
	h.inner("HSET", stateKey(id), "last", now, "slot", text(slot), "due", text(slot+10_000), "interval", "10000",
		"busy", text(token), "busy_max", now, "busy_until", now)
}

func (h *hand) finish(id, holder string, token int64, started time.Time, due int64) {
	at := text(started.UnixMilli())
	h.run("finish", id, holder, text(token), "1000000", text(due), "", "0", "1", "success", "", "200", "1000", "0", at)
	h.inner("HDEL", stateKey(id), "busy", "busy_until", "busy_max")
	h.inner("HSET", stateKey(id), "due", text(due))
	h.inner("HSET", stateKey(id), "failures", "0", "ok", "1", "started", at)
	h.inner("XADD", stream, "MAXLEN", "~", "10", "*", "session", id, "token", text(token), "event", `{"data":{"holder":"`+holder+`"}}`)
}

func (h *hand) poll(id, holder string, token int64) *nodetest.Poll {
	p := &nodetest.Poll{Session: id, Instance: holder, Token: lease.Token(token), Start: h.clock}
	h.Began(p)
	return p
}

func (h *hand) end(p *nodetest.Poll) {
	p.Over, p.OK = h.clock, true
	h.Over(p)
}

// whole does one poll from begin to finish, which takes a second.
func (h *hand) whole(id, holder string, token, slot int64) {
	h.begin(id, holder, token, slot)
	at := h.clock
	p := h.poll(id, holder, token)
	h.pass(time.Second)
	h.end(p)
	h.finish(id, holder, token, at, slot+10_000)
}

func shaOf(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}
