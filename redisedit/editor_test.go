package redisedit_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/redisedit"
	"leasehold/rediskey"
	"leasehold/session"
)

const timeout = 5 * time.Second

var errNo = errors.New("no")

// bench is an editor on a server of its own.
type bench struct {
	*redisedit.Editor

	t      *testing.T
	server *redistest.Server
	redis  *redis.Client
}

func newBench(t *testing.T, timeout time.Duration) *bench {
	t.Helper()
	t.Parallel()
	server := redistest.StartServer(t)
	client := server.Client()
	t.Cleanup(func() { _ = client.Close() })
	return &bench{Editor: redisedit.New(client, rediskey.Default(), timeout), t: t, server: server, redis: client}
}

func (b *bench) set(key, value string, ttl time.Duration) {
	b.t.Helper()
	if err := b.redis.Set(b.t.Context(), key, value, ttl).Err(); err != nil {
		b.t.Fatal(err)
	}
}

// has compares a string in Redis; empty: there is none.
func (b *bench) has(key, want string) {
	b.t.Helper()
	got, err := b.redis.Get(b.t.Context(), key).Result()
	if err != nil && !errors.Is(err, redis.Nil) || got != want {
		b.t.Errorf("%s is %q (%v), want %q", key, got, err, want)
	}
}

func docs(pairs ...string) []session.Document {
	var all []session.Document
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, session.Document{ID: pairs[i], Raw: []byte(pairs[i+1])})
	}
	return all
}

// are compares the errors of many.
func are(t *testing.T, got []error, want ...error) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range got {
		if want[i] == nil && got[i] != nil || !errors.Is(got[i], want[i]) {
			t.Errorf("%d: %v, want %v", i, got[i], want[i])
		}
	}
}

func TestPutWritesWhatIsNotThere(t *testing.T) {
	b := newBench(t, timeout)
	b.set("session:there", "mine", 0)
	b.set("session:same", "4", 0)
	put := docs("new", "1", "there", "2", "a b:{c}", "3", "same", "4")
	are(t, b.Put(t.Context(), put, false), nil, redisedit.ErrThere, nil, nil)
	b.has("session:new", "1")
	b.has("session:there", "mine")
	b.has("session:a b:{c}", "3")
	are(t, b.Put(t.Context(), docs("there", "2", "other", "4"), true), nil, nil)
	b.has("session:there", "2")
	if n := b.redis.DBSize(t.Context()).Val(); n != 5 {
		t.Errorf("%d keys", n)
	}
}

func TestRemoveRemovesDocumentsAlone(t *testing.T) {
	b := newBench(t, timeout)
	b.set("session:a", "1", 0)
	b.set("poll:lease:a", "n", 0)
	are(t, b.Remove(t.Context(), []string{"a", "b", "a"}), nil, redisedit.ErrMissing, redisedit.ErrMissing)
	b.has("session:a", "")
	b.has("poll:lease:a", "n")
}

func TestAnEditChangesWhatItReadAndKeepsItsExpiry(t *testing.T) {
	b := newBench(t, timeout)
	b.set("session:a", "old", time.Hour)
	written, err := b.Edit(t.Context(), "a", func(raw []byte) ([]byte, error) { return append(raw, "+new"...), nil })
	if !written || err != nil {
		t.Errorf("written %t, %v", written, err)
	}
	b.has("session:a", "old+new")
	if ttl := b.redis.TTL(t.Context(), "session:a").Val(); ttl <= 59*time.Minute || ttl > time.Hour {
		t.Errorf("it lives for %s", ttl)
	}
}

func TestAnEditThatChangesNothingWritesNothing(t *testing.T) {
	b := newBench(t, timeout)
	b.set("session:a", "same", 0)
	if written, err := b.Edit(t.Context(), "a", func(raw []byte) ([]byte, error) { return raw, nil }); written || err != nil {
		t.Errorf("written %t, %v", written, err)
	}
	if written, err := b.Edit(t.Context(), "a", func([]byte) ([]byte, error) { return []byte("other"), errNo }); written || !errors.Is(err, errNo) {
		t.Errorf("written %t, %v", written, err)
	}
	b.has("session:a", "same")
	if written, err := b.Edit(t.Context(), "b", func([]byte) ([]byte, error) { t.Error("it is asked"); return nil, nil }); written || !errors.Is(err, redisedit.ErrMissing) {
		t.Errorf("written %t, %v", written, err)
	}
	b.has("session:b", "")
}

// What somebody else wrote between the look and the write is never lost: the edit is
// made again, of that.
func TestAnEditIsMadeAgainWhenSomebodyElseWasFaster(t *testing.T) {
	b := newBench(t, timeout)
	b.set("session:a", "0", 0)
	var seen []string
	written, err := b.Edit(t.Context(), "a", func(raw []byte) ([]byte, error) {
		seen = append(seen, string(raw))
		if len(seen) < 3 {
			b.set("session:a", strconv.Itoa(len(seen)), 0)
		}
		return append(raw, "+"...), nil
	})
	if !written || err != nil || strings.Join(seen, " ") != "0 1 2" {
		t.Errorf("written %t, %v, seen %q", written, err, seen)
	}
	b.has("session:a", "2+")

	written, err = b.Edit(t.Context(), "a", func(raw []byte) ([]byte, error) {
		b.redis.Del(b.t.Context(), "session:a")
		return append(raw, "+"...), nil
	})
	if written || !errors.Is(err, redisedit.ErrMissing) {
		t.Errorf("of one that went meanwhile: written %t, %v", written, err)
	}
	b.has("session:a", "")
}

func TestAnEditGivesUpWhenOthersWriteAllTheTime(t *testing.T) {
	b := newBench(t, 200*time.Millisecond)
	b.set("session:a", "0", 0)
	tries := 0
	written, err := b.Edit(t.Context(), "a", func(raw []byte) ([]byte, error) {
		tries++
		b.set("session:a", strconv.Itoa(tries), 0)
		return append(raw, "+"...), nil
	})
	if written || !errors.Is(err, redisedit.ErrBusy) || tries < 2 {
		t.Errorf("written %t, %v after %d tries", written, err, tries)
	}
	b.has("session:a", strconv.Itoa(tries))
}

func TestKeysOfAnotherTypeAreNotTouched(t *testing.T) {
	b := newBench(t, timeout)
	list := func() { b.redis.RPush(t.Context(), "session:list", "x") }
	list()
	change := func(raw []byte) ([]byte, error) { return append(raw, "+"...), nil }
	if written, err := b.Edit(t.Context(), "list", change); written || !errors.Is(err, lease.ErrForeign) || !strings.Contains(err.Error(), "session:list") {
		t.Errorf("written %t, %v", written, err)
	}
	b.set("session:late", "0", 0)
	written, err := b.Edit(t.Context(), "late", func(raw []byte) ([]byte, error) {
		b.redis.Del(b.t.Context(), "session:late")
		b.redis.RPush(b.t.Context(), "session:late", "x")
		return append(raw, "+"...), nil
	})
	if written || !errors.Is(err, lease.ErrForeign) {
		t.Errorf("one that became a list meanwhile: written %t, %v", written, err)
	}
	for _, key := range []string{"session:list", "session:late"} {
		if got := b.redis.LRange(t.Context(), key, 0, -1).Val(); len(got) != 1 || got[0] != "x" {
			t.Errorf("%s is %q", key, got)
		}
	}
}

// A Redis that does not answer costs the timeout, and what became of a document is said to
// be unknown for each.
func TestARedisThatHangsCostsTheTimeout(t *testing.T) {
	b := newBench(t, 300*time.Millisecond)
	b.set("session:a", "0", 0)
	b.server.Pause()
	defer b.server.Continue()
	for what, do := range map[string]func(context.Context) []error{
		"put":    func(ctx context.Context) []error { return b.Put(ctx, docs("a", "1", "b", "2"), true) },
		"remove": func(ctx context.Context) []error { return b.Remove(ctx, []string{"a", "b"}) },
		"edit": func(ctx context.Context) []error {
			_, err := b.Edit(ctx, "a", func(raw []byte) ([]byte, error) { return append(raw, "+"...), nil })
			return []error{err}
		},
	} {
		began := time.Now()
		for _, err := range do(t.Context()) {
			if err == nil || errors.Is(err, redisedit.ErrMissing) || errors.Is(err, redisedit.ErrThere) || errors.Is(err, redisedit.ErrBusy) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s took %s", what, took)
		}
	}
}
