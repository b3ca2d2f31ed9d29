package tenure_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
)

func TestTenure(t *testing.T) {
	bubble.Bind(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "actors/tenure")
}
