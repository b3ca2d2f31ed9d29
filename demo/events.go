package demo

import (
	"context"
	"fmt"
	"time"
)

// take acts on what happened to a node.
func (f *fleet) take(ctx context.Context, r report) {
	switch {
	case r.started:
		r.of.pid = r.of.command.Process.Pid
	case r.ended:
		f.ended(r.of, r.err)
	default:
		f.line(ctx, r.of, r.line)
	}
}

// takeLast is take while the fleet is being stopped.
func (f *fleet) takeLast(r report) {
	switch {
	case r.started: // only just; it was not asked to stop yet
		r.of.pid = r.of.command.Process.Pid
		askToStop(r.of.command.Process)
	case r.ended:
		r.of.ended = true
		how, failed := ending(r.err)
		if failed || how != "exit status 0" && f.ready {
			f.say(fmt.Sprintf("%s (pid %d) ended: %s%s", r.of.name, r.of.pid, how, r.of.lastWords()))
		}
		if failed && f.ready {
			f.fail(r.of, how)
		}
	default:
		if _, ok := parseLine(r.line); !ok {
			r.of.said(r.line)
		}
	}
}

func (f *fleet) fail(p *process, how string) {
	if f.failure == nil {
		f.failure = fmt.Errorf("%s failed: %s%s", p.name, how, p.lastWords())
	}
}

// line acts on a line that a node wrote.
func (f *fleet) line(ctx context.Context, p *process, text []byte) {
	l, ok := parseLine(text)
	if !ok {
		p.said(text)
		return
	}
	if l.Event == "node.ready" {
		p.ready, p.instance, p.addr = true, l.Instance, l.HTTPAddr
	}
	if l.Event == "events.subscribed" && !f.redis.own {
		f.redis.noteFlags(ctx) // the node has set them by now
	}
	if l.Event == "member.expired" {
		f.expired(l.Member)
	}
	f.digest.feed(p.name, l, time.Now())
	if !f.ready && f.allReady() {
		f.begin()
	}
}

func (f *fleet) allReady() bool {
	for _, p := range f.nodes {
		if !p.ready || p.ended {
			return false
		}
	}
	return true
}

// begin tells where everything is, and what happened meanwhile.
func (f *fleet) begin() {
	f.ready, f.begun = true, time.Now()
	f.places()
	f.tell(f.held...)
	f.held = nil
}

// ended acts on the end of a node that was not asked to by the demo.
func (f *fleet) ended(p *process, err error) {
	p.ended = true
	how, failed := ending(err)
	if !f.ready {
		f.fail(p, how)
		return
	}
	waiting := 0
	if !p.frozen {
		waiting = f.polls.await(p.name, p.instance, "its end", f.target.Now())
	}
	text := fmt.Sprintf("%s (pid %d) ended: %s", p.name, p.pid, how)
	if failed {
		f.fail(p, how)
		text += p.lastWords()
	}
	if err == nil { // in its place after what it said
		f.digest.note(text, time.Now())
		return
	}
	if waiting > 0 {
		text += fmt.Sprintf("; its %s run out within %s", plural(waiting, "lease"), whole(ttl))
	}
	f.say(text)
}

// expired acts on a node whose heartbeat ran out while its process is there.
func (f *fleet) expired(instance string) {
	for _, p := range f.nodes {
		if p.instance == instance && !p.ended && !p.frozen && f.ready {
			p.frozen = true
			f.polls.await(p.name, p.instance, "its heartbeat ran out", f.target.Now())
			f.digest.note(fmt.Sprintf("%s (pid %d) is there but gives no sign of life", p.name, p.pid), time.Now())
		}
	}
}

// tellOver tells whose sessions are polled again.
func (f *fleet) tellOver() {
	for _, w := range f.polls.over() {
		f.flush() // who took them over comes first
		f.resumed += w.sessions
		f.say(w.text(f.interval()))
	}
	for _, p := range f.nodes {
		p.frozen = p.frozen && f.digest.members[p.instance] == gone
	}
}

func (w wait) text(interval time.Duration) string {
	if w.gap < interval*3/2 {
		return fmt.Sprintf("%s of %s polled on by others, none was missed; longest gap between two polls: %s (interval %s)",
			plural(w.sessions, "session"), w.node, short(w.gap), whole(interval))
	}
	subject := fmt.Sprintf("all %d sessions of %s are", w.sessions, w.node)
	if w.sessions == 1 {
		subject = "the one session of " + w.node + " is"
	}
	return fmt.Sprintf("%s polled again, %s after %s; longest gap between two polls: %s (interval %s)",
		subject, short(w.latest-w.since), w.event, short(w.gap), whole(interval))
}
