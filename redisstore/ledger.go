package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/lease"
)

// Begin records the start of a poll: see [lease.Ledger].
func (s *Store) Begin(ctx context.Context, g lease.Grant, slot lease.Slot) (lease.Start, error) {
	c := &call{
		script: s.scripts.begin,
		args:   []any{g.Holder, int64(g.Token), millis(slot.Interval), millis(slot.Bound), question(slot)},
	}
	if slot.Keep || slot.Plan != "" {
		c.args = append(c.args, flag(slot.Keep), slot.Plan, unixMilli(slot.Next), slot.Grace.Milliseconds())
	}
	c.addKeys(s.leaseKeys(g.Session))
	if err := s.lane(ctx, c).do(ctx, c); err != nil {
		return lease.Start{}, fmt.Errorf("begin a poll: %w", err)
	}
	r, err := c.list(1)
	if err != nil {
		return lease.Start{}, fmt.Errorf("begin a poll: %w", err)
	}
	switch code := integer(r[0]); {
	case code == 1 && len(r) == 5:
		return lease.Start{
			At: at(integer(r[1])), Due: at(integer(r[2])), Failures: int(integer(r[3])), Sequence: integer(r[4]),
		}, nil
	case code == 2 && len(r) == 2:
		return lease.Start{Wait: time.Duration(integer(r[1])) * time.Millisecond}, nil
	default:
		return lease.Start{}, s.refusal(g, "begin", r)
	}
}

// Finish records the end of a poll: see [lease.Ledger].
func (s *Store) Finish(ctx context.Context, g lease.Grant, r lease.Result) error {
	c := &call{script: s.scripts.finish, args: s.finishArgs(g, r)}
	c.addKeys(s.leaseKeys(g.Session))
	if s.opts.Stream != "" && !s.cluster {
		c.keys = append(c.keys, s.opts.Stream)
		c.args = append(c.args, g.Session, r.Event, s.opts.MaxLen)
	}
	if err := s.lane(ctx, c).do(ctx, c); err != nil {
		return fmt.Errorf("finish a poll: %w", err)
	}
	list, err := c.list(1)
	if err != nil {
		return fmt.Errorf("finish a poll: %w", err)
	}
	switch code := integer(list[0]); {
	case code == 1:
		s.appendElsewhere(ctx, g, r)

		return nil
	case code == 2 && len(list) == 2:
		s.opts.OnForeign(s.opts.Stream, fmt.Sprint(list[1]))

		return nil
	default:
		return s.refusal(g, "finish", list)
	}
}

func (s *Store) finishArgs(g lease.Grant, r lease.Result) []any {
	return []any{
		g.Holder, int64(g.Token), millis(s.opts.StateTTL), unixMilli(r.NextDue), unixMilli(r.RetryAt),
		r.Failures, flag(r.OK), r.Class, r.ErrorText(), r.Status, r.Duration.Milliseconds(), r.Bytes,
		unixMilli(r.Started),
	}
}

// Ask has a task begun soon: see [lease.Asker].
func (s *Store) Ask(ctx context.Context, session string) error {
	c := &call{script: s.scripts.ask, args: []any{millis(s.opts.StateTTL)}}
	c.addKeys(s.leaseKeys(session))
	if err := s.lane(ctx, c).do(ctx, c); err != nil {
		return fmt.Errorf("ask for a run: %w", err)
	}
	if code := integer(c.reply); c.err == nil && code < 0 {
		return fmt.Errorf("ask for a run: %w", s.strange(session, code))
	}

	return nil
}

// refusal turns an answer that did nothing into an error.
func (s *Store) refusal(g lease.Grant, what string, r []any) error {
	switch code := integer(r[0]); {
	case code < 0:
		return fmt.Errorf("%s a poll: %w", what, s.strange(g.Session, code))
	case code == 0 && len(r) == 2:
		holder, _ := r[1].(string)

		return fmt.Errorf("%s a poll with token %d: %w", what, g.Token,
			&lease.LostError{Reason: fmt.Sprintf("its holder is %q", holder), Holder: holder})
	default:
		return fmt.Errorf("%s a poll: unexpected reply %v", what, r)
	}
}

const (
	// appendWait is how long the end of a poll waits for its result's entry in a stream on
	// another master. An answer takes far less, or the master hangs.
	appendWait = 100 * time.Millisecond
	// mostAppends bounds the entries under way; more wait for their turn as long.
	mostAppends = 256
)

// appendElsewhere appends a recorded result to the stream where the script can't:
// in a cluster the stream lies in another slot. A failure loses the entry alone, and a
// master that hangs does not keep the session from its next poll.
func (s *Store) appendElsewhere(ctx context.Context, g lease.Grant, r lease.Result) {
	if s.opts.Stream == "" || !s.cluster {
		return
	}
	timer := time.NewTimer(appendWait)
	defer timer.Stop()
	select {
	case s.appends <- struct{}{}:
	case <-timer.C:
		s.opts.OnForeign(s.opts.Stream, "its server has not answered for long")

		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { <-s.appends }()
		s.appendResult(context.WithoutCancel(ctx), g, r)
	}()
	select {
	case <-done:
	case <-timer.C:
	}
}

func (s *Store) appendResult(ctx context.Context, g lease.Grant, r lease.Result) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	err := s.client.XAdd(ctx, &redis.XAddArgs{
		Stream: s.opts.Stream, MaxLen: s.opts.MaxLen, Approx: true,
		Values: []any{"session", g.Session, "token", int64(g.Token), "event", r.Event},
	}).Err()
	if err != nil {
		s.opts.OnForeign(s.opts.Stream, err.Error())
	}
}

// question is empty for an attempt without a name.
func question(s lease.Slot) string {
	if s.Attempt == 0 {
		return ""
	}
	text := make([]byte, 0, 2*len("1000000"))
	text = strconv.AppendInt(text, s.Attempt, 10)
	text = append(text, ':')

	return string(strconv.AppendInt(text, s.Question, 10))
}

// unixMilli is empty for the zero time.
func unixMilli(t time.Time) any {
	if t.IsZero() {
		return ""
	}

	return t.UnixMilli()
}

// at is the zero time for zero.
func at(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}

	return time.UnixMilli(ms)
}
