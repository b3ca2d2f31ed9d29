package redisedit

import (
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/lease"
	"leasehold/rediskey"
	"leasehold/session"
)

//go:embed scripts/replace.lua
var replaceSource string

// Batch is the most documents that one call writes or removes: well within a timeout.
const Batch = 500

var (
	// ErrMissing says that there is no document.
	ErrMissing = errors.New("there is no such session")
	// ErrThere says that there is another document already.
	ErrThere = errors.New("there is such a session already")
	// ErrBusy says that others write the document all the time.
	ErrBusy = errors.New("the document changes too fast to be edited")
)

// Editor writes documents. Its methods may be called from any goroutine.
type Editor struct {
	client  redis.UniversalClient
	keys    rediskey.Keys
	timeout time.Duration
	replace *redis.Script
}

// New returns an editor over the client, which stays the caller's. Each command may
// take the timeout.
func New(client redis.UniversalClient, keys rediskey.Keys, timeout time.Duration) *Editor {
	return &Editor{client: client, keys: keys, timeout: timeout, replace: redis.NewScript(replaceSource)}
}

// Put writes up to [Batch] documents. One that is there already, with other content, is
// replaced only if over is set; else its error is ErrThere. It returns an error, or nil, for
// each.
func (e *Editor) Put(ctx context.Context, docs []session.Document, over bool) []error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	p := e.client.Pipeline()
	sets := make([]*redis.StatusCmd, len(docs))
	for i, d := range docs {
		var args redis.SetArgs
		if !over {
			args.Mode, args.Get = "NX", true
		}
		sets[i] = p.SetArgs(ctx, e.keys.Session(d.ID), d.Raw, args)
	}
	_, _ = p.Exec(ctx) // each command has its own error
	errs := make([]error, len(docs))
	for i, set := range sets {
		switch err := set.Err(); {
		case errors.Is(err, redis.Nil): // nothing was there
		case err != nil:
			errs[i] = fmt.Errorf("write the session: %w", err)
		case !over && set.Val() != string(docs[i].Raw):
			errs[i] = ErrThere
		}
	}
	return errs
}

// Remove removes up to [Batch] documents. It returns an error, or nil, for each:
// ErrMissing where there was none.
func (e *Editor) Remove(ctx context.Context, ids []string) []error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	p := e.client.Pipeline()
	dels := make([]*redis.IntCmd, len(ids))
	for i, id := range ids {
		dels[i] = p.Del(ctx, e.keys.Session(id))
	}
	_, _ = p.Exec(ctx) // each command has its own error
	errs := make([]error, len(ids))
	for i, del := range dels {
		switch {
		case del.Err() != nil:
			errs[i] = fmt.Errorf("remove the session: %w", del.Err())
		case del.Val() == 0:
			errs[i] = ErrMissing
		}
	}
	return errs
}

// Edit changes a document. The change may be called again, with what somebody else
// wrote meanwhile; it returns the same bytes where nothing is to be done. Edit reports
// whether something was written, and gives up after the timeout.
func (e *Editor) Edit(ctx context.Context, id string, change func(raw []byte) ([]byte, error)) (written bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	for first := true; ; first = false {
		done, written, err := e.try(ctx, id, change)
		switch {
		case done && err == nil:
			return written, nil
		case !first && expired(ctx):
			return false, ErrBusy
		case err != nil:
			return false, err
		}
	}
}

// expired reports whether the time of ctx has passed. A connection has the same deadline, and
// can fail a moment before ctx has an error.
func expired(ctx context.Context) bool {
	end, limited := ctx.Deadline()
	return limited && !time.Now().Before(end)
}

// try makes the change once. It is done unless somebody else was faster.
func (e *Editor) try(ctx context.Context, id string, change func(raw []byte) ([]byte, error)) (done, written bool, err error) {
	key := e.keys.Session(id)
	was, err := e.client.Get(ctx, key).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return true, false, ErrMissing
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		return true, false, fmt.Errorf("%w: %q", lease.ErrForeign, key)
	case err != nil:
		return true, false, fmt.Errorf("read the session: %w", err)
	}
	to, err := change([]byte(was))
	if err != nil || string(to) == was {
		return true, false, err
	}
	code, err := e.replace.Run(ctx, e.client, []string{key}, was, to).Int()
	switch {
	case err != nil:
		return true, false, fmt.Errorf("write the session: %w", err)
	case code < 0:
		return true, false, fmt.Errorf("%w: %q", lease.ErrForeign, key)
	}
	return code == 1, code == 1, nil
}
