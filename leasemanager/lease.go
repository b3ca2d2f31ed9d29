package leasemanager

import (
	"context"
	"errors"
	"strings"
	"time"

	"leasehold/actors/tenure"
	"leasehold/lease"
	"leasehold/session"
)

// LeaseState says what is known of a lease.
type LeaseState int

// The states of a lease.
const (
	Unknown   LeaseState = iota // nobody is known to have it, or ours is ending
	Owned                       // it is ours
	Other                       // another instance has it
	Uncertain                   // it is ours, but the last renewal had no answer
)

// String returns the state in lower case.
func (s LeaseState) String() string {
	switch s {
	case Owned:
		return "owned"
	case Other:
		return "other"
	case Uncertain:
		return "uncertain"
	case Unknown:
	}
	return "unknown"
}

// LeaseInfo is one lease at one moment.
type LeaseInfo struct {
	SessionID string
	// Owner is who has the lease: an instance ID, or a holder of the lease API. Empty
	// where none is known.
	Owner string
	State LeaseState
	// Token is the lease's fencing token. Where nobody has it, the last one's, or 0.
	Token int64
	// AcquiredAt is when it became ours, RenewedAt when the last accepted renewal was
	// heard of. Zero for leases of others.
	AcquiredAt, RenewedAt time.Time
}

// infoOf tells of a lease of ours.
func infoOf(t *tenure.Tenure) LeaseInfo {
	c := t.Cell()
	g := c.Grant()
	info := LeaseInfo{
		SessionID: g.Session, Owner: g.Holder, State: Owned, Token: int64(g.Token),
		AcquiredAt: t.Since(), RenewedAt: c.Renewed(),
	}
	switch {
	case t.Context().Err() != nil:
		info.State, info.Owner = Unknown, ""
		if loss, ok := errors.AsType[*lease.LostError](context.Cause(t.Context())); ok {
			info.other(strings.TrimSuffix(g.Holder, lease.ByHand), loss.Holder)
		}
	case !t.Usable():
		info.State = Uncertain
	}
	return info
}

// other says who has the lease, unless that is nobody, or the member itself: what of its
// own has ended is in Redis until it is given back or runs out.
func (i *LeaseInfo) other(instance, holder string) {
	if holder != "" && holder != instance && holder != instance+lease.ByHand {
		i.State, i.Owner = Other, holder
	}
}

// IsOwned reports whether new work on the session may begin now: its lease is ours,
// the trust in it has not run out, and the last renewal was accepted.
func (m *Member) IsOwned(sessionID string) bool {
	t := m.book.get(sessionID)
	return t != nil && t.Usable()
}

// OwnedSessions returns the sessions whose leases we have, in order: those that
// IsOwned, and those that are uncertain.
func (m *Member) OwnedSessions() []string { return m.book.sessions() }

// Context ends with the session's lease; its cause says why. Where there is no lease
// it has ended, by ErrNotOwned. Each lease has its own: ask anew after an acquisition.
func (m *Member) Context(sessionID string) context.Context {
	if t := m.book.get(sessionID); t != nil {
		return t.Context()
	}
	ctx, end := context.WithCancelCause(context.Background()) //nolint:forbidigo // it ends here
	end(ErrNotOwned)
	return ctx
}

// Token returns the fencing token of the session's lease, and whether it is ours,
// uncertain or not.
func (m *Member) Token(sessionID string) (token int64, ok bool) {
	t := m.book.get(sessionID)
	if t == nil || t.Context().Err() != nil {
		return 0, false
	}
	return int64(t.Cell().Grant().Token), true
}

// Lease tells of one lease: of ours from memory, of others as Redis has it now. With
// an error the state is Unknown, and so it is while a lease of ours ends.
func (m *Member) Lease(ctx context.Context, sessionID string) (LeaseInfo, error) {
	info := LeaseInfo{SessionID: sessionID}
	if err := session.ValidID(sessionID); err != nil {
		return info, err
	}
	if t := m.book.get(sessionID); t != nil && t.Context().Err() == nil {
		return infoOf(t), nil
	}
	if err := m.ready(); err != nil {
		return info, err
	}
	record := m.store.Read(ctx, []string{sessionID})[0]
	if record.Err != nil {
		return info, record.Err
	}
	info.Token = int64(record.Token)
	info.other(m.instance, record.Holder)
	return info, nil
}
