package httppoll_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/httppoll"
)

var _ = Describe("a redirected poll", func() {
	BeforeEach(noLeaks)

	redirecting := func(status int, location func(self string) string) *httptest.Server {
		var s *httptest.Server
		s = serve(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/there":
				b, _ := io.ReadAll(r.Body)
				_, _ = fmt.Fprintf(w, "%s %q host=%s auth=%s token=%s type=%s",
					r.Method, b, r.Host, r.Header.Get("Authorization"), r.Header.Get("Leasehold-Token"), r.Header.Get("Content-Type"))
			default:
				w.Header().Set("Location", location(s.URL))
				w.WriteHeader(status)
			}
		})
		return s
	}

	DescribeTable("is refused for another origin, which hears nothing", func(ctx SpecContext, location func(self, other string) string) {
		var heard atomic.Int32
		other := serve(func(http.ResponseWriter, *http.Request) { heard.Add(1) })
		s := redirecting(http.StatusFound, func(self string) string { return location(self, other.URL) })
		r := to(s.URL + "/start")
		r.Session.Headers = map[string]string{"Authorization": "Bearer s3cret"}
		out := newClient(httppoll.Config{}).Poll(ctx, r)
		Expect(out.OK).To(BeFalse())
		Expect(out.Class).To(Equal("http_error"))
		Expect(out.Status).To(Equal(302))
		Expect(out.Err).To(MatchError(And(ContainSubstring("another origin"), ContainSubstring("refused"))))
		Expect(out.Err.Error()).NotTo(Or(ContainSubstring("s3cret"), ContainSubstring("passwd"), ContainSubstring("internal")))
		Expect(heard.Load()).To(BeZero())
	},
		Entry("another port", func(_, other string) string { return other + "/p/internal?key=s3cret" }),
		Entry("a file", func(_, _ string) string { return "file:///etc/passwd" }),
		Entry("an address of the cloud", func(_, _ string) string { return "http://169.254.169.254/internal" }),
		Entry("another scheme", func(self, _ string) string { return strings.Replace(self, "http", "https", 1) }),
		Entry("another name of the same host", func(self, _ string) string { return strings.Replace(self, "127.0.0.1", "localhost", 1) }),
		Entry("a host without a scheme", func(_, other string) string { return strings.TrimPrefix(other, "http:") }),
		Entry("a user part that looks like the host", func(self, other string) string {
			return "http://" + strings.TrimPrefix(self, "http://") + "@" + strings.TrimPrefix(other, "http://")
		}),
	)

	It("is refused when the location is no URL", func(ctx SpecContext) {
		s := redirecting(http.StatusFound, func(string) string { return "http://u:s3cret/x@h:y/" })
		out := newClient(httppoll.Config{}).Poll(ctx, to(s.URL))
		Expect(out.Class).To(Equal("http_error"))
		Expect(out.Err.Error()).NotTo(ContainSubstring("s3cret"))
	})

	It("ends after 5 redirects", func(ctx SpecContext) {
		var asked atomic.Int32
		s := serve(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		})
		out := newClient(httppoll.Config{}).Poll(ctx, to(s.URL+"/self"))
		Expect(out.Class).To(Equal("http_error"))
		Expect(out.Err).To(MatchError(ContainSubstring("more than 5 redirects")))
		Expect(asked.Load()).To(Equal(int32(6)), "the request and five more")
	})

	It("follows exactly 5 redirects", func(ctx SpecContext) {
		s := serve(func(w http.ResponseWriter, r *http.Request) {
			if len(r.URL.Path) < 6 {
				http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
			}
		})
		Expect(newClient(httppoll.Config{}).Poll(ctx, to(s.URL+"/")).Err).NotTo(HaveOccurred())
	})

	DescribeTable("keeps its headers and, where the status says so, its method and body",
		func(ctx SpecContext, status int, method, want string) {
			s := redirecting(status, func(self string) string { return self + "/there" })
			r := to(strings.Replace(s.URL, "http://", "http://u:p@", 1) + "/start")
			r.Session.Method = method
			r.Session.Headers = map[string]string{"Host": "virtual.example", "Content-Type": "text/x"}
			if method == http.MethodPost {
				r.Session.Body = "ping"
			}
			r.Session.Expect.BodyContains = want
			out := newClient(httppoll.Config{}).Poll(ctx, r)
			Expect(out.Err).NotTo(HaveOccurred())
		},
		Entry("302 of POST", 302, "POST", `GET "" host=virtual.example auth=Basic dTpw token=42 type=`),
		Entry("303 of POST", 303, "POST", `GET "" host=virtual.example auth=Basic dTpw token=42 type=`),
		Entry("307 of POST", 307, "POST", `POST "ping" host=virtual.example auth=Basic dTpw token=42 type=text/x`),
		Entry("308 of POST", 308, "POST", `POST "ping" host=virtual.example auth=Basic dTpw token=42 type=text/x`),
		Entry("301 of GET", 301, "GET", `GET "" host=virtual.example auth=Basic dTpw token=42`),
	)

	It("is a success without following when the document expects the status", func(ctx SpecContext) {
		s := redirecting(http.StatusFound, func(string) string { return "http://169.254.169.254/" })
		r := to(s.URL)
		r.Session.Expect.Status = []int{302}
		out := newClient(httppoll.Config{}).Poll(ctx, r)
		Expect(out.Err).NotTo(HaveOccurred())
		Expect(out.Status).To(Equal(302))
	})
})
