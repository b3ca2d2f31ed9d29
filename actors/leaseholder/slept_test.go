package leaseholder_test

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/leaseholder"
	"leasehold/actors/poller"
	"leasehold/actors/tree"
	"leasehold/internal/actortest"
	"leasehold/internal/bubble"
	"leasehold/lease/cell"
)

var _ = Describe("a leaseholder whose machine slept for ten minutes", func() {
	It("does not report that its lease was trusted until now", func() {
		bubble.Run(func(g Gomega) {
			b := &bench{g: g, system: actortest.NewSystem()}
			defer b.system.Close()
			b.renewer = b.system.NewProbe(nil)
			b.parent = b.system.NewProbe(stopEnded)
			defer b.parent.Stop()
			ahead := time.Duration(0)
			deps := &leaseholder.Deps{
				Context: cell.WithWall(context.Background(), func(t time.Time) time.Time { return t.Add(ahead) }),
				Renewer: b.renewer.PID(), Log: b.system.Log, Report: b.system.Report,
				Poller: func(cfg poller.Config) *actor.Props {
					b.cell = cfg.Cell
					return tree.Props(func() actor.Actor { return b }, b.system.Report)
				},
			}
			b.pid = b.parent.Spawn(leaseholder.Maker(deps)(config()), "s.7.1")
			bubble.Sleep(time.Second)
			ahead = 10 * time.Minute // the monotonic clock stood still meanwhile
			g.Expect(b.cell.Slept()).To(BeTrue())
			bubble.Sleep(0)
			b.endPoller()
			g.Expect(b.ended()).To(HaveLen(1))
			// On the wall clock the trust ended 9 min 33 s ago; others may have had the lease since.
			g.Expect(b.ended()[0].Trusted).To(BeTemporally("<", time.Now()))
		})
	})
})
