package httppoll_test

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/httppoll"
)

func networks(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

var _ = Describe("a target that is denied", func() {
	BeforeEach(noLeaks)

	DescribeTable("is not connected to", func(ctx SpecContext, rule, host string) {
		client := newClient(httppoll.Config{Deny: networks("203.0.113.0/24", rule)})
		r := to("http://user:secret@" + host + ":9/secret?k=secret")
		r.Session.Timeout = 2 * time.Second
		out := client.Poll(ctx, r)
		Expect(out.OK).To(BeFalse())
		Expect(out.Class).To(Equal("denied"), out.Err.Error())
		Expect(out.Err.Error()).To(And(ContainSubstring("LEASEHOLD_DENY_TARGETS has "+rule), Not(ContainSubstring("secret"))))
	},
		Entry("by its address", "192.0.2.0/24", "192.0.2.7"),
		Entry("by a name", "127.0.0.0/8", "localhost"),
		Entry("for metadata", "169.254.0.0/16", "169.254.169.254"),
		Entry("as IPv4 in IPv6", "169.254.0.0/16", "[::ffff:169.254.169.254]"),
		Entry("as IPv4 in hexadecimal IPv6", "169.254.0.0/16", "[::ffff:a9fe:a9fe]"),
		Entry("behind NAT64", "169.254.0.0/16", "[64:ff9b::a9fe:a9fe]"),
		Entry("behind a translator without state", "169.254.0.0/16", "[::ffff:0:a9fe:a9fe]"),
		Entry("behind 6to4", "169.254.0.0/16", "[2002:a9fe:a9fe::1]"),
		Entry("by IPv6", "fd00:ec2::254/128", "[fd00:ec2::254]"),
		Entry("by link-local IPv6 with a zone", "fe80::/10", "[fe80::1%25lo]"),
		Entry("by no address, which is this machine", "127.0.0.0/8", "0.0.0.0"),
		Entry("by no address of IPv6", "::1/128", "[::]"),
	)

	// Some systems hand the dialer such an address as it is, others as IPv4.
	It("is known as IPv4 in IPv6 on any system", func() {
		Expect(httppoll.Denied(networks("169.254.0.0/16"), netip.MustParseAddr("::ffff:169.254.169.254"))).To(BeTrue())
		Expect(httppoll.Denied(networks("169.254.0.0/16"), netip.MustParseAddr("::ffff:169.253.169.254"))).To(BeFalse())
	})

	It("is told apart from its neighbors", func(ctx SpecContext) {
		target := serve(answering("x"))
		for _, rules := range [][]netip.Prefix{nil, networks("127.0.0.2/32", "::1/128", "169.254.0.0/16", "fe80::/10")} {
			client := newClient(httppoll.Config{Deny: rules})
			Expect(client.Poll(ctx, to(target.URL)).OK).To(BeTrue())
		}
	})

	// The name means another address at each look, as in an attack by DNS: the redirect
	// makes a new connection, and that is looked at again.
	It("is noticed when a redirect connects anew", func(ctx SpecContext) {
		var asked atomic.Int32
		target := serve(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			w.Header().Set("Connection", "close")
			http.Redirect(w, r, "/next", http.StatusFound)
		})
		_, port, err := net.SplitHostPort(strings.TrimPrefix(target.URL, "http://"))
		Expect(err).NotTo(HaveOccurred())
		rules := networks("192.0.2.0/24")
		client := newClient(httppoll.Config{Deny: rules})
		client.OnDial(func() {
			if asked.Load() == 1 { // the second connection
				rules[0] = netip.MustParsePrefix("127.0.0.0/8")
			}
		})
		out := client.Poll(ctx, to("http://127.0.0.1:"+port+"/first"))
		Expect(out.Class).To(Equal("denied"))
		Expect(asked.Load()).To(BeEquivalentTo(1))
	})

	It("costs nothing on a connection that is used again", func(ctx SpecContext) {
		target := serve(answering("x"))
		client := newClient(httppoll.Config{Deny: networks("192.0.2.0/24")})
		dials := 0
		client.OnDial(func() { dials++ })
		for range 3 {
			Expect(client.Poll(ctx, to(target.URL)).OK).To(BeTrue())
		}
		Expect(dials).To(Equal(1))
	})
})
