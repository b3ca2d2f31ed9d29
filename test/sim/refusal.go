package sim

import (
	"math/rand/v2"
	"slices"

	"github.com/alicebob/miniredis/v2/server"

	"leasehold/internal/nodetest"
)

// refusal is an error that a server gives, and the commands to which it does.
type refusal struct {
	text string
	// inner says that a script is let in and its commands are refused.
	inner func(cmd string) bool
	outer func(cmd string) bool
	// written lets a script go on that has written already: it can't be undone.
	written bool
}

// Commands by what a server checks before it runs them.
var (
	growing   = []string{"SET", "HSET", "HINCRBY", "XADD", "APPEND", "RPUSH"}
	shrinking = []string{"DEL", "UNLINK", "PEXPIRE", "EXPIRE", "PERSIST", "HDEL"}
	// whileLoading is what a server answers before it has its data.
	whileLoading = []string{
		"INFO", "CONFIG", "SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "PUBLISH",
		"HELLO", "CLIENT", "SELECT", "SCRIPT",
	}
	// mayBeDenied are those that users of a server may not be allowed.
	mayBeDenied = []string{"EVALSHA", "SET", "SCAN", "MGET", "CONFIG", "INFO", "PUBLISH", "SUBSCRIBE", "DEL", "EXISTS", "PTTL", "GETRANGE", "PEXPIRE"}
)

func in(lists ...[]string) func(string) bool {
	all := slices.Concat(lists...)
	return func(cmd string) bool { return slices.Contains(all, cmd) }
}

func none(string) bool { return false }

// changes says whether a command may change data.
func changes(cmd string) bool {
	return slices.Contains(growing, cmd) || slices.Contains(shrinking, cmd)
}

// refusalOf says what a server in that state refuses.
func refusalOf(f Fault) refusal {
	switch f.Text {
	case "OOM":
		return refusal{"OOM command not allowed when used memory > 'maxmemory'.", in(growing), in(growing), true}
	case "MISCONF":
		text := "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."
		return refusal{text, in(growing, shrinking), in(growing, shrinking, []string{"PING"}), true}
	case "READONLY":
		outer := in(growing, shrinking)
		if f.Count == 0 { // as the code of a script's error, which miniredis drops
			outer = in(growing, shrinking, []string{"EVALSHA"})
		}
		return refusal{"READONLY You can't write against a read only replica.", in(growing, shrinking), outer, true}
	case "BUSY":
		all := func(string) bool { return true }
		return refusal{"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", none, all, false}
	case "LOADING":
		early := in(whileLoading)
		return refusal{"LOADING Redis is loading the dataset in memory", none, func(cmd string) bool { return !early(cmd) }, false}
	default:
		denied := in([]string{mayBeDenied[f.Count]})
		return refusal{"NOPERM this user has no permissions to run this command", denied, denied, false}
	}
}

func refusals(rnd *rand.Rand, _ Timings, f *Fault) {
	f.Text = []string{"OOM", "MISCONF", "BUSY", "LOADING", "READONLY", "NOPERM"}[rnd.IntN(6)]
	switch f.Text {
	case "READONLY":
		f.Count = rnd.IntN(2)
	case "NOPERM":
		last := len(mayBeDenied) - 1 // refuses renewals alone: often
		f.Count = min(last, rnd.IntN(3*last/2))
	}
}

// refuse lets the server refuse what nodes ask.
func refuse(w *world, f Fault) (string, func()) {
	r := refusalOf(f)
	w.refusing.Store(&r)
	return "redis", func() { w.refusing.CompareAndSwap(&r, nil) }
}

// refuses is a hook of the server: it answers what is refused. The server carries
// out one command at a time.
func (w *world) refuses(c *server.Peer, cmd string, _ ...string) bool {
	r := w.refusing.Load()
	if r == nil || c.ClientName == nodetest.OwnClient {
		return false
	}
	refused := r.outer
	if w.fleet.Mini.InScript(c) {
		refused = r.inner
		if r.written && w.wrote { // it can't be undone, so it may go on
			return false
		}
	} else {
		w.wrote = false
	}
	if refused(cmd) {
		if w.refused != nil {
			w.refused(cmd)
		}
		c.WriteError(r.text)
		return true
	}
	w.wrote = w.wrote || changes(cmd)
	return false
}
