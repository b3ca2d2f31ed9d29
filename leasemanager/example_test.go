package leasemanager_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"

	"leasehold/leasemanager"
)

// A loop that a service has already asks before each round of work.
func ExampleMember_IsOwned() {
	redis, err := miniredis.Run() // in a service: its Redis
	if err != nil {
		fmt.Println(err)
		return
	}
	defer redis.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	m, err := leasemanager.New(leasemanager.Config{RedisURL: "redis://" + redis.Addr()})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := m.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = m.Stop() }()

	read := func(ctx context.Context, pump string, token int64) {
		fmt.Println("reading", pump, ctx.Err() == nil && token > 0)
	}
	for range 2 {
		for _, pump := range []string{"pump-1", "pump-2"} {
			if _, err := m.TryAcquire(ctx, pump); err != nil {
				continue // unknown: another may have it
			}
			if !m.IsOwned(pump) {
				continue // another instance reads this one
			}
			token, _ := m.Token(pump) // goes along with what is written
			read(m.Context(pump), pump, token)
		}
	}
	// Output:
	// reading pump-1 true
	// reading pump-2 true
	// reading pump-1 true
	// reading pump-2 true
}

// A service that polls by plan brings the poll alone.
func ExampleWithPoller() {
	redis, err := miniredis.Run() // in a service: its Redis
	if err != nil {
		fmt.Println(err)
		return
	}
	defer redis.Close()
	_ = redis.Set("session:pump-1", `{"kind":"log","interval":"1h","labels":{"bus":"7"}}`)

	polled := make(chan string)
	poll := func(ctx context.Context, run leasemanager.Run) error {
		if run.Token == 0 {
			return errors.New("no token") // the poll counts as failed and is tried again
		}
		select {
		case polled <- run.SessionID + " on bus " + run.Session.Labels["bus"]:
			return nil
		case <-ctx.Done(): // the lease has ended, or the time for this poll
			return ctx.Err()
		}
	}
	m, err := leasemanager.New(leasemanager.Config{RedisURL: "redis://" + redis.Addr()}, leasemanager.WithPoller(poll))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := m.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("polled", <-polled)
	fmt.Println("stopped", m.Stop())
	// Output:
	// polled pump-1 on bus 7
	// stopped <nil>
}

// Work that takes long ends with its lease, and others wait until it has.
func ExampleWithCallbacks() {
	redis, err := miniredis.Run() // in a service: its Redis
	if err != nil {
		fmt.Println(err)
		return
	}
	defer redis.Close()

	var m *leasemanager.Member
	done := make(chan struct{})
	work := func(ctx context.Context) {
		defer close(done)
		<-ctx.Done()
		fmt.Println("the work has ended")
	}
	m, err = leasemanager.New(leasemanager.Config{RedisURL: "redis://" + redis.Addr()},
		leasemanager.WithCallbacks(leasemanager.Callbacks{
			Acquired: func(l leasemanager.LeaseInfo) {
				fmt.Println(l.SessionID, l.State)
				go work(m.Context(l.SessionID))
			},
			Lost: func(l leasemanager.LeaseInfo, why error) {
				<-done // the lease is given back only now
				fmt.Println(l.SessionID, "is over:", errors.Is(why, leasemanager.ErrReleased))
			},
		}))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := m.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	if ours, err := m.TryAcquire(ctx, "export"); err != nil || !ours {
		fmt.Println(ours, err)
		return
	}
	_ = m.Stop()
	// Output:
	// export owned
	// the work has ended
	// export is over: true
}
