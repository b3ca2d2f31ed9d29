package redisstore

import (
	"context"
	"fmt"
	"time"

	"leasehold/lease"
)

// Read tells who has the leases, with which token: see [lease.Reader].
func (s *Store) Read(ctx context.Context, sessions []string) []lease.Record {
	return apart(ctx, s, sessions, leaseKey, (*Store).records)
}

func (s *Store) records(ctx context.Context, sessions []string) []lease.Record {
	out := make([]lease.Record, len(sessions))
	s.readStates(ctx, sessions, nil, func(i int, rec lease.Record, _ []any) { out[i] = rec })

	return out
}

// inspected are the fields of a state that an inspection reads, in its order.
func inspected() []any {
	return []any{
		"due", "retry_at", "failures", "started", "duration_ms", "ok", "class", "error", "status", "bytes", "since",
	}
}

// Inspect tells what is known of the sessions: see [lease.Inspector].
func (s *Store) Inspect(ctx context.Context, sessions []string) []lease.Inspection {
	return apart(ctx, s, sessions, leaseKey, (*Store).inspections)
}

func (s *Store) inspections(ctx context.Context, sessions []string) []lease.Inspection {
	out := make([]lease.Inspection, len(sessions))
	s.readStates(ctx, sessions, inspected(), func(i int, rec lease.Record, state []any) {
		out[i].Record = rec
		if rec.Err != nil {
			return
		}
		due, retry, failures, run, since := state[0], state[1], state[2], state[3:10], state[10]
		out[i].Next = at(max(integer(due), integer(retry)))
		out[i].Failures = int(integer(failures))
		out[i].Last = lastRun(run)
		if rec.Holder != "" {
			out[i].Since = at(integer(since))
		}
	})

	return out
}

func lastRun(state []any) *lease.Run {
	started := integer(state[0])
	if started == 0 {
		return nil
	}
	r := &lease.Run{
		Started: at(started), Duration: time.Duration(integer(state[1])) * time.Millisecond,
		OK: integer(state[2]) == 1, Status: int(integer(state[5])), Bytes: integer(state[6]),
	}
	r.Class, _ = state[3].(string)
	r.Error, _ = state[4].(string)

	return r
}

// readStates calls each with the record of every session, and with the fields of its
// state where that has no error.
func (s *Store) readStates(
	ctx context.Context, sessions []string, fields []any, each func(i int, rec lease.Record, state []any),
) {
	s.chunks(ctx, len(sessions), func(ctx context.Context, from, to int) error {
		build := func(from, to int) *call {
			c := &call{script: s.scripts.read, args: fields}
			for _, id := range sessions[from:to] {
				c.addKeys(s.leaseKeys(id))
			}

			return c
		}
		wrap := wrapper(fmt.Sprintf("read %d leases", to-from))

		return s.run(ctx, from, to, build, func(c *call, from, to int) {
			list, err := c.list(to - from)
			for i := from; i < to; i++ {
				rec, state := lease.Record{Session: sessions[i]}, []any(nil)
				if err != nil {
					rec.Err = wrap(err)
				} else {
					state = s.readRecord(&rec, list[i-from], len(fields))
				}
				each(i, rec, state)
			}
		})
	})
}

// readRecord fills the record. It returns the fields that were asked for.
func (s *Store) readRecord(rec *lease.Record, reply any, fields int) []any {
	switch r, _ := reply.([]any); len(r) {
	case 3 + fields:
		rec.Holder, _ = r[0].(string)
		rec.Token = lease.Token(integer(r[1]))
		rec.Remaining = remaining(integer(r[2]))

		return r[3:]
	case 1:
		rec.Err = s.strange(rec.Session, integer(r[0]))
	default:
		rec.Err = fmt.Errorf("read: unexpected reply of %d parts", len(r))
	}

	return nil
}
