package metrics

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// HTTP counts the requests that next answers, by the pattern that [http.Request] names
// afterwards. Call it once; without metrics it returns next.
func (m *Metrics) HTTP(next http.Handler) http.Handler {
	if m == nil {
		return next
	}
	mk := maker{registry: m.registry}
	requests := mk.counterVec("http_requests_total", "Requests answered, by method, route and class of the status; route none: no such path, or not with that method.",
		"method", "route", "code")
	open := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: prefix + "http_requests_in_flight", Help: "Requests that are being answered; those that wait on purpose too.",
	})
	m.registry.MustRegister(open)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open.Inc()
		defer open.Dec()
		s := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(s, r)
		requests.WithLabelValues(method(r), route(r), strconv.Itoa(s.status/100)+"xx").Inc()
	})
}

// route returns the path of the route, whose set is that of the handler.
func route(r *http.Request) string {
	_, path, found := strings.Cut(r.Pattern, " ")
	if !found {
		path = r.Pattern
	}
	if path == "" {
		return "none"
	}
	return path
}

// method returns the method, or other for what a client made up.
func method(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	default:
		return other
	}
}

// statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter

	status int
	wrote  bool
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	if !w.wrote && status >= http.StatusOK { // what comes before is not the answer
		w.status, w.wrote = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *statusWriter) Write(p []byte) (int, error) {
	w.wrote = true
	return w.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
