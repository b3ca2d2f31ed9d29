package httppoll_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/httppoll"
)

func zipped(parts ...[]byte) []byte {
	var b bytes.Buffer
	for _, part := range parts {
		z := gzip.NewWriter(&b)
		_, _ = z.Write(part)
		_ = z.Close()
	}
	return b.Bytes()
}

var _ = Describe("the answer's body", func() {
	BeforeEach(noLeaks)

	const limit = 100_000

	sending := func(encoding string, body []byte, chunked bool) string {
		return serve(func(w http.ResponseWriter, _ *http.Request) {
			if encoding != "" {
				w.Header().Set("Content-Encoding", encoding)
			}
			if !chunked {
				w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			}
			_, _ = w.Write(body)
		}).URL
	}

	DescribeTable("is bounded after decompression", func(ctx SpecContext, encoding string, body []byte, chunked bool, class string, n int) {
		client := newClient(httppoll.Config{MaxBody: limit})
		out := client.Poll(ctx, to(sending(encoding, body, chunked)))
		Expect(out.Class).To(Equal(class), "%v", out.Err)
		Expect(out.Bytes).To(Equal(int64(n)))
	},
		Entry("at the bound", "", make([]byte, limit), false, "success", limit),
		Entry("at the bound, chunked", "", make([]byte, limit), true, "success", limit),
		Entry("one byte above", "", make([]byte, limit+1), false, "too_large", 0),
		Entry("one byte above, chunked", "", make([]byte, limit+1), true, "too_large", limit),
		Entry("compressed at the bound", "gzip", zipped(make([]byte, limit)), false, "success", limit),
		Entry("compressed above the bound", "gzip", zipped(make([]byte, limit+1)), false, "too_large", limit),
		Entry("a bomb", "gzip", zipped(make([]byte, 16<<20)), true, "too_large", limit),
		Entry("several members", "GZIP", zipped([]byte("ab"), []byte("cd")), true, "success", 4),
		Entry("compressed and empty", "gzip", nil, false, "success", 0),
	)

	DescribeTable("is kept as far as the document says", func(ctx SpecContext, encoding string, body []byte, keep int, want string) {
		for _, status := range []int{http.StatusOK, http.StatusTeapot} {
			r := to(serve(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", encoding)
				w.WriteHeader(status)
				_, _ = w.Write(body)
			}).URL)
			r.Session.KeepBody = keep
			out := newClient(httppoll.Config{MaxBody: limit}).Poll(ctx, r)
			Expect(out.Status).To(Equal(status))
			Expect(string(out.Body)).To(Equal(want))
			Expect(out.Bytes).To(BeNumerically(">=", len(want)))
		}
	},
		Entry("not at all", "", []byte("hello"), 0, ""),
		Entry("in part", "", []byte("hello"), 2, "he"),
		Entry("whole", "", []byte("hello"), 100, "hello"),
		Entry("over several reads", "", bytes.Repeat([]byte("x"), 60_000), 50_000, strings.Repeat("x", 50_000)),
		Entry("decompressed", "gzip", zipped([]byte("hel"), []byte("lo")), 4, "hell"),
		Entry("up to the character that the end cuts", "", []byte("ab語"), 4, "ab"),
		Entry("up to one of which three bytes of four are left", "", []byte("ab🚦"), 5, "ab"),
		Entry("whole, though it ends like a character that was cut", "", []byte("ab\xe4\xbc"), 100, "ab\xe4\xbc"),
		Entry("whole, with just enough room", "", []byte("ab\xe4\xbc"), 4, "ab\xe4\xbc"),
		Entry("in part, where it is no text", "", []byte("\xff\x00\xe4\xbc\x00"), 4, "\xff\x00\xe4\xbc"),
	)

	It("is kept up to the character at which it breaks off, or grows too large", func(ctx SpecContext) {
		for _, status := range []int{http.StatusOK, http.StatusTeapot} {
			r := to(serve(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "100")
				w.WriteHeader(status)
				_, _ = w.Write([]byte("ab\xe4\xbc"))
			}).URL)
			r.Session.KeepBody = 100
			out := newClient(httppoll.Config{}).Poll(ctx, r)
			Expect(out.OK).To(BeFalse())
			Expect(string(out.Body)).To(Equal("ab"))
		}
		r := to(serve(func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush() // before its length is known
			_, _ = w.Write([]byte("ab語 and more"))
		}).URL)
		r.Session.KeepBody = 100
		out := newClient(httppoll.Config{MaxBody: 3}).Poll(ctx, r)
		Expect(out.Class).To(Equal("too_large"))
		Expect(string(out.Body)).To(Equal("ab"))
	})

	It("is bounded before decompression", func(ctx SpecContext) {
		empty := zipped(nil)
		s := serve(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat(empty, 1000)); err != nil {
					return
				}
			}
		})
		out := newClient(httppoll.Config{MaxBody: limit}).Poll(ctx, to(s.URL))
		Expect(out.Class).To(Equal("too_large"))
	})

	It("is bounded when it never ends", func(ctx SpecContext) {
		s := serve(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		})
		out := newClient(httppoll.Config{}).Poll(ctx, to(s.URL))
		Expect(out.Class).To(Equal("too_large"))
		Expect(out.Bytes).To(Equal(int64(httppoll.DefaultMaxBody)))
	})

	It("is searched after decompression, also across two reads", func(ctx SpecContext) {
		client := newClient(httppoll.Config{})
		for _, want := range []string{"needle", "N", strings.Repeat("long", 10_000)} {
			for _, at := range []int{0, 1, 16<<10 - 3, 16<<10 - 1, 16 << 10, 50_000} {
				body := append(bytes.Repeat([]byte("n"), at), want...)
				r := to(sending("gzip", zipped(body[:at+1], body[at+1:]), true))
				r.Session.Expect.BodyContains = want
				Expect(client.Poll(ctx, r).Err).NotTo(HaveOccurred(), "%.10s at %d", want, at)
				r.Session.Expect.BodyContains = want + "x"
				Expect(client.Poll(ctx, r).Class).To(Equal("assertion"), "%.10s at %d", want, at)
			}
		}
	})

	It("is decompressed when the document asks for compression itself", func(ctx SpecContext) {
		r := to(sending("gzip", zipped([]byte("plain text")), true))
		r.Session.Headers = map[string]string{"Accept-Encoding": "gzip"}
		r.Session.Expect.BodyContains = "plain"
		Expect(newClient(httppoll.Config{}).Poll(ctx, r).Err).NotTo(HaveOccurred())
	})
})
