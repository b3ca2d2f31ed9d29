package httppoll_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/httppoll"
)

var _ = Describe("the request of a poll", func() {
	BeforeEach(noLeaks)

	type seen struct {
		*http.Request

		body string
	}
	var (
		got    chan seen
		server *httptest.Server
		client *httppoll.Client
	)
	BeforeEach(func() {
		got = make(chan seen, 10)
		server = serve(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			got <- seen{r, string(b)}
			_, _ = io.WriteString(w, "fine")
		})
		client = newClient(httppoll.Config{Version: "1.2.3"})
	})

	It("names the version, the instance and the token", func(ctx SpecContext) {
		out := client.Poll(ctx, to(server.URL))
		Expect(out.Err).NotTo(HaveOccurred())
		Expect(out).To(And(HaveField("OK", true), HaveField("Class", "success"), HaveField("Status", 200), HaveField("Bytes", int64(4))))
		Expect(out.Duration).To(BeNumerically(">", 0))

		r := <-got
		Expect(r.Method).To(Equal("GET"))
		Expect(r.UserAgent()).To(Equal("leasehold/1.2.3"))
		Expect(r.Header.Get("Leasehold-Instance")).To(Equal("node-1-abcdef01"))
		Expect(r.Header.Get("Leasehold-Token")).To(Equal("42"))
	})

	It("carries what the poll's context has for the target, in each hop", func(ctx SpecContext) {
		type key struct{}
		client = newClient(httppoll.Config{Inject: func(ctx context.Context, h http.Header) {
			h.Set("Traceparent", ctx.Value(key{}).(string))
		}})
		hops := serve(func(w http.ResponseWriter, r *http.Request) {
			got <- seen{r, ""}
			if r.URL.Path == "/" {
				http.Redirect(w, r, "/next", http.StatusFound)
			}
		})
		req := to(hops.URL + "/")
		req.Session.Headers = map[string]string{"traceparent": "the document's"}
		Expect(client.Poll(context.WithValue(ctx, key{}, "the poll's"), req).Err).NotTo(HaveOccurred())
		for range 2 {
			Expect((<-got).Header.Values("Traceparent")).To(HaveExactElements("the poll's"))
		}
	})

	It("sends the document's method, body and headers", func(ctx SpecContext) {
		req := to(server.URL + "/a%2Fb?x=1")
		req.Session.Method = http.MethodPost
		req.Session.Body = `{"ping":1}`
		req.Session.Headers = map[string]string{
			"content-type": "application/json", "Authorization": "Bearer t0k3n", "host": "virtual.example", "User-Agent": "mine/1",
		}
		Expect(client.Poll(ctx, req).Err).NotTo(HaveOccurred())

		r := <-got
		Expect(r.Method).To(Equal("POST"))
		Expect(r.RequestURI).To(Equal("/a%2Fb?x=1"))
		Expect(r.body).To(Equal(`{"ping":1}`))
		Expect(r.Host).To(Equal("virtual.example"))
		Expect(r.Header.Get("Content-Type")).To(Equal("application/json"))
		Expect(r.Header.Get("Authorization")).To(Equal("Bearer t0k3n"))
		Expect(r.UserAgent()).To(Equal("mine/1"))
	})

	It("lets no document speak for the fleet", func(ctx SpecContext) {
		req := to(server.URL)
		req.Session.Headers = map[string]string{
			"leasehold-token": "99", "LEASEHOLD-INSTANCE": "other", "Leasehold-Extra": "x",
		}
		Expect(client.Poll(ctx, req).Err).NotTo(HaveOccurred())

		r := <-got
		Expect(r.Header.Values("Leasehold-Token")).To(Equal([]string{"42"}))
		Expect(r.Header.Values("Leasehold-Instance")).To(Equal([]string{"node-1-abcdef01"}))
		Expect(r.Header).NotTo(HaveKey("Leasehold-Extra"))
	})

	It("turns the URL's user part into credentials, unless the document has its own", func(ctx SpecContext) {
		req := to(strings.Replace(server.URL, "http://", "http://jane:pa%40ss@", 1))
		Expect(client.Poll(ctx, req).Err).NotTo(HaveOccurred())
		user, password, ok := (<-got).BasicAuth()
		Expect(ok).To(BeTrue())
		Expect(user + " " + password).To(Equal("jane pa@ss"))

		req.Session.Headers = map[string]string{"Authorization": "Bearer t"}
		Expect(client.Poll(ctx, req).Err).NotTo(HaveOccurred())
		Expect((<-got).Header.Get("Authorization")).To(Equal("Bearer t"))
	})

	It("goes to the target although the environment names a proxy", func(ctx SpecContext) {
		asked := make(chan struct{}, 10)
		proxy := serve(func(http.ResponseWriter, *http.Request) { asked <- struct{}{} })
		GinkgoT().Setenv("HTTP_PROXY", proxy.URL)
		GinkgoT().Setenv("http_proxy", proxy.URL)
		req := to("http://target.invalid:9/")
		out := newClient(httppoll.Config{}).Poll(ctx, req)
		Expect(out.Class).To(Equal("dns_error"), "%v", out.Err)
		Expect(asked).To(BeEmpty())
	})

	DescribeTable("fails without sending anything", func(ctx SpecContext, url, text string) {
		out := client.Poll(ctx, to(url))
		Expect(out.OK).To(BeFalse())
		Expect(out.Class).To(Equal("http_error"))
		Expect(out.Err).To(MatchError(ContainSubstring(text)))
	},
		Entry("for a file", "file:///etc/passwd", "scheme"),
		Entry("for no URL", "", "scheme"),
		Entry("for no host", "http://", "no host"),
		Entry("for what is no URL", "http://u:p4ss/word@h:x/", "cannot be parsed"),
	)
})
