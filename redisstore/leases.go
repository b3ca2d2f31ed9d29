package redisstore

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/lease"
	"leasehold/redisinfo"
)

// Acquire takes each lease that is free: see [lease.Store].
func (s *Store) Acquire(ctx context.Context, holder string, claims []lease.Claim) []lease.Outcome {
	if !s.cluster {
		return s.acquire(ctx, holder, claims)
	}

	return apart(ctx, s, claims, func(s *Store, c lease.Claim) string { return s.keys.Lease(c.Session) },
		func(s *Store, ctx context.Context, part []lease.Claim) []lease.Outcome {
			return s.acquire(ctx, holder, part)
		})
}

func (s *Store) acquire(ctx context.Context, holder string, claims []lease.Claim) []lease.Outcome {
	out := make([]lease.Outcome, len(claims))
	s.chunks(ctx, len(claims), func(ctx context.Context, from, to int) error {
		build := func(from, to int) *call {
			c := leaseCall(s.scripts.acquire, to-from, 3, holder, millis(s.opts.StateTTL))
			for _, claim := range claims[from:to] {
				c.addKeys(s.leaseKeys(claim.Session))
				c.args = append(c.args, millis(claim.TTL), claim.Abandoned, polls(claim))
			}

			return c
		}
		wrap := wrapper(fmt.Sprintf("acquire %d leases", to-from))
		who := s.askWho()

		return s.run(ctx, from, to, build, func(c *call, from, to int) {
			list, err := c.list((to - from) * outcomeParts)
			server := runID(who)
			for i := from; i < to; i++ {
				out[i] = lease.Outcome{Session: claims[i].Session, Server: server}
				if err != nil {
					out[i].Err = wrap(err)

					continue
				}
				s.readOutcome(&out[i], list[(i-from)*outcomeParts:])
			}
		}, who...)
	})

	return out
}

// polls is what a claim says of the session's polls.
func polls(c lease.Claim) int64 {
	switch {
	case c.Alone:
		return -1
	case c.Interval > 0:
		return millis(c.Interval)
	default:
		return 0
	}
}

// askWho returns a call that asks who answers the calls sent with it. In a cluster they
// have many answerers, and nobody is asked.
func (s *Store) askWho() []*call {
	if s.cluster {
		return nil
	}

	return []*call{{}}
}

// runID is what the server said to askWho; empty where it does not tell.
func runID(who []*call) string {
	for _, c := range who {
		info, _ := c.reply.(string)

		return redisinfo.Field(info, "run_id")
	}

	return ""
}

// outcomeParts is how many values the script returns for each lease.
const outcomeParts = 5

func (s *Store) readOutcome(o *lease.Outcome, r []any) {
	flags := integer(r[0])
	if flags < 0 {
		o.Err = s.strange(o.Session, flags)

		return
	}
	o.Granted = flags&1 != 0
	o.Already = flags&2 != 0
	o.Fresh = flags&4 != 0
	o.Failing = flags&8 != 0
	o.Holder, _ = r[1].(string)
	o.Token = lease.Token(integer(r[2]))
	o.Remaining = remaining(integer(r[3]))
	o.Wait = time.Duration(integer(r[4])) * time.Millisecond
}

// Renew restarts the TTL of each grant that still holds: see [lease.Store].
func (s *Store) Renew(ctx context.Context, renewals []lease.Renewal) []lease.Verdict {
	return apart(ctx, s, renewals, func(s *Store, r lease.Renewal) string { return s.keys.Lease(r.Session) }, (*Store).renew)
}

func (s *Store) renew(ctx context.Context, renewals []lease.Renewal) []lease.Verdict {
	out := make([]lease.Verdict, len(renewals))
	minute := time.Now().Unix() / 60
	s.chunks(ctx, len(renewals), func(ctx context.Context, from, to int) error {
		build := func(from, to int) *call {
			c := leaseCall(s.scripts.renew, to-from, 5, millis(s.opts.StateTTL))
			for _, r := range renewals[from:to] {
				c.addKeys(s.leaseKeys(r.Session))
				c.args = append(c.args, r.Holder, int64(r.Token), millis(r.TTL), flag(stateIsDue(r, minute)), r.Busy.Milliseconds())
			}

			return c
		}
		wrap := wrapper(fmt.Sprintf("renew %d leases", to-from))

		return s.run(ctx, from, to, build, func(c *call, from, to int) {
			list, err := c.list(to - from)
			for i := from; i < to; i++ {
				if err != nil {
					out[i].Err = wrap(err)

					continue
				}
				out[i] = s.readVerdict(renewals[i].Session, list[i-from])
			}
		})
	})

	return out
}

func (s *Store) readVerdict(id string, reply any) lease.Verdict {
	switch r := reply.(type) {
	case string:
		return lease.Verdict{Holder: r, Err: lease.ErrLost}
	case int64:
		if r == 1 {
			return lease.Verdict{}
		}

		return lease.Verdict{Err: s.strange(id, r)}
	default:
		return lease.Verdict{Err: fmt.Errorf("renew: unexpected reply %T", reply)}
	}
}

// stateIsDue picks the minute of each hour in which a session's renewals restart
// the TTL of its state too: once an hour is plenty for a TTL of days. Of a lease that may
// go without a renewal for longer than that minute, each one does.
func stateIsDue(r lease.Renewal, minute int64) bool {
	if r.TTL > time.Minute {
		return true
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.Session))

	return int64(h.Sum32()%60) == minute%60
}

// Release ends each grant that still holds: see [lease.Store]. ErrLost says that
// there was nothing to end.
func (s *Store) Release(ctx context.Context, releases []lease.Release) []error {
	return apart(ctx, s, releases, func(s *Store, r lease.Release) string { return s.keys.Lease(r.Session) }, (*Store).release)
}

func (s *Store) release(ctx context.Context, releases []lease.Release) []error {
	out := make([]error, len(releases))
	s.chunks(ctx, len(releases), func(ctx context.Context, from, to int) error {
		build := func(from, to int) *call {
			c := leaseCall(s.scripts.release, to-from, 3)
			for _, r := range releases[from:to] {
				c.addKeys(s.leaseKeys(r.Session))
				c.args = append(c.args, r.Holder, int64(r.Token), ending(r))
			}

			return c
		}
		wrap := wrapper(fmt.Sprintf("release %d leases", to-from))

		return s.run(ctx, from, to, build, func(c *call, from, to int) {
			list, err := c.list(to - from)
			for i := from; i < to; i++ {
				switch {
				case err != nil:
					out[i] = wrap(err)
				case integer(list[i-from]) == 0:
					out[i] = lease.ErrLost
				case integer(list[i-from]) < 0:
					out[i] = s.strange(releases[i].Session, integer(list[i-from]))
				}
			}
		})
	})

	return out
}

// ending is what the script is told of a release beside its grant.
func ending(r lease.Release) any {
	if r.Forced {
		return "forced"
	}

	return flag(r.Forget)
}

// Look reads who holds the leases: see [lease.Store].
func (s *Store) Look(ctx context.Context, sessions []string) []lease.Status {
	return apart(ctx, s, sessions, leaseKey, (*Store).look)
}

func leaseKey(s *Store, id string) string { return s.keys.Lease(id) }

func (s *Store) look(ctx context.Context, sessions []string) []lease.Status {
	out := make([]lease.Status, len(sessions))
	s.chunks(ctx, len(sessions), func(ctx context.Context, from, to int) error {
		build := func(from, to int) *call {
			c := &call{script: s.scripts.look, keys: make([]string, 0, to-from)}
			for _, id := range sessions[from:to] {
				c.keys = append(c.keys, s.keys.Lease(id))
			}

			return c
		}
		wrap := wrapper(fmt.Sprintf("look at %d leases", to-from))

		return s.run(ctx, from, to, build, func(c *call, from, to int) {
			list, err := c.list(2 * (to - from))
			for i := from; i < to; i++ {
				out[i].Session = sessions[i]
				if err != nil {
					out[i].Err = wrap(err)

					continue
				}
				s.readStatus(&out[i], list[2*(i-from)], list[2*(i-from)+1])
			}
		})
	})

	return out
}

func (s *Store) readStatus(st *lease.Status, holder, left any) {
	if integer(left) == foreignType {
		st.Err = foreign(s.keys.Lease(st.Session))

		return
	}
	st.Holder, _ = holder.(string)
	if st.Holder != "" {
		st.Remaining = remaining(integer(left))
	}
}

// foreignType is the remaining time that the script tells of a key of another type.
const foreignType = -2

// leaseCall returns a call about so many leases, with room for their keys and for the
// arguments that each has, behind those of all.
func leaseCall(script *redis.Script, leases, each int, all ...any) *call {
	c := &call{script: script, keys: make([]string, 0, 2*leases), args: make([]any, 0, len(all)+each*leases)}
	c.args = append(c.args, all...)

	return c
}

func (c *call) addKeys(leaseKey, stateKey string) {
	c.keys = append(c.keys, leaseKey, stateKey)
}

func remaining(ms int64) time.Duration {
	if ms < 0 {
		return lease.NoExpiry
	}

	return time.Duration(ms) * time.Millisecond
}

// millis rounds up: Redis takes whole milliseconds and no zero as a TTL.
func millis(d time.Duration) int64 {
	return max(1, int64((d+time.Millisecond-1)/time.Millisecond))
}

// flag is boxed already: there may be one for each of many leases.
func flag(on bool) any {
	if on {
		return "1"
	}

	return "0"
}

// integer reads a number that a script sent as such or as text.
func integer(v any) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case string:
		i, err := strconv.ParseInt(n, 10, 64)
		if err != nil {
			return 0
		}

		return i
	default:
		return 0
	}
}
