package keeper

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
)

func TestKeeper(t *testing.T) {
	bubble.Bind(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "actors/keeper")
}
