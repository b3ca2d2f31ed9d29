package httpapi

import (
	"net/http"

	"leasehold/fleetview"
)

// runNow has a task begun by whoever has its lease, or gets it, within seconds. To ask
// again before that is to ask once, so the request may be repeated.
func (a *api) runNow(r *call) answer {
	doc, p := a.document(r)
	if p != nil {
		return refuse(p)
	}
	s, err := a.rules().Read(doc)
	if err != nil {
		return refuse(noRun("its document can't be used: " + err.Error()))
	}
	if reason := fleetview.Runnable(s); reason != "" {
		return refuse(noRun(reason))
	}
	if err := a.Store.Ask(r.Context(), r.id); err != nil {
		return refuse(unknown(err))
	}

	return answer{status: http.StatusAccepted}
}

func noRun(reason string) *problem {
	return newProblem(http.StatusConflict, "can't be run", reason)
}
