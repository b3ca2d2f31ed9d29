package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// atOnce is how many lines about one moment a person may read.
const atOnce = 12

func (f *fleet) print(text string) { fmt.Fprint(f.cfg.Out, text) }

// say prints a line with the time.
func (f *fleet) say(text string) {
	f.print(time.Now().Format("15:04:05") + "  " + text + "\n")
}

// tell says lines, or holds them until all nodes are ready.
func (f *fleet) tell(lines ...string) {
	if !f.ready {
		f.held = append(f.held, lines...)
		return
	}
	more := max(0, len(lines)-atOnce)
	for _, l := range lines[:len(lines)-more] {
		f.say(l)
	}
	if more > 0 {
		f.say(fmt.Sprintf("and %d more lines about this moment", more))
	}
}

// flush tells what has happened so far.
func (f *fleet) flush() { f.tell(f.digest.all()...) }

func (f *fleet) interval() time.Duration { return pollInterval(f.cfg.Sessions) }

// header says what is being started.
func (f *fleet) header() {
	where := f.redis.shown + "   embedded; look inside with any client: GET " + f.redis.keys.Lease(sessionID(1))
	if !f.redis.own {
		where = f.redis.shown + "   keys begin with " + strings.TrimSuffix(f.redis.keys.SessionPrefix, "session:") +
			" and are removed at the end"
	}
	f.print(fmt.Sprintf(`Leasehold demo: %s poll %s, each polled every %s by exactly one node.
A lease lives %s and is renewed every %s.

  Redis    %s
  target   http://%s/stats   answers the polls and records them
`, plural(f.cfg.Nodes, "node"), plural(f.cfg.Sessions, "session"), whole(f.interval()), whole(ttl), whole(renew),
		where, f.server.Addr()))
}

// places says where the nodes are, and what to try with them.
func (f *fleet) places() {
	for _, p := range f.nodes {
		f.print(fmt.Sprintf("  %-7s  http://%s/readyz   pid %d\n", p.name, p.addr, p.pid))
	}
	f.print("\n" + f.hints() + look(f.cfg.Program, f.redis) + "Ctrl-C ends the demo.\n\n")
}

// hints are what to try in another terminal.
func (f *fleet) hints() string {
	n := len(f.nodes)
	if n == 1 {
		return "One node has nobody to take over from it: try --nodes 3.\n"
	}
	first, second, last := f.nodes[0], f.nodes[1], f.nodes[n-1]
	return fmt.Sprintf(`Try, in another terminal:
  kill -9 %-8d %s dies; the others poll its sessions once its leases have run out
  kill %-11d %s hands its sessions over and ends; no poll is missed
  kill -STOP %-5d %s freezes; the others take over
  kill -CONT %-5d %s wakes up, polls nothing that it has lost, and gets its share back
`, second.pid, second.name, first.pid, first.name, last.pid, last.name, last.pid, last.name)
}

// status says how the fleet is. In a real outage of Redis only the target knows.
func (f *fleet) status(ctx context.Context) {
	stats := f.target.Stats()
	held, err := f.redis.holders(ctx, f.cfg.Sessions)
	if err != nil {
		f.say(fmt.Sprintf("%.1f polls/s · %v · duplicate polls: %d", stats.PerSecond, err, f.duplicates()))
		return
	}
	f.say(status(stats.PerSecond, f.cfg.Sessions, f.shares(held), f.duplicates()))
}

func (f *fleet) shares(held map[string]int) []share {
	var shares []share
	for _, p := range f.nodes {
		shares = append(shares, share{name: p.name, leases: held[p.instance], gone: p.ended})
	}
	return shares
}

// duplicates counts the polls that met another one of their session, and those of a
// node that had already been followed by another.
func (f *fleet) duplicates() int64 {
	s := f.target.Stats()
	return s.Overlaps + s.Stale
}

// verdict is an error if the fleet did what it must never do.
func (f *fleet) verdict() error {
	if n := f.duplicates(); n > 0 {
		return fmt.Errorf("%d duplicate polls", n)
	}
	return nil
}

// summary says what the demo has shown.
func (f *fleet) summary() {
	lines := []string{fmt.Sprintf("%s of %s in %s; duplicate polls: %d", plural(int(f.target.Stats().Polls), "poll"),
		plural(f.cfg.Sessions, "session"), short(time.Since(f.begun)), f.duplicates())}
	if f.resumed > 0 {
		lines = append(lines, plural(f.resumed, "session")+" of nodes that went away were polled again by others")
	}
	if t := f.digest.takeovers; len(t) > 0 {
		lines = append(lines, fmt.Sprintf("%s taken over from lost nodes, %s after the deadline at the median, %s at most",
			plural(len(t), "lease"), short(median(t)), short(slices.Max(t))))
	}
	lines = append(lines, fmt.Sprintf("longest gap between two polls of one session: %s (interval %s)",
		short(f.polls.longestGap()), whole(f.interval())))
	if !f.redis.own {
		lines = append(lines, "the demo's keys are being removed from Redis")
	}
	f.print("\nSummary\n  " + strings.Join(lines, "\n  ") + "\n")
}
