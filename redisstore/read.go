package redisstore

import (
	"context"
	"fmt"

	"leasehold/lease"
)

// Read tells who has the leases, with which token: see [lease.Reader].
func (s *Store) Read(ctx context.Context, sessions []string) []lease.Record {
	out := make([]lease.Record, len(sessions))
	s.chunks(ctx, len(sessions), func(ctx context.Context, from, to int) error {
		build := func(from, to int) *call {
			c := &call{script: s.scripts.read}
			for _, id := range sessions[from:to] {
				c.addKeys(s.leaseKeys(id))
			}

			return c
		}
		wrap := wrapper(fmt.Sprintf("read %d leases", to-from))

		return s.run(ctx, from, to, build, func(c *call, from, to int) {
			list, err := c.list(to - from)
			for i := from; i < to; i++ {
				out[i].Session = sessions[i]
				if err != nil {
					out[i].Err = wrap(err)

					continue
				}
				s.readRecord(&out[i], list[i-from])
			}
		})
	})

	return out
}

func (s *Store) readRecord(rec *lease.Record, reply any) {
	switch r, _ := reply.([]any); len(r) {
	case 3:
		rec.Holder, _ = r[0].(string)
		rec.Token = lease.Token(integer(r[1]))
		rec.Remaining = remaining(integer(r[2]))
	case 0:
		rec.Err = foreign(s.keys.Lease(rec.Session))
	default:
		rec.Err = fmt.Errorf("read: unexpected reply of %d parts", len(r))
	}
}
