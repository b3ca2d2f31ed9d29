package bubble

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

var (
	suiteT     *testing.T
	errStopped = errors.New("assertion failed")
)

// Bind names the suite's T. Call it in the suite's TestXxx, before RunSpecs.
func Bind(t *testing.T) {
	t.Helper()
	suiteT = t
}

// Run runs f in a bubble of virtual time. A failed assertion of g inside becomes
// a Ginkgo failure that shows the assertion's line.
func Run(f func(g gomega.Gomega)) {
	ginkgo.GinkgoHelper()
	if suiteT == nil {
		panic("bubble.Run before bubble.Bind: call bubble.Bind(t) in the suite's TestXxx")
	}
	if failure := run(suiteT, f); failure != "" {
		ginkgo.Fail(failure, 1)
	}
}

// RunOn is Run for an ordinary test. Several may run at a time, each on a T of its
// own.
func RunOn(t *testing.T, f func(g gomega.Gomega)) {
	t.Helper()
	if failure := run(t, f); failure != "" {
		t.Error(failure)
	}
}

func run(t *testing.T, f func(g gomega.Gomega)) (failure string) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		defer func() {
			r := recover()
			if err, ok := r.(error); r != nil && (!ok || !errors.Is(err, errStopped)) {
				panic(r)
			}
		}()
		f(gomega.NewGomega(func(msg string, _ ...int) {
			failure = msg
			panic(errStopped)
		}))
	})
	return failure
}

// Sleep lets d of virtual time pass, and then everything that it woke come to
// rest. Variables that other goroutines wrote before are safe to read after it.
func Sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Settle lets the leftovers of a stopped actor system end: proto.actor's throttle
// of dead letters keeps a timer of one second. It is the last call of a spec.
func Settle() {
	Sleep(2 * time.Second)
}
