package bubble_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
)

func TestBubble(t *testing.T) {
	bubble.Bind(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "internal/bubble")
}

// TestFailing is the suite that the spec below runs in a process of its own.
func TestFailing(t *testing.T) {
	if os.Getenv(failingEnv) == "" {
		return
	}
	bubble.Bind(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "failing")
}

const failingEnv = "LEASEHOLD_TEST_BUBBLE_FAILING"

var _ = Describe("a bubble", func() {
	if os.Getenv(failingEnv) != "" {
		It("fails", func() {
			bubble.Run(func(g Gomega) { g.Expect(1).To(Equal(2), "one is not two") })
		})

		return
	}

	It("passes hours without waiting", func() {
		began := time.Now()
		bubble.Run(func(g Gomega) {
			start := time.Now()
			bubble.Sleep(72 * time.Hour)
			g.Expect(time.Since(start)).To(Equal(72 * time.Hour))
		})
		Expect(time.Since(began)).To(BeNumerically("<", time.Minute))
	})

	It("reports a failed assertion as an ordinary failure at its line", func() {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFailing$")
		cmd.Env = append(os.Environ(), failingEnv+"=1")
		out, err := cmd.CombinedOutput()
		Expect(err).To(HaveOccurred())
		Expect(string(out)).To(ContainSubstring("[FAILED]"))
		Expect(string(out)).To(ContainSubstring("one is not two"))
		Expect(string(out)).To(MatchRegexp(`\[It\].*suite_test.go:\d+`))
		Expect(string(out)).NotTo(ContainSubstring("PANICKED"))
	})

	It("makes what other goroutines wrote visible", func() {
		bubble.Run(func(g Gomega) {
			n := 0
			go func() {
				time.Sleep(time.Second)
				n = 1
			}()
			bubble.Sleep(time.Second) // the very instant of the write
			g.Expect(n).To(Equal(1))
		})
	})
})
