package demo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// tell turns a burst into its lines.
func (d *digest) tell(b *burst) []string {
	switch b.kind {
	case "lease.acquired":
		return d.tellAcquired(b)
	case "lease.released":
		return []string{tellReleased(b)}
	case noted:
		return []string{b.detail}
	case "member.joined":
		slices.Sort(b.names)
		return []string{list(b.names, "node") + " joined the fleet"}
	case gone:
		return d.tellGone(b.names)
	case "node.draining":
		return []string{fmt.Sprintf("%s hands its sessions over (%s)", b.node, b.sample.Reason)}
	case "node.fenced":
		return []string{b.node + " finds itself cut off and polls nothing: " + b.sample.Reason}
	case "node.unfenced":
		return []string{fmt.Sprintf("%s is back in the fleet after %s", b.node, short(milliseconds(b.sample.Duration)))}
	case "lease.expired", "lease.lost":
		return []string{fmt.Sprintf("%s has lost %s and polls no more under %s", b.node, plural(b.count, "lease"), themOrIt(b.count))}
	case "poll.failed":
		return []string{fmt.Sprintf("%s of %s failed: %s", plural(b.count, "poll"), b.node, b.detail)}
	default:
		return []string{tellOther(b)}
	}
}

// tellGone tells nodes that left from those that did not live to do so.
func (d *digest) tellGone(names []string) []string {
	slices.Sort(names)
	var left, expired, lines []string
	for _, name := range names {
		if d.leaving[name] {
			left = append(left, name)
		} else {
			expired = append(expired, name)
		}
	}
	if len(left) > 0 {
		lines = append(lines, list(left, "node")+" left the fleet")
	}
	if len(expired) > 0 {
		lines = append(lines, "the heartbeat of "+list(expired, "node")+" has run out")
	}
	return lines
}

func themOrIt(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

func tellReleased(b *burst) string {
	what := fmt.Sprintf("%s gave back %s", b.node, plural(b.count, "session"))
	switch b.detail {
	case "": // of many, the single reasons are not known
		return what
	case "rebalance":
		return what + " for balance"
	case "shutdown":
		return what + " before its end"
	default:
		return what + " (" + b.detail + ")"
	}
}

// tellOther is for what the demo does not expect but a person should see.
func tellOther(b *burst) string {
	text := b.node + ": " + cmp.Or(b.sample.Message, b.kind)
	if why := cmp.Or(b.sample.Error, b.sample.Reason); why != "" {
		text += ": " + why
	}
	if b.count > 1 {
		text += fmt.Sprintf(" (%d times)", b.count)
	}
	return text
}

// source is where leases of one burst came from.
type source struct {
	node   string // empty: nobody had them
	reason string // why they were given back; empty: they ran out
}

// tellAcquired says where leases came from. The line about a release may be read
// later than that about the next acquisition, so only the end of the burst knows.
func (d *digest) tellAcquired(b *burst) []string {
	groups := map[source][]taken{}
	for _, t := range b.taken {
		from := source{node: t.before.node}
		if f, ok := d.freed[t.session]; ok && from.node != "" && f.version == t.version-1 {
			from.reason = f.reason
		}
		groups[from] = append(groups[from], t)
	}
	var lines []string
	if b.count > 0 { // single lines were held back: whose the sessions were is not known
		lines = append(lines, fmt.Sprintf("%s took %s", b.node, plural(b.count+len(b.taken), "session")))
		clear(groups)
	}
	order := slices.SortedFunc(maps.Keys(groups), func(a, b source) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.reason, b.reason))
	})
	for _, from := range order {
		lines = append(lines, d.tellTaken(b.node, from, groups[from]))
	}
	return lines
}

func (d *digest) tellTaken(node string, from source, all []taken) string {
	sessions := plural(len(all), "session")
	var late []time.Duration
	for _, t := range all {
		if t.takeover >= 0 {
			late = append(late, t.takeover)
		}
	}
	after := func(what string) string {
		if len(late) == 0 {
			return ""
		}
		return fmt.Sprintf(", %s after %s at the median", short(median(late)), what)
	}
	switch {
	case from.node == "":
		return fmt.Sprintf("%s took %s", node, sessions)
	case from.reason != "":
		return fmt.Sprintf("%s took %s from %s", node, sessions, from.node) + after("each was given back")
	default:
		d.takeovers = append(d.takeovers, late...)
		return fmt.Sprintf("%s took over %s of %s", node, sessions, from.node) + after("the deadline")
	}
}
