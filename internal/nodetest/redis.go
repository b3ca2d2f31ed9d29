package nodetest

import (
	"time"

	"leasehold/internal/redistest"
)

// replicaUptime is how long a replica that takes over has been running.
const replicaUptime = 24 * time.Hour

// RestartRedis starts Redis anew: connections closed, flags and scripts gone, another
// run ID. With its data TTLs go on; without, documents are gone too.
func (f *Fleet) RestartRedis(withData bool) {
	f.Events.Replace(0, func() {
		if withData {
			f.Mini.Reload()
		} else {
			f.Mini.Replace(nil)
		}
	})
}

// FailOver lets a replica take over whose data is of the moment of the snapshot: what
// was written since is lost. Connections are closed, flags and scripts gone, and the
// server has other IDs.
func (f *Fleet) FailOver(to *redistest.Snapshot) {
	f.Events.Replace(replicaUptime, func() { f.Mini.Replace(to) })
}
