// Package leasemanager embeds the fleet's coordination in a Go service: sessions
// are leased in Redis, so that of all instances of the service one at a time works
// on each.
//
// A service brings its own work, in one of two ways.
//
// It decides itself what it wants. [Member.TryAcquire] leases a session by its ID,
// [Member.IsOwned] says before each round of work whether that still holds, and
// [Member.Release] gives it back:
//
//	m, err := leasemanager.New(leasemanager.Config{RedisURL: "redis://127.0.0.1:6379/0"})
//	…
//	if err := m.Start(ctx); err != nil { … }
//	defer m.Stop()
//	for range ticks {
//		if ours, err := m.TryAcquire(ctx, "pump-7"); err != nil || !ours { continue }
//		work(m.Context("pump-7")) // ends with the lease
//	}
//
// Or it leaves that to the plan: with [WithPoller] the member is a node of the fleet
// like the program's own, takes its even share of all session documents, and calls
// the service's function for each poll. Such a member can lease by hand, too.
//
// # What a lease is worth
//
// A lease ends for its holder before Redis can give it to another: at the time of
// sending the last accepted renewal + TTL − margin, on the monotonic clock and on the
// wall clock. [Member.IsOwned] is false from then on, and the lease's context
// ([Member.Context]) has ended. Renewals go on by themselves.
//
// A renewal without an answer makes a lease uncertain. Then IsOwned is false, so that
// nothing new is begun; the context lives, so that what is under way may end within
// the trust that is left. Either a renewal succeeds, and IsOwned is true again, or
// the trust runs out.
//
// Work that must not overlap uses the context and ends soon after it. What it
// writes elsewhere carries the token ([Member.Token]): it rises by one with each
// acquisition of a session and never changes by renewals, so whoever is written to
// can refuse what is older. That covers the rest: a process that was frozen between
// its check and its write.
//
// # How a lease ends
//
// The order is the same for [Member.Release], [Member.Stop] and a loss: the context
// ends, [Callbacks.Lost] is called, and only after it has returned the lease is given
// back, unless it was lost. So a callback that waits for the work to end keeps all
// others from the session for that long: the lease is renewed meanwhile. IsOwned is
// false from the beginning.
//
// # Sessions
//
// By hand any ID can be leased that is 1 to 512 bytes of UTF-8 without NUL, with or
// without a session document: none is read. Nodes that poll leave a session alone
// while somebody has its lease, and take it over afterwards if its document says so.
// A session that this member polls by plan is owned, too: TryAcquire answers true,
// and Release [ErrPolled].
//
// # Names, keys and neighbors
//
// [Member.InstanceID] is new for each member and the value of the lease keys it
// holds; what a member with WithPoller leases by hand has "/manual" behind it, so
// that plan and hand never take one another's for their own. Members of one service
// share their settings, [Config.Keys] above all. A member has a heartbeat
// and counts as a node. Where it leases by hand beside nodes that poll, under
// the same keys, give it [WithoutHeartbeat]: else they would plan for it, and see
// only later that it takes nothing. Its InstanceID ends with "/manual" then, so that
// it passes for a worker, and not for a node that is gone.
//
// # Concurrency and errors
//
// All methods may be called from any goroutine, those of a callback included; but a
// callback that waits for Release of its own session, or for Stop, waits for itself.
// IsOwned, Context, Token and OwnedSessions read this process's memory and never
// wait. The others ask Redis, each call bounded by its context and every command by
// [Config.RedisTimeout].
//
// An error of TryAcquire means "unknown", not "free": if Redis carried the claim out
// all the same, the next call finds the lease ours, or it runs out. After Redis was
// restarted or replaced nothing is taken for one TTL ([ErrHeldOff]): others may not
// have noticed yet that their leases have gone. The answer to a claim names the
// server, so that no claim is quicker than the news. Only what this member has just
// lost it may take again at once: within the margin ([Config.Margin]) of the end of
// trust, also if Callbacks.Lost takes longer to return.
//
// # Not promised
//
// What the whole fleet does not promise either: see docs/protocol.md. By hand there is
// no check in Redis before each round of work: somebody who deletes a lease key is
// noticed by the event, or by the next renewal.
//
// Where Redis loses acknowledged leases, two members can have one for up to a TTL if the
// second did not know that it was another server: since it was started afterwards;
// since nobody restarted Redis (FLUSHALL); since INFO is forbidden; or, on a Redis
// cluster, whose answers do not name the server, since it claimed in the second or two
// before a look at the topology and the subscription told it. A holder whose document
// asks for a longer lease_ttl than the members' can trust it for that long, too.
package leasemanager
