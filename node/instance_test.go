package node_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/node"
)

var _ = Describe("an instance ID", func() {
	It("is new at every start, also at one moment", func() {
		seen := make(map[string]bool)
		for range 100 {
			id := node.InstanceID("n-1", time.Unix(0, 1764288000123456789))
			Expect(id).To(MatchRegexp(`^n-1-1764288000123456789-[0-9a-f]{8}$`))
			seen[id] = true
		}
		// Two of a hundred random numbers may meet once in a million runs.
		Expect(len(seen)).To(BeNumerically(">=", 99))
	})
})
