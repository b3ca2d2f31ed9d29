package httpapi

import (
	"net/http"
	"net/http/pprof"
)

// profiles serves those of the process. Its command line is not among them: a flag
// may hold a password.
func (a *api) profiles(mux *http.ServeMux) {
	const path = "/debug/pprof/"
	for name, show := range map[string]http.HandlerFunc{
		"": pprof.Index, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
	} {
		mux.HandleFunc(path+name, func(w http.ResponseWriter, r *http.Request) {
			if p := a.guard.admit(w, r); p != nil {
				p.write(w)

				return
			}
			show(w, r)
		})
	}
}
