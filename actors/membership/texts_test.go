package membership

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/session"
)

var _ = Describe("what the scans found", func() {
	It("is the same until it changes or goes, and nothing is after a scan that failed", func() {
		t := newTexts()
		scan := func(err error, texts ...string) (same []bool) {
			for i, text := range texts {
				fingerprint, ok := t.same(session.Document{ID: ids(9)[i], Raw: []byte(text)})
				Expect(fingerprint).To(Equal(session.Fingerprint([]byte(text))))
				same = append(same, ok)
			}
			t.end(err)
			return same
		}
		Expect(scan(nil, "a", "b")).To(Equal([]bool{false, false}))
		Expect(scan(nil, "a", "c")).To(Equal([]bool{true, false}))
		Expect(scan(nil, "a")).To(Equal([]bool{true}))
		Expect(scan(nil, "a", "c")).To(Equal([]bool{true, false}), "it was gone meanwhile")
		Expect(scan(errRedis, "d", "c")).To(Equal([]bool{false, true}))
		Expect(scan(nil, "d", "c")).To(Equal([]bool{false, false}))
		Expect(scan(nil, "d", "c")).To(Equal([]bool{true, true}))
	})

	It("is never what has no text", func() {
		t := newTexts()
		for range 2 {
			_, ok := t.same(session.Document{ID: "s0"})
			Expect(ok).To(BeFalse())
			_, ok = t.same(session.Document{ID: "s1", Err: errRedis})
			Expect(ok).To(BeFalse())
			t.end(nil)
		}
	})
})
