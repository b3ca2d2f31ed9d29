package redistest

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2/server"
)

// pubsub hands messages to subscribers at once, in the order in which they came:
// miniredis uses two goroutines for each of them, and regular expressions.
type pubsub struct {
	mu     sync.Mutex
	subs   []*subscriber
	byPeer map[*server.Peer]*subscriber
}

// subscriber is a connection in subscribed mode.
type subscriber struct {
	peer               *server.Peer
	channels, patterns []string
}

func (s *subscriber) count() int { return len(s.channels) + len(s.patterns) }

// hook carries the commands out. publish is miniredis' own, for subscribers that it
// may have besides. Connections that speak RESP3 are left to it.
func (p *pubsub) hook(c *server.Peer, cmd string, args []string, publish func(channel, message string) int) bool {
	switch cmd {
	case "SUBSCRIBE", "PSUBSCRIBE":
		if len(args) == 0 || c.Resp3 {
			return false
		}
		p.subscribe(c, cmd, args)
		return true
	case "UNSUBSCRIBE", "PUNSUBSCRIBE":
		return p.unsubscribe(c, cmd, args)
	case "PUBLISH":
		if len(args) != 2 {
			return false
		}
		n := p.publish(args[0], args[1])
		if nested(c) { // miniredis' lock is held
			return false
		}
		c.WriteInt(n + publish(args[0], args[1]))
		return true
	case "QUIT":
		return false
	}
	p.mu.Lock()
	_, subscribed := p.byPeer[c]
	p.mu.Unlock()
	if !subscribed {
		return false
	}
	if cmd == "PING" {
		c.WriteRaw(string(list("pong", strings.Join(args, " "))))
	} else {
		c.WriteError("ERR Can't execute '" + strings.ToLower(cmd) +
			"': only (P)SUBSCRIBE / (P)UNSUBSCRIBE / PING / QUIT are allowed in this context")
	}
	return true
}

func (p *pubsub) subscribe(c *server.Peer, cmd string, names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.byPeer[c]
	if !ok {
		s = &subscriber{peer: c}
		p.byPeer[c] = s
		p.subs = append(p.subs, s)
	}
	have := &s.channels
	if cmd == "PSUBSCRIBE" {
		have = &s.patterns
	}
	for _, name := range names {
		if !slices.Contains(*have, name) {
			*have = append(*have, name)
		}
		c.WriteRaw(confirmation(cmd, name, s.count()))
	}
}

func (p *pubsub) unsubscribe(c *server.Peer, cmd string, names []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.byPeer[c]
	if !ok {
		return false
	}
	have := &s.channels
	if cmd == "PUNSUBSCRIBE" {
		have = &s.patterns
	}
	if len(names) == 0 {
		names = slices.Clone(*have)
	}
	for _, name := range names {
		*have = slices.DeleteFunc(*have, func(n string) bool { return n == name })
		c.WriteRaw(confirmation(cmd, name, s.count()))
	}
	if len(names) == 0 {
		c.WriteRaw("*3\r\n$" + strconv.Itoa(len(cmd)) + "\r\n" + strings.ToLower(cmd) + "\r\n$-1\r\n:" +
			strconv.Itoa(s.count()) + "\r\n")
	}
	if s.count() == 0 {
		p.dropLocked(c)
	}
	return true
}

// drop forgets a connection that has gone, and reports whether it had subscribed.
func (p *pubsub) drop(c *server.Peer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.byPeer[c]
	p.dropLocked(c)
	return ok
}

func (p *pubsub) dropLocked(c *server.Peer) {
	delete(p.byPeer, c)
	p.subs = slices.DeleteFunc(p.subs, func(s *subscriber) bool { return s.peer == c })
}

// publish hands a message to all whom it concerns and counts them.
func (p *pubsub) publish(channel, message string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, s := range p.subs {
		heard := n
		if slices.Contains(s.channels, channel) {
			s.peer.WriteRaw(string(list("message", channel, message)))
			n++
		}
		for _, pattern := range s.patterns {
			if glob(pattern, channel) {
				s.peer.WriteRaw(string(list("pmessage", pattern, channel, message)))
				n++
			}
		}
		if n > heard {
			s.peer.Flush()
		}
	}
	return n
}

func confirmation(cmd, name string, count int) string {
	b := list(strings.ToLower(cmd), name)
	b[1] = '3'
	return string(b) + ":" + strconv.Itoa(count) + "\r\n"
}

// list is a list of at most nine strings as the protocol has it.
func list(values ...string) []byte {
	b := []byte{'*', byte('0' + len(values)), '\r', '\n'}
	for _, v := range values {
		b = append(b, '$')
		b = strconv.AppendInt(b, int64(len(v)), 10)
		b = append(b, "\r\n"...)
		b = append(b, v...)
		b = append(b, "\r\n"...)
	}
	return b
}

// glob reports whether a pattern of Redis' kind matches.
func glob(pattern, text string) bool {
	for pattern != "" {
		switch pattern[0] {
		case '*':
			if pattern = strings.TrimLeft(pattern, "*"); pattern == "" {
				return true
			}
			for i := range len(text) + 1 {
				if glob(pattern, text[i:]) {
					return true
				}
			}
			return false
		case '[':
			end := strings.IndexByte(pattern, ']')
			if end < 0 || text == "" || !inClass(pattern[1:end], text[0]) {
				return false
			}
			pattern, text = pattern[end+1:], text[1:]
			continue
		case '\\':
			if len(pattern) > 1 {
				pattern = pattern[1:]
			}
			if text == "" || text[0] != pattern[0] {
				return false
			}
		case '?':
			if text == "" {
				return false
			}
		default:
			if text == "" || text[0] != pattern[0] {
				return false
			}
		}
		pattern, text = pattern[1:], text[1:]
	}
	return text == ""
}

// inClass reports whether a class such as ^a-z has c.
func inClass(class string, c byte) bool {
	class, not := strings.CutPrefix(class, "^")
	found := false
	for i := 0; i < len(class); i++ {
		low, high := class[i], class[i]
		if i+2 < len(class) && class[i+1] == '-' {
			high = class[i+2]
			i += 2
		}
		found = found || low <= c && c <= high
	}
	return found != not
}
