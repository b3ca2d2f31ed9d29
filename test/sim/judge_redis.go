package sim

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"leasehold/internal/nodetest"
	"leasehold/rediskey"
	"leasehold/results"
)

// stream is where the results go.
const stream = "poll:results"

// keyName is a parsed key.
type keyName struct {
	kind rediskey.Kind
	id   string
	of   *ledger // of leases and states
}

// script is a call of a script.
type script struct {
	name       string
	keys, args []string
}

// caller is who calls a script for a lease, and with which token.
type caller struct {
	holder, token string
	// busy is how long its poll in flight may still last, in ms, of a renewal.
	busy string
}

// forced reports whether somebody else than its holder has a lease released.
func (s script) forced(key string) bool {
	for i := 0; 2*i < len(s.keys); i++ {
		if s.keys[2*i] == key && s.name == "release" && 3*i+2 < len(s.args) && s.args[3*i+2] == "forced" {
			return true
		}
	}
	return false
}

// callers returns all that a script is called by for a lease key: it may be in one
// call with two tokens.
func (s script) callers(key string) []caller {
	var all []caller
	for i := 0; i < len(s.keys); i += 2 { // a lease key and a state key each
		if s.keys[i] == key {
			all = append(all, s.caller(i/2))
		}
	}
	return all
}

// caller returns who calls for the lease i.
func (s script) caller(i int) caller {
	at := func(i int) string {
		if i < len(s.args) {
			return s.args[i]
		}
		return ""
	}
	switch s.name {
	case "acquire":
		return caller{holder: at(0)}
	case "begin", "finish":
		return caller{holder: at(0), token: at(1)}
	case "renew":
		return caller{at(5*i + 1), at(5*i + 2), at(5*i + 5)}
	case "release":
		return caller{holder: at(3 * i), token: at(3*i + 1)}
	default:
		return caller{}
	}
}

// command sees a command before it takes effect. It is a hook of the server.
func (j *judge) command(c *server.Peer, cmd string, args ...string) bool {
	switch cmd {
	case "PTTL":
		if len(args) != 1 || args[0] != j.keys.Loss() || j.inScript(c) {
			return false
		}
	case "GET", "HMGET", "TIME", "HGET", "EXISTS", "TYPE", "PING", "PUBLISH", "SCAN", "MGET", "TTL", "GETRANGE":
		return false // what most commands are
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.alarm()
	switch {
	case c.ClientName == nodetest.OwnClient:
		j.outside(cmd, args)
	case j.inScript(c):
		j.fromScript(cmd, args)
	default:
		j.fromNode(cmd, args)
	}
	return false
}

func (j *judge) parse(key string) keyName {
	if n, ok := j.named[key]; ok {
		return n
	}
	n := keyName{kind: rediskey.Foreign}
	n.kind, n.id = j.keys.Parse(key)
	if n.kind == rediskey.Lease || n.kind == rediskey.State {
		n.of = j.ledger(n.id)
	}
	j.named[key] = n
	return n
}

// outside sees what the engine does by its own client.
func (j *judge) outside(cmd string, args []string) {
	switch cmd {
	case "FLUSHALL", "FLUSHDB":
		j.flushed = j.now()
		j.forget()
	case "DEL", "UNLINK", "PEXPIRE", "PERSIST", "SET", "RPUSH", "HSET", "HDEL", "HINCRBY", "RENAME":
		for _, key := range args {
			n := j.parse(key)
			if n.of == nil {
				continue
			}
			n.of.meddle = j.now()
			j.saw(n.of, "the engine's "+cmd+" of its "+n.kind.String(), "", 0)
			if n.kind == rediskey.State {
				n.of.known, n.of.erased = false, j.now()
				n.of.wish = wish{} // may have gone, or not
			}
		}
	}
}

// forget books that all data is gone, or another's.
func (j *judge) forget() {
	j.meddled = j.now()
	j.emptied = append(j.emptied, j.now())
	j.losses.ends = time.Time{}
	for _, l := range j.sessions {
		l.known, l.wish = false, wish{}
		j.saw(l, "all data was changed", "", 0)
	}
}

// reloaded books that another server took the place of this one, with the same data.
func (j *judge) reloaded() {
	for _, l := range j.sessions {
		j.saw(l, "another server has the same data", "", 0)
	}
}

// allowed are the commands that a node sends outside of scripts, besides those that
// write its heartbeat.
var allowed = map[string]bool{
	"EVALSHA": true, "SCRIPT": true, "INFO": true, "CONFIG": true, "HELLO": true, "CLIENT": true,
	"SUBSCRIBE": true, "PSUBSCRIBE": true, "UNSUBSCRIBE": true, "PUNSUBSCRIBE": true, "SELECT": true,
}

// fromNode sees what a node sends.
func (j *judge) fromNode(cmd string, args []string) {
	switch {
	case cmd == "EVALSHA":
		j.call(args)
	case cmd == "SCRIPT" && len(args) == 2 && strings.EqualFold(args[0], "LOAD"):
		j.loaded(args[1])
	case allowed[cmd]:
	case cmd == "PTTL":
		j.losses.asked(j.now())
	case (cmd == "SET" || cmd == "DEL") && len(args) > 0:
		n := j.parse(args[0])
		if cmd == "DEL" && (n.kind == rediskey.Card || n.kind == rediskey.Cordon) {
			return // a node that leaves
		}
		if n.kind != rediskey.Node || (cmd == "DEL" && len(args) > 1) {
			j.convict(nil, "foreign", "a node sent %s %q", cmd, args)
		}
	default:
		j.convict(nil, "foreign", "a node sent %s %q", cmd, args)
	}
}

var scriptName = regexp.MustCompile(`(?m)^-- (acquire|renew|release|begin|finish|ask) `)

func (j *judge) loaded(text string) {
	sum := sha1.Sum([]byte(text))
	if m := scriptName.FindStringSubmatch(text); m != nil {
		j.scripts[hex.EncodeToString(sum[:])] = m[1]
	}
}

// call notes which script runs: what it does follows.
func (j *judge) call(args []string) {
	j.running = script{}
	if len(args) < 2 {
		return
	}
	if n, err := strconv.Atoi(args[1]); err == nil && len(args) >= 2+n {
		j.running = script{name: j.scripts[args[0]], keys: args[2 : 2+n], args: args[2+n:]}
		if j.running.name == "acquire" {
			j.losses.claims(j.running.caller(0).holder, j.now())
		}
	}
}

// fromScript sees what a script does.
func (j *judge) fromScript(cmd string, args []string) {
	if len(args) == 0 {
		return
	}
	if args[0] == stream && cmd == "XADD" {
		j.resulted(result(args))
		return
	}
	n := j.parse(args[0])
	l := n.of
	switch {
	case n.kind == rediskey.Loss && cmd == "SET" && len(args) == 4:
		j.losses.noted(j.now(), args[3])
	case l == nil:
		j.convict(nil, "foreign", "a script sent %s %q", cmd, args)
	case n.kind == rediskey.Lease && cmd == "SET" && len(args) == 5:
		j.acquired(l, args[1], args[4])
	case n.kind == rediskey.Lease && cmd == "PEXPIRE" && len(args) == 2:
		j.renewed(l, args[0], args[1])
	case n.kind == rediskey.Lease && cmd == "DEL" && len(args) == 1:
		j.released(l, args[0])
	case n.kind == rediskey.State:
		j.state(l, cmd, args[1:])
	default:
		j.convict(l, "foreign", "a script sent %s %q", cmd, args)
	}
}

// state sees a change of a state hash.
func (j *judge) state(l *ledger, cmd string, args []string) {
	j.kept(l, cmd, args)
	switch {
	case cmd == "HINCRBY" && len(args) == 2 && args[0] == "version":
		j.raised(l, args[1])
	case cmd == "HSET" && args[0] == "version" && (len(args) == 2 || len(args) == 4 && args[2] == "since"):
		j.renumbered(l, args[1])
	case cmd == "HSET" && len(args) > 2 && args[0] == "last":
		j.began(l, fields(args))
	case cmd == "HSET" && len(args) == 2 && args[0] == "last" && j.running.name == "finish": // lost, and told again
	case cmd == "HSET" && len(args) > 2 && args[0] == "failures":
		j.finished(l, fields(args))
	case cmd == "HSET" && args[0] == "due":
		l.start.due(args[1], j.running.name == "finish")
		l.plan.set(args[1], j.running.name == "finish", j.now())
	case cmd == "HSET" && len(args) == 2 && args[0] == "asked":
		j.asked(l, args[1])
	case cmd == "HDEL" && len(args) == 1 && args[0] == "asked":
		j.taken(l)
	case cmd == "HSET" && (args[0] == "busy_until" || args[0] == "retry_at" || args[0] == "since" || args[0] == "plan"), cmd == "HDEL", cmd == "PEXPIRE":
	case cmd == "DEL":
		l.known, l.start.open = false, false
		l.plan, l.wish = plan{}, wish{}
	default:
		j.convict(l, "foreign", "a script sent %s %q to the state", cmd, args)
	}
}

// fields reads names and values, from the end.
func fields(args []string) map[string]string {
	m := make(map[string]string, len(args)/2)
	for i := len(args) - 2; i >= 0; i -= 2 {
		m[args[i]] = args[i+1]
	}
	return m
}

// result returns what the judge wants to know of an entry of the stream.
func result(args []string) (session, token, holder string) {
	f := fields(args)
	var e results.Event
	_ = json.Unmarshal([]byte(f["event"]), &e) // what is no event has no holder
	return f["session"], f["token"], e.Data.Holder
}

func millis(text string) time.Duration {
	n, _ := strconv.ParseInt(text, 10, 64)
	return time.Duration(n) * time.Millisecond
}
