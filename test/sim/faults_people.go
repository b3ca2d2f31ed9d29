package sim

import (
	"context"
	"strings"

	"leasehold/lease"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

// peopleKinds are what people do by hand.
func peopleKinds() []kind {
	return []kind{{"leases forced away", 3, many, func(w *world, f Fault) (string, func()) {
		polled := w.polled()
		if len(polled) == 0 {
			return "", nil
		}
		hit := some(polled, f)
		w.force(hit)
		return strings.Join(hit, " "), nil
	}}}
}

// polled are the sessions with a poll in flight, as Redis has it: nothing else can go
// wrong when a lease is taken from its holder.
func (w *world) polled() []string {
	var ids []string
	for _, key := range w.keys(leases) {
		_, id := rediskey.Default().Parse(key)
		if state := rediskey.Default().State(id); w.fleet.Mini.Type(state) == "hash" && w.fleet.Mini.HGet(state, "busy") != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// force ends leases as the command does: by their holders' grants, and without asking them.
func (w *world) force(ids []string) {
	w.byHand(func(ctx context.Context, store *redisstore.Store) {
		var all []lease.Release
		for i, r := range store.Read(ctx, ids) {
			if r.Err == nil && r.Holder != "" {
				grant := lease.Grant{Session: ids[i], Holder: r.Holder, Token: r.Token}
				all = append(all, lease.Release{Grant: grant, Forced: true})
			}
		}
		store.Release(ctx, all)
	})
}

// byHand has somebody do something once. The engine does not wait for it: what became
// of it Redis shows.
func (w *world) byHand(do func(ctx context.Context, store *redisstore.Store)) {
	store, leave := w.visit()
	w.people.Go(func() {
		defer leave()
		do(context.Background(), store)
	})
}

// visit is a way to Redis of one who is no node.
func (w *world) visit() (store *redisstore.Store, leave func()) {
	client := w.fleet.Mini.Link().Client()
	store = redisstore.New(client, rediskey.Default(), redisstore.Options{Timeout: w.scenario.Timings.Timeout.D()})
	return store, func() { _ = client.Close() }
}
