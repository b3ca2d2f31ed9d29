package httpapi

import (
	"bytes"
	_ "embed" // the description, and the page that shows it
	"net/http"
)

// openAPI describes all routes by OpenAPI 3.1. It is made from them by make docs, and a
// test sees that it is up to date.
//
//go:embed openapi.json
var openAPI []byte

//go:embed docs.html
var docsPage []byte

// description is what openAPI says of the API as a whole.
const description = "Leases of sessions for workers in any language, and the state of the fleet. " +
	"Errors are problem documents (RFC 9457). 503 means unknown, not free: try again after Retry-After. " +
	"A HEAD request is answered wherever GET is, and at once."

// described returns openAPI for an API whose sessions have one more name; empty: none.
func described(resource string) []byte {
	if resource == "" {
		return openAPI
	}

	return bytes.Replace(openAPI, []byte(description), []byte(description+" All paths of "+version+sessions+" answer under "+
		version+resource+" too, with "+idField(resource)+" in place of session_id."), 1)
}

// describe serves the description, and a page that shows it. Both are the same for
// everybody and say nothing of the fleet.
func (a *api) describe(mux *http.ServeMux) {
	text := described(a.Resource)
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	})
	mux.HandleFunc("GET /docs", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy",
			"default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		_, _ = w.Write(docsPage)
	})
}
