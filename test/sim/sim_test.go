package sim

import (
	"os"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
)

func TestSim(t *testing.T) {
	bubble.Bind(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "sim")
}

func number(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

var _ = Describe("a fleet under random faults", func() {
	It("polls nothing twice at once and loses nothing", func() {
		first, count := number("SEED", 1), number("SEEDS", 5)
		for seed := first; seed < first+count; seed++ {
			begun := time.Now()
			bubble.Run(func(g Gomega) {
				err := Run(g, seed, 20*time.Minute)
				g.Expect(err).NotTo(HaveOccurred(), "seed %d", seed)
			})
			GinkgoWriter.Printf("seed %d: %s\n", seed, time.Since(begun))
		}
	})
})
