package emulator

import (
	"strconv"
	"strings"
	"time"
)

// kind says what an operation does to the existence of its key.
type kind int

const (
	write    kind = iota // the key exists afterward
	remove               // the key is gone afterward; announced if it existed
	alter                // announced if the key exists, which does not change
	move                 // key goes to other, if key exists
	clone                // other becomes a copy of key, if key exists
	flushDB              // all keys of the database go, silently
	flushAll             // all keys go, silently
	unsure               // anything may have changed: compare all
)

// condition restricts a write, or the target of a move or clone.
type condition int

const (
	always condition = iota
	ifAbsent
	ifPresent
)

// op is what one command would announce about one key.
type op struct {
	kind  kind
	name  string
	key   string
	other string
	on    condition
	// timed says that an "expire" follows, since the command sets a TTL too.
	timed bool

	db int
	at time.Time
}

// opsOf translates a command, given in upper case. Commands that change no key, or
// are too short, give nothing.
func opsOf(cmd string, args []string) []op {
	switch cmd {
	case "FLUSHALL":
		return []op{{kind: flushAll}}
	case "FLUSHDB":
		return []op{{kind: flushDB}}
	case "SWAPDB", "MOVE", "EXEC":
		return []op{{kind: unsure}}
	}
	if len(args) == 0 {
		return nil
	}
	key := args[0]
	if name, ok := simpleWrite(cmd); ok {
		return []op{{kind: write, name: name, key: key}}
	}
	switch cmd {
	case "SET":
		return []op{setOp(key, args)}
	case "SETNX":
		return []op{{kind: write, name: "set", key: key, on: ifAbsent}}
	case "SETEX", "PSETEX":
		return []op{{kind: write, name: "set", key: key, timed: true}}
	case "MSET":
		return pairs(args, always)
	case "MSETNX":
		return pairs(args, ifAbsent)
	case "DEL", "UNLINK":
		return removals(args)
	case "GETDEL":
		return removals(args[:1])
	case "PERSIST":
		return []op{{kind: alter, name: "persist", key: key}}
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		return expireOps(cmd, args)
	case "GETEX":
		if len(args) > 2 {
			return []op{{kind: alter, name: "expire", key: key}}
		}
	case "RESTORE":
		return []op{{kind: write, name: "restore", key: key, on: unlessReplace(args)}}
	case "RENAME", "RENAMENX", "COPY":
		return twoKeys(cmd, args)
	}
	return nil
}

// simpleWrite names the event of commands that always create or change args[0].
func simpleWrite(cmd string) (name string, ok bool) {
	switch cmd {
	case "GETSET":
		return "set", true
	case "APPEND", "SETRANGE", "LPUSH", "RPUSH", "SADD", "ZADD", "XADD":
		return strings.ToLower(cmd), true
	case "INCR", "DECR", "INCRBY", "DECRBY":
		return "incrby", true
	case "INCRBYFLOAT", "HINCRBY", "HINCRBYFLOAT", "ZINCRBY":
		return strings.ToLower(cmd), true
	case "HSET", "HMSET", "HSETNX":
		return "hset", true
	default:
		return "", false
	}
}

func setOp(key string, args []string) op {
	o := op{kind: write, name: "set", key: key}
	for _, arg := range args[min(2, len(args)):] {
		switch strings.ToUpper(arg) {
		case "NX":
			o.on = ifAbsent
		case "XX":
			o.on = ifPresent
		case "EX", "PX", "EXAT", "PXAT":
			o.timed = true
		}
	}
	return o
}

func pairs(args []string, on condition) []op {
	var ops []op
	for i := 0; i < len(args); i += 2 {
		ops = append(ops, op{kind: write, name: "set", key: args[i], on: on})
	}
	return ops
}

func removals(keys []string) []op {
	ops := make([]op, len(keys))
	for i, key := range keys {
		ops[i] = op{kind: remove, name: "del", key: key}
	}
	return ops
}

// expireOps knows that a TTL of zero or less is a deletion. A point in the past is
// found by comparing.
func expireOps(cmd string, args []string) []op {
	if len(args) > 1 && !strings.HasSuffix(cmd, "AT") {
		if n, err := strconv.ParseInt(args[1], 10, 64); err == nil && n <= 0 {
			return removals(args[:1])
		}
	}
	return []op{{kind: alter, name: "expire", key: args[0]}}
}

func twoKeys(cmd string, args []string) []op {
	if len(args) < 2 {
		return nil
	}
	o := op{kind: move, key: args[0], other: args[1]}
	switch cmd {
	case "RENAMENX":
		o.on = ifAbsent
	case "COPY":
		o.kind, o.on = clone, unlessReplace(args)
	}
	return []op{o}
}

func unlessReplace(args []string) condition {
	for _, arg := range args[min(2, len(args)):] {
		if strings.EqualFold(arg, "REPLACE") {
			return always
		}
	}
	return ifAbsent
}

// classOf is the flag that covers an event's name.
func classOf(name string) string {
	switch name {
	case "del", "expire", "persist", "rename_from", "rename_to", "restore", "copy_to":
		return "g"
	case "expired":
		return "x"
	case "evicted":
		return "e"
	case "set", "append", "setrange", "incrby", "incrbyfloat":
		return "$"
	default:
		return map[byte]string{'h': "h", 'l': "l", 'r': "l", 's': "s", 'z': "z", 'x': "t"}[name[0]]
	}
}
