package leasemanager

import (
	"context"
	"errors"

	"leasehold/actors/keeper"
	"leasehold/actors/tenure"
	"leasehold/lease"
	"leasehold/lease/cell"
)

// Manager coordinates who works on which session. [Member] is one; services that
// need no more take this, so that their tests can bring another.
type Manager interface {
	// Start begins the work. When ctx ends the manager stops, as by Stop.
	Start(ctx context.Context) error
	// Stop gives everything back and waits for that. It may be called again, and
	// before Start, and answers the same each time.
	Stop() error
	// TryAcquire reports whether the session is ours, since now or before. An error
	// means that it is not known who has it.
	TryAcquire(ctx context.Context, sessionID string) (bool, error)
	// Release gives the session back. It returns nil once we do not hold it, also if
	// we did not before.
	Release(ctx context.Context, sessionID string) error
	// IsOwned reports whether new work on the session may begin now. It asks nobody.
	IsOwned(sessionID string) bool
	// OwnedSessions returns the sessions whose leases we have, in order: those that
	// IsOwned, and those that are uncertain.
	OwnedSessions() []string
	// GetLiveNodes returns the instances whose heartbeats live, in order.
	GetLiveNodes(ctx context.Context) ([]string, error)
	// PreferredOwner returns which instance should have the session; "" if none lives.
	PreferredOwner(ctx context.Context, sessionID string) (string, error)
	// InstanceID is unique in the fleet and new for each manager.
	InstanceID() string
}

var _ Manager = (*Member)(nil)

// What methods answer.
var (
	// ErrNotStarted: Start has not succeeded yet.
	ErrNotStarted = errors.New("leasemanager: not started")
	// ErrStarted: Start was called before.
	ErrStarted = errors.New("leasemanager: started already")
	// ErrStopped: Stop was called, or the member failed.
	ErrStopped = errors.New("leasemanager: stopped")
	// ErrPolled: the member polls the session by plan, and gives it back by plan. To
	// end that, pause the session's document.
	ErrPolled = errors.New("leasemanager: the session is polled by plan")
	// ErrNotDrained: when Stop ran out of time not all work had ended. The leases of
	// the rest run out.
	ErrNotDrained = errors.New("leasemanager: leases were left to run out")

	// ErrUncertain: the lease was ours, and its last renewal had no answer.
	ErrUncertain = keeper.ErrUncertain
	// ErrHeldOff: Redis was restarted or replaced less than a TTL ago.
	ErrHeldOff = keeper.ErrHeldOff
)

// Why a lease ended: what [Callbacks.Lost] gets, and the cause of the end of
// [Member.Context]. Compare with errors.Is.
var (
	// ErrReleased: it is given back, by Release, by Stop or for balance.
	ErrReleased error = tenure.ErrGivenBack
	// ErrExpired: no renewal was accepted in time.
	ErrExpired = cell.ErrExpired
	// ErrLost: Redis has another holder, a newer token, or none.
	ErrLost = lease.ErrLost
	// ErrNotOwned: there was no lease.
	ErrNotOwned = errors.New("leasemanager: the session is not owned")
)
