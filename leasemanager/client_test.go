package leasemanager_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"leasehold/internal/redistest"
	"leasehold/leasemanager"
)

// withClient starts one with a client of the service's own.
func withClient(t *testing.T, o *redis.Options) *leasemanager.Member {
	t.Helper()
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	m, err := leasemanager.New(leasemanager.Config{Client: c, LeaseTTL: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Stop() })
	return m
}

// One that holds nothing asks for leases in pipelines, whose connections go-redis keeps
// whatever they answer.
func TestAMemberWithAClientFollowsItsAddressFromADemotedServer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	former, next := redistest.StartServer(t), redistest.StartServer(t)
	address := redistest.StartProxy(t, former.Addr())
	m := withClient(t, &redis.Options{Addr: address.Addr()})
	if ok, err := m.TryAcquire(ctx, "s"); !ok {
		t.Fatal(err)
	}
	if err := m.Release(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond) // connections older than the grace of young ones
	address.Retarget(next.Addr())
	admin := former.Client()
	defer func() { _ = admin.Close() }()
	if err := admin.Do(ctx, "REPLICAOF", "127.0.0.1", strconv.Itoa(next.Port)).Err(); err != nil {
		t.Fatal(err)
	}
	there := next.Client()
	defer func() { _ = there.Close() }()
	var err error
	for began := time.Now(); time.Since(began) < 15*time.Second; time.Sleep(50 * time.Millisecond) {
		var ok bool
		if ok, err = m.TryAcquire(ctx, "s"); ok && there.Exists(ctx, "poll:lease:s").Val() == 1 {
			return
		}
	}
	t.Fatalf("no lease on the new server, but %v", err)
}

func TestAMemberStartsWithAClientThatAsksForMaintenanceNotifications(t *testing.T) {
	t.Parallel()
	o := redistest.Options(redistest.StartServer(t).Addr())
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeEnabled}
	o.Protocol = 3
	if ok, err := withClient(t, o).TryAcquire(t.Context(), "s"); !ok {
		t.Fatal(err)
	}
}
