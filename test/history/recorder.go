package history

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"leasehold/internal/wiretest"
	"leasehold/rediskey"
)

// Scripts tells the lease scripts by their hashes.
type Scripts map[string]string

// ReadScripts reads the scripts of a folder as the store sends them: each behind the
// prelude.
func ReadScripts(dir string) (Scripts, error) {
	prelude, err := os.ReadFile(filepath.Join(dir, "prelude", "foreign.lua"))
	if err != nil {
		return nil, err
	}
	scripts := Scripts{}
	for _, name := range []string{"acquire", "renew", "release", "begin", "finish"} {
		source, err := os.ReadFile(filepath.Join(dir, name+".lua"))
		if err != nil {
			return nil, err
		}
		sum := sha1.Sum(slices.Concat(prelude, source))
		scripts[hex.EncodeToString(sum[:])] = name
	}

	return scripts, nil
}

// Recorder turns what passes on wires into a history. Its methods may be called from
// any goroutine.
type Recorder struct {
	scripts Scripts
	keys    rediskey.Keys
	begun   time.Time

	mu      sync.Mutex
	entries []Entry
	errs    []error
	ids     map[string]bool
}

// NewRecorder makes a recorder for a fleet with these keys.
func NewRecorder(scripts Scripts, keys rediskey.Keys) *Recorder {
	return &Recorder{scripts: scripts, keys: keys, begun: time.Now(), ids: map[string]bool{}}
}

// Tap records what one client does: see [wiretest.Start].
func (r *Recorder) Tap(client int) func(wiretest.Exchange) {
	return func(e wiretest.Exchange) {
		if len(e.Args) < 3 || !strings.EqualFold(e.Args[0], "evalsha") {
			return
		}
		if name, ok := r.scripts[e.Args[1]]; ok {
			r.script(client, name, e)
		}
	}
}

// Wiped notes that Redis lost all data in this stretch of time.
func (r *Recorder) Wiped(from, to time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.ids {
		r.add(clientOf, Op{Kind: Wipe, Session: id, Call: r.stamp(from), Return: r.stamp(to)}, Answer{Known: true, Done: true})
	}
}

// History returns what was recorded so far, and what was not understood.
func (r *Recorder) History() ([]Entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	return slices.Clone(r.entries), errors.Join(r.errs...)
}

// stamp is the wall clock at the recorder's beginning and the monotonic one since: no
// step of the clock brings operations into disorder.
func (r *Recorder) stamp(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}

	return r.begun.UnixNano() + int64(at.Sub(r.begun))
}

func (r *Recorder) add(client int, op Op, a Answer) {
	op.ID = len(r.entries) + 1
	r.ids[op.Session] = true
	r.entries = append(r.entries, Entry{Client: client, Op: op, Answer: a})
}

// script records one run of a script. One that the server did not know did nothing.
func (r *Recorder) script(client int, name string, e wiretest.Exchange) {
	failed, isError := e.Reply.(wiretest.ReplyError)
	if isError && strings.HasPrefix(string(failed), "NOSCRIPT") {
		return
	}
	if isError {
		e.Known = false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.read(client, name, e); err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s %.300q answered %.300v: %w", name, e.Args, e.Reply, err))
	}
}

var errForm = errors.New("not understood")

// read takes an EVALSHA apart: one operation for each lease that it names.
func (r *Recorder) read(client int, name string, e wiretest.Exchange) error {
	n, err := strconv.Atoi(e.Args[2])
	if err != nil || len(e.Args) < 3+n || n < 2 {
		return cmp.Or(err, errForm)
	}
	keys, args := e.Args[3:3+n], e.Args[3+n:]
	if name == "begin" || name == "finish" {
		return r.poll(client, keys, args, e)
	}
	var replies []any
	if e.Known {
		list, ok := e.Reply.([]any)
		if name == "acquire" {
			list = rows(list)
		}
		if !ok || len(list) != n/2 {
			return errForm
		}
		replies = list
	}
	for i := range n / 2 {
		op, err := r.operation(name, keys[2*i], args, i)
		if err != nil {
			return err
		}
		var a Answer
		if e.Known {
			if a, err = answer(op.Kind, replies[i]); err != nil {
				return err
			}
		}
		op.Call, op.Return = r.stamp(e.Call), r.stamp(e.Return)
		r.add(client, op, a)
	}

	return nil
}

// rows makes one reply a lease of what acquire answers, which is one after the other.
func rows(flat []any) []any {
	const fields = 5
	var all []any
	for row := range slices.Chunk(flat, fields) {
		all = append(all, row)
	}

	return all
}

// poll records a begin or finish. Both act for the holder of the token alone.
func (r *Recorder) poll(client int, keys, args []string, e wiretest.Exchange) error {
	op, err := r.named(Verify, keys[0], args[0], args[1])
	if err != nil {
		return err
	}
	var a Answer
	if e.Known {
		list, ok := e.Reply.([]any)
		if !ok || len(list) == 0 {
			return errForm
		}
		switch code, _ := list[0].(int64); code {
		case 1, 2:
			a = Answer{Known: true, Done: true}
		case 0:
			holder, _ := list[1].(string)
			a = Answer{Known: true, Holder: holder}
		default:
			return errForm
		}
	}
	op.Call, op.Return = r.stamp(e.Call), r.stamp(e.Return)
	r.add(client, op, a)

	return nil
}

// operation is what a batch asks for its lease i: see the headers of the scripts.
func (r *Recorder) operation(name, key string, args []string, i int) (Op, error) {
	at := func(n int) string {
		if n < len(args) {
			return args[n]
		}

		return ""
	}
	switch name {
	case "acquire":
		op, err := r.named(Acquire, key, at(0), "0")
		if op.TTL = millis(at(2 + 3*i)); err == nil && op.TTL <= 0 {
			err = errForm
		}

		return op, err
	case "renew":
		op, err := r.named(Renew, key, at(1+5*i), at(2+5*i))
		op.TTL = millis(at(3 + 5*i))

		return op, err
	default:
		op, err := r.named(Release, key, at(3*i), at(3*i+1))
		op.Forget = at(3*i+2) == "1"

		return op, err
	}
}

func (r *Recorder) named(kind Kind, key, holder, token string) (Op, error) {
	what, id := r.keys.Parse(key)
	n, err := strconv.ParseInt(token, 10, 64)
	if what != rediskey.Lease || holder == "" || err != nil {
		return Op{}, errForm
	}

	return Op{Kind: kind, Session: id, Holder: holder, Token: n}, nil
}

func millis(text string) time.Duration {
	n, _ := strconv.ParseInt(text, 10, 64)

	return time.Duration(n) * time.Millisecond
}

// answer reads what a batch answered for one lease.
func answer(kind Kind, reply any) (Answer, error) {
	a := Answer{Known: true}
	switch v := reply.(type) {
	case []any:
		if kind != Acquire || len(v) != 5 {
			return a, errForm
		}
		flags, _ := v[0].(int64)
		a.Done, a.Already, a.Fresh = flags&1 != 0, flags&2 != 0, flags&4 != 0
		a.Holder, _ = v[1].(string)
		var err error
		switch token := v[2].(type) {
		case int64:
			a.Token = token
		case string: // larger than what is exact in a script
			a.Token, err = strconv.ParseInt(token, 10, 64)
		default:
			err = errForm
		}
		if flags < 0 {
			err = errForm
		}

		return a, err
	case string:
		a.Holder = v

		return a, nil
	case int64:
		a.Done = v == 1
		if v < 0 || kind == Renew && v != 1 {
			return a, errForm
		}

		return a, nil
	}

	return a, errForm
}
