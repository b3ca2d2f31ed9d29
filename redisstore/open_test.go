package redisstore_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/internal/certtest"
	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/lease/leasetest"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

var _ = Describe("Open", func() {
	DescribeTable("understands", func(url string, addrs []string, check func(*redis.Options)) {
		c, err := redisstore.Open(url, redisstore.OpenOptions{ClientName: "me"})
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = c.Close() }()
		switch c := c.(type) {
		case *redis.Client:
			Expect(addrs).To(Equal([]string{c.Options().Addr}))
			Expect(c.Options().ContextTimeoutEnabled).To(BeTrue())
			Expect(c.Options().MaxRetries).To(BeZero())
			Expect(c.Options().ClientName).To(Equal("me"))
			check(c.Options())
		case *redis.ClusterClient:
			Expect(c.Options().Addrs).To(Equal(addrs))
			Expect(c.Options().ClusterStateReloadInterval).To(Equal(time.Second))
			check(&redis.Options{Username: c.Options().Username, Password: c.Options().Password, TLSConfig: c.Options().TLSConfig})
		}
	},
		Entry("a server", "redis://127.0.0.1:7000/3", []string{"127.0.0.1:7000"}, func(o *redis.Options) { Expect(o.DB).To(Equal(3)) }),
		Entry("a default port", "redis://h", []string{"h:6379"}, func(*redis.Options) {}),
		Entry("a login", "redis://u:p%40,ss@h:1", []string{"h:1"}, func(o *redis.Options) {
			Expect(o.Username + " " + o.Password).To(Equal("u p@,ss"))
		}),
		Entry("TLS", "rediss://h:1", []string{"h:1"}, func(o *redis.Options) { Expect(o.TLSConfig.ServerName).To(Equal("h")) }),
		Entry("a socket", "unix:///run/redis,1.sock?db=2", []string{"/run/redis,1.sock"}, func(o *redis.Options) { Expect(o.DB).To(Equal(2)) }),
		Entry("IPv6", "redis://[::1]:7000", []string{"[::1]:7000"}, func(*redis.Options) {}),
		Entry("a cluster", "redis://u:p,w@a:1,b:2,[::1]:3", []string{"a:1", "b:2", "[::1]:3"}, func(o *redis.Options) { Expect(o.Password).To(Equal("p,w")) }),
		Entry("a cluster of URLs", "rediss://:pw@a:1,rediss://b:2", []string{"a:1", "b:2"}, func(o *redis.Options) {
			Expect(o.Password).To(Equal("pw"))
			Expect(o.TLSConfig).NotTo(BeNil())
		}),
		Entry("blanks between", " redis://u:p@a:1, redis://u:p@b:2 ,\tc:3 ", []string{"a:1", "b:2", "c:3"}, func(o *redis.Options) {
			Expect(o.Username + " " + o.Password).To(Equal("u p"))
		}),
	)

	It("adds what it is told to what an encrypted address says", func() {
		more := redisstore.OpenOptions{TLS: &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS13}}
		c, err := redisstore.Open("rediss://h:1", more)
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = c.Close() }()
		got := c.(*redis.Client).Options().TLSConfig
		Expect(got.RootCAs).To(BeIdenticalTo(more.TLS.RootCAs))
		Expect(got.ServerName).To(Equal("h"))
		Expect(got.InsecureSkipVerify).To(BeFalse())

		more.TLS.ServerName = "redis.example"
		c, err = redisstore.Open("rediss://a,b", more)
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = c.Close() }()
		got = c.(*redis.ClusterClient).Options().TLSConfig
		Expect(got.RootCAs).To(BeIdenticalTo(more.TLS.RootCAs))
		Expect(got.ServerName).To(Equal("redis.example"))

		for _, plain := range []string{"redis://h", "redis://a,b", "unix:///s"} {
			_, err = redisstore.Open(plain, more)
			Expect(err).To(MatchError(ContainSubstring("need rediss://")), plain)
		}
	})

	DescribeTable("refuses without showing the address", func(url string) {
		_, err := redisstore.Open(url, redisstore.OpenOptions{})
		Expect(err).To(HaveOccurred())
		for _, secret := range []string{"s3cret", "hostname"} {
			Expect(err.Error()).NotTo(ContainSubstring(secret))
		}
	},
		Entry("another scheme", "http://u:s3cret@hostname:1"),
		Entry("no scheme", "u:s3cret@hostname:1"),
		Entry("a password with a percent sign", "redis://u:s3cret%zz@hostname:1"),
		Entry("a password with a slash", "redis://u:s3cret/x@hostname:1"),
		Entry("a control character", "redis://u:s3cret\x7f@hostname:1"),
		Entry("a port that is none", "redis://u:s3cret@hostname:s3cret"),
		Entry("a database that is none", "redis://hostname/s3cret"),
		Entry("a cluster with a database", "redis://u:s3cret@hostname:1,b:2/3"),
		Entry("nothing", ""),
	)
})

// address is a listener that leads to whatever server it is pointed at; what is
// connected already stays where it is.
type address struct {
	net.Listener
	mu     sync.Mutex
	target string
}

func listen(target string) *address {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	a := &address{Listener: l, target: target}
	DeferCleanup(l.Close)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go a.carry(c)
		}
	}()
	return a
}

func (a *address) point(target string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.target = target
}

func (a *address) carry(near net.Conn) {
	a.mu.Lock()
	target := a.target
	a.mu.Unlock()
	far, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", target)
	if err != nil {
		_ = near.Close()
		return
	}
	pump := func(to, from net.Conn) {
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 {
				_, _ = to.Write(buf[:n])
			}
			if err != nil {
				_, _ = to.Close(), from.Close()
				return
			}
		}
	}
	go pump(far, near)
	pump(near, far)
}

var _ = Describe("a client from Open", func() {
	ctx := context.Background()
	open := func(url string) (redis.UniversalClient, *redisstore.Store) {
		c, err := redisstore.Open(url, redisstore.OpenOptions{ClientName: "fleet"})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(c.Close)
		return c, redisstore.New(c, rediskey.Default(), redisstore.Options{})
	}

	It("works again soon after the server is back", func() {
		s := redistest.StartServer(GinkgoTB())
		_, store := open(s.URL())
		Expect(store.Beat(ctx, "n1", time.Minute)).To(Succeed())
		s.Kill()
		for start := time.Now(); time.Since(start) < 2*time.Second; {
			Expect(store.Beat(ctx, "n1", time.Minute)).NotTo(Succeed())
			time.Sleep(10 * time.Millisecond)
		}
		Expect(s.Start()).To(Succeed())
		Eventually(func() error { return store.Beat(ctx, "n1", time.Minute) }, "2s", "10ms").Should(Succeed())
		for range 50 { // no connection of before is left to fail
			Expect(store.Beat(ctx, "n1", time.Minute)).To(Succeed())
		}
	})

	It("shows no password when it is refused", func() {
		s := redistest.StartServer(GinkgoTB(), "--requirepass", "right-5521")
		_, store := open("redis://:wrong-7431@" + s.Addr())
		err := store.Beat(ctx, "n1", time.Minute)
		Expect(err).To(HaveOccurred())
		Expect(err.Error()).To(ContainSubstring("write the heartbeat"))
		Expect(err.Error()).NotTo(ContainSubstring("7431"))
	})

	It("leaves a demoted server with all its connections, subscriptions too", func() {
		old, next := redistest.StartServer(GinkgoTB()), redistest.StartServer(GinkgoTB())
		a := listen(old.Addr())
		c, store := open("redis://" + a.Addr().String())
		sub := c.Subscribe(ctx, "ch")
		DeferCleanup(sub.Close)
		messages := sub.ChannelWithSubscriptions(redis.WithChannelHealthCheckInterval(0))
		Eventually(messages, "5s").Should(Receive(BeAssignableToTypeOf(&redis.Subscription{})))
		grant := lease.Grant{Session: "s", Holder: "n1"}
		grant.Token = store.Acquire(ctx, "n1", []lease.Claim{{Session: "s", TTL: time.Minute}})[0].Token

		admin := old.Client()
		DeferCleanup(admin.Close)
		time.Sleep(1100 * time.Millisecond) // connections older than the grace
		a.point(next.Addr())
		Expect(admin.Do(ctx, "REPLICAOF", "127.0.0.1", next.Port).Err()).To(Succeed())

		v := store.Renew(ctx, leasetest.Renewals(time.Minute, grant))[0] // in a pipeline
		Expect(v.Err).To(HaveOccurred())
		Expect(v.Err).NotTo(MatchError(lease.ErrLost))
		Eventually(func() error { return store.Beat(ctx, "n1", time.Minute) }, "3s", "20ms").Should(Succeed())
		Eventually(messages, "5s").Should(Receive(BeAssignableToTypeOf(&redis.Subscription{})))
		Eventually(func() string { return admin.Do(ctx, "CLIENT", "LIST").String() }, "3s").ShouldNot(ContainSubstring("name=fleet"))
		moved := next.Client()
		DeferCleanup(moved.Close)
		Expect(strings.Count(moved.Do(ctx, "CLIENT", "LIST").String(), "name=fleet")).To(BeNumerically(">=", 2))
	})

	It("leaves a server that goes on when it is told that the address leads elsewhere", func() {
		old, next := redistest.StartServer(GinkgoTB()), redistest.StartServer(GinkgoTB())
		a := listen(old.Addr())
		client, store := open("redis://" + a.Addr().String())
		Expect(store.Beat(ctx, "n1", time.Minute)).To(Succeed())
		a.point(next.Addr())
		Expect(store.Beat(ctx, "n2", time.Minute)).To(Succeed())
		redisstore.Reconnect(ctx, client)
		Expect(store.Beat(ctx, "n3", time.Minute)).To(Succeed())
		for server, nodes := range map[*redistest.Server][]string{old: {"poll:node:n1", "poll:node:n2"}, next: {"poll:node:n3"}} {
			admin := server.Client()
			DeferCleanup(admin.Close)
			Expect(admin.Keys(ctx, "*").Val()).To(ConsistOf(nodes))
		}
	})

	It("takes none of the connections that it has left, over TLS either", func() {
		ca := certtest.New(GinkgoTB())
		pair, err := tls.LoadX509KeyPair(ca.Pair(GinkgoTB(), "127.0.0.1"))
		Expect(err).NotTo(HaveOccurred())
		m := miniredis.NewMiniRedis()
		Expect(m.StartTLS(&tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})).To(Succeed())
		DeferCleanup(m.Close)
		client, store := open("rediss://" + m.Addr() + "?skip_verify=true")
		var beats sync.WaitGroup
		for range 16 {
			beats.Go(func() { _ = store.Beat(ctx, "n1", time.Minute) })
		}
		beats.Wait()
		Expect(client.PoolStats().IdleConns).To(BeNumerically(">", 1))
		redisstore.Reconnect(ctx, client)
		for range 20 {
			Expect(store.Beat(ctx, "n1", time.Minute)).To(Succeed())
		}
	})

	It("leaves a demoted server with connections that are young too, a second later", func() {
		old, next := redistest.StartServer(GinkgoTB()), redistest.StartServer(GinkgoTB())
		a := listen(old.Addr())
		_, store := open("redis://" + a.Addr().String())
		admin := old.Client()
		DeferCleanup(admin.Close)
		clients := func() int { return strings.Count(admin.Do(ctx, "CLIENT", "LIST").String(), "name=fleet") }
		old.Pause() // so that each of these needs a connection of its own
		var beats sync.WaitGroup
		for range 5 {
			beats.Go(func() { _ = store.Beat(ctx, "n1", time.Minute) })
		}
		time.Sleep(50 * time.Millisecond)
		old.Continue()
		beats.Wait()
		Expect(clients()).To(BeNumerically(">", 2))
		a.point(next.Addr())
		Expect(admin.Do(ctx, "REPLICAOF", "127.0.0.1", next.Port).Err()).To(Succeed())

		Expect(store.Beat(ctx, "n1", time.Minute)).To(MatchError(ContainSubstring("READONLY")))
		Eventually(clients, "3s", "20ms").Should(BeZero())
		Expect(store.Beat(ctx, "n1", time.Minute)).To(Succeed())
	})
})
