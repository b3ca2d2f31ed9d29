package emulator

import (
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// advance moves the server's clock on where it does not follow ours: with Tick after
// each step, with Lazy when a key runs out.
func (e *Emulator) advance(now time.Time) {
	switch {
	case e.options.Lazy:
		if at, ok := e.picture.next(); !ok || now.Before(at) {
			return
		}
	case e.options.Tick == 0 || now.Sub(e.clock(now)) < e.options.Tick:
		return
	}
	e.setClock(now)
}

// Advance moves a Lazy clock on to the present. Call it before the data's TTLs are
// read or set by direct calls.
func (e *Emulator) Advance() {
	if e.options.Lazy {
		e.setClock(time.Now())
	}
}

func (e *Emulator) setClock(now time.Time) {
	e.m.SetTime(now)
	e.mu.Lock()
	e.ticked = now
	e.mu.Unlock()
}

// clock is the time by which keys run out.
func (e *Emulator) clock(now time.Time) time.Time {
	if e.options.Tick == 0 {
		return now
	}
	return e.origin(now)
}

// origin is the moment from which the data's TTLs count.
func (e *Emulator) origin(now time.Time) time.Time {
	if e.options.Tick == 0 && !e.options.Lazy {
		return now
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ticked
}

// expect notes, after a step, until when no key runs out. What a pending command does
// is not known yet: then the bound is only lowered.
func (e *Emulator) expect() {
	if !e.options.Lazy {
		return
	}
	next, ok := e.picture.next()
	if !ok {
		next = time.Now().Add(e.options.Sweep)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if known := len(e.pending) == 0 && len(e.doubtful) == 0; known || next.Before(e.due) {
		e.due = next
	}
}

// keepTime has a command act at its time though the server's clock stands: what sets
// a TTL is given what the clock lags behind, what reads one is answered. It reports
// whether it answered.
func (e *Emulator) keepTime(c *server.Peer, cmd string, args []string) bool {
	now := time.Now()
	e.mu.Lock()
	overdue, lag := !now.Before(e.due), now.Sub(e.ticked)
	e.mu.Unlock()
	if overdue {
		e.setClock(now)
		lag = 0
	}
	switch {
	case timeless(cmd), cmd == "SET" && len(args) == 2:
	case cmd == "PTTL" && len(args) == 1:
		c.WriteInt(e.pttl(id{e.selectedDB(c), args[0]}, lag))
		return true
	case cmd == "TIME":
		at := e.tell(now).UnixMicro()
		c.Block(func(w *server.Writer) {
			w.WriteLen(2)
			w.WriteBulk(strconv.FormatInt(at/1e6, 10))
			w.WriteBulk(strconv.FormatInt(at%1e6, 10))
		})
		return true
	case cmd == "XADD" && stamp(args, now):
	case cmd == "PEXPIRE" && len(args) == 2 && e.lengthen(args, 1, now, lag):
	case cmd == "SET" && len(args) == 4 && strings.EqualFold(args[2], "PX") && e.lengthen(args, 3, now, lag):
	default:
		e.setClock(now)
		e.mu.Lock()
		e.due = now // until the next step knows what it did
		e.mu.Unlock()
	}
	return false
}

// tell returns the time that is told: no two commands of a real server run in the same
// microsecond, as they may in a bubble.
func (e *Emulator) tell(now time.Time) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	now = now.Truncate(time.Microsecond)
	if !now.After(e.told) {
		now = e.told.Add(time.Microsecond)
	}
	e.told = now
	return now
}

// lengthen adds the lag to the milliseconds in an argument, rounded up.
func (e *Emulator) lengthen(args []string, i int, now time.Time, lag time.Duration) bool {
	n, err := strconv.ParseInt(args[i], 10, 64)
	if err != nil || n <= 0 {
		return false
	}
	end := now.Add(time.Duration(n) * time.Millisecond)
	e.mu.Lock()
	if end.Before(e.due) {
		e.due = end
	}
	e.mu.Unlock()
	late := (lag + time.Millisecond - 1) / time.Millisecond
	args[i] = strconv.FormatInt(n+int64(late), 10)
	return true
}

// stamp puts the time into an ID that the server is to make up.
func stamp(args []string, now time.Time) bool {
	for i := 1; i < len(args); i++ {
		if args[i] == "*" {
			args[i] = strconv.FormatInt(now.UnixMilli(), 10) + "-*"
			return true
		}
	}
	return false
}

// pttl is the answer to PTTL.
func (e *Emulator) pttl(k id, lag time.Duration) int {
	db := e.m.DB(k.db)
	ttl := db.TTL(k.key)
	switch {
	case ttl > 0:
		return int((ttl - lag) / time.Millisecond)
	case db.Exists(k.key):
		return -1
	default:
		return -2
	}
}

// timeless are the commands that neither read nor set a time.
func timeless(cmd string) bool {
	switch cmd {
	case "GET", "MGET", "EXISTS", "TYPE", "SCAN", "KEYS", "STRLEN", "DEL", "UNLINK", "PERSIST", "SETNX",
		"HGET", "HMGET", "HGETALL", "HEXISTS", "HLEN", "HSET", "HDEL", "HINCRBY",
		"LPUSH", "RPUSH", "LRANGE", "LLEN", "XLEN", "XRANGE", "XREVRANGE",
		"EVAL", "EVALSHA", "SCRIPT", // what they do comes by itself
		"PUBLISH", "SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE",
		"PING", "ECHO", "HELLO", "AUTH", "SELECT", "CLIENT", "INFO", "CONFIG", "ROLE", "COMMAND":
		return true
	default:
		return false
	}
}
