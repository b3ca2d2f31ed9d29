package memory_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/memory"
)

func TestMemory(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "memory")
}

var _ = Describe("a heap", func() {
	DescribeTable("may grow by its double while it is small, and by less the larger it is", func(live uint64, want int) {
		Expect(memory.Percent(live, live)).To(Equal(want))
		Expect(memory.Percent(live, live+live/3)).To(Equal(want), "it has shrunk")
		Expect(memory.Percent(live, live-live/20)).To(Equal(want), "it has grown by little")
		Expect(memory.Percent(live, live/2)).To(Equal(100), "it fills up")
	},
		Entry("unknown", uint64(0), 100),
		Entry("of an idle node", uint64(8<<20), 100),
		Entry("of 48 MiB", uint64(48<<20), 100),
		Entry("of 96 MiB", uint64(96<<20), 50),
		Entry("of 160 MiB", uint64(160<<20), 30),
		Entry("of 240 MiB", uint64(240<<20), 20),
		Entry("of 320 MiB", uint64(320<<20), 15),
		Entry("of 10 GiB", uint64(10<<30), 15),
	)

	It("is full once for each height, however it goes up and down", func() {
		var fill memory.Filling
		full := 0
		for i := range 1000 {
			if fill.Full(uint64(94<<20 + i%9<<20)) {
				full++
			}
		}
		Expect(full).To(BeNumerically("~", 1, 1))
		for range 100 {
			if fill.Full(200 << 20) {
				full += 10
			}
		}
		Expect(full).To(BeNumerically("~", 11, 1))
	})

	It("gives back once, when it has filled up and stood still, what it needed on the way", func() {
		ctx, end := context.WithCancel(context.Background())
		defer end()
		var hold []byte
		freed := make(chan time.Time, 10)
		defer debug.SetGCPercent(debug.SetGCPercent(100))
		go memory.TendWith(ctx, func() { freed <- time.Now() })
		Consistently(freed, "3s").ShouldNot(Receive(), "it has not filled up")
		hold = make([]byte, 200<<20)
		runtime.GC()
		filled := time.Now()
		Eventually(freed, "20s").Should(Receive(BeTemporally(">", filled.Add(5*time.Second))))
		Consistently(freed, "3s").ShouldNot(Receive())
		runtime.KeepAlive(hold)
	})

	It("is tended: what it may grow by follows it", func() {
		defer debug.SetGCPercent(debug.SetGCPercent(100))
		ctx, end := context.WithCancel(context.Background())
		defer end()
		hold := make([]byte, 400<<20)
		runtime.GC()
		go memory.Tend(ctx)
		percent := func() int {
			p := debug.SetGCPercent(-1)
			debug.SetGCPercent(p)
			return p
		}
		Eventually(percent, "5s", "100ms").Should(Equal(15))
		runtime.KeepAlive(hold)
		runtime.GC()
		Eventually(percent, "5s", "100ms").Should(Equal(100))
	})
})
