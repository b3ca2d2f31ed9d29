package httpapi

import (
	"net/http"

	"leasehold/session"
)

// runNow has a task begun by whoever has its lease, or gets it, within seconds. To ask
// again before that is to ask once, so the request may be repeated.
func (a *api) runNow(r *call) answer {
	doc, p := a.document(r)
	if p != nil {
		return refuse(p)
	}
	s, err := a.read(doc)
	if err != nil {
		return refuse(noRun("its document can't be used: " + err.Error()))
	}
	if p := runnable(s); p != nil {
		return refuse(p)
	}
	if err := a.Store.Ask(r.Context(), r.id); err != nil {
		return refuse(unknown(err))
	}

	return answer{status: http.StatusAccepted}
}

// runnable says why no node runs the session when it is asked for; nil: one does.
func runnable(s session.Session) *problem {
	switch {
	case s.Kind == session.External:
		return noRun("it is external: no node runs it")
	case s.Paused:
		return noRun("it is paused")
	case !s.Task():
		return noRun("it is no task: its document names neither misfire nor cron")
	}

	return nil
}

func noRun(reason string) *problem {
	return newProblem(http.StatusConflict, "can't be run", reason)
}
