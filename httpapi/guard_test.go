package httpapi_test

import (
	"net/http"
	"testing"

	"leasehold/httpapi"
)

// every is one request for each kind of route.
func every() [][3]string {
	return [][3]string{
		{"GET", s1, ""},
		{"POST", s1, asW1},
		{"POST", s1 + "/renew", asW1},
		{"DELETE", s1, asW1},
		{"POST", batchPath, `{"holder_id":"w1","leases":[{"session_id":"s1"}]}`},
		{"GET", "/api/v1/sessions?leased=false", ""},
		{"GET", "/api/v1/sessions", ""},
		{"GET", "/api/v1/sessions/s1", ""},
		{"GET", "/api/v1/nodes", ""},
		{"GET", "/api/v1/status", ""},
		{"GET", "/api/v1/unknown", ""},
		{"PUT", s1, ""},
	}
}

func TestWhoMayUseTheAPI(t *testing.T) {
	const token = "s3cret-t0ken"
	for name, c := range map[string]struct {
		loopback bool
		token    string
		headers  []string
		code     int // 0: let through
	}{
		"loopback, no token":                 {loopback: true},
		"loopback by its name":               {loopback: true, headers: []string{"Host", "localhost:8080"}},
		"loopback by its name alone":         {loopback: true, headers: []string{"Host", "LOCALHOST"}},
		"loopback of IPv6":                   {loopback: true, headers: []string{"Host", "[::1]:8080"}},
		"loopback under a foreign name":      {loopback: true, headers: []string{"Host", "evil.example:8080"}, code: 403},
		"loopback, a token that is not set":  {loopback: true, headers: []string{"Authorization", "Bearer x"}},
		"open, no token":                     {code: 403},
		"open, a token that is not set":      {headers: []string{"Authorization", "Bearer x"}, code: 403},
		"open, an empty token":               {headers: []string{"Authorization", "Bearer "}, code: 403},
		"open with a token":                  {token: token, headers: []string{"Authorization", "Bearer " + token}},
		"open with a token, any name":        {token: token, headers: []string{"Authorization", "Bearer " + token, "Host", "fleet.example"}},
		"open with a token, other case":      {token: token, headers: []string{"Authorization", "bearer " + token}},
		"open without the token":             {token: token, code: 401},
		"open with a wrong token":            {token: token, headers: []string{"Authorization", "Bearer s3cret-t0kem"}, code: 401},
		"open with a part of the token":      {token: token, headers: []string{"Authorization", "Bearer s3cret"}, code: 401},
		"open with more than the token":      {token: token, headers: []string{"Authorization", "Bearer " + token + "x"}, code: 401},
		"open with no scheme":                {token: token, headers: []string{"Authorization", token}, code: 401},
		"open with another scheme":           {token: token, headers: []string{"Authorization", "Basic " + token}, code: 401},
		"loopback with a token, without it":  {loopback: true, token: token, code: 401},
		"loopback with a token and its name": {loopback: true, token: token, headers: []string{"Authorization", "Bearer " + token}},
	} {
		onBench(t, func(b *bench) {
			b.put("s1", external)
			for _, request := range every() {
				got := b.send(request[0], request[1], request[2], c.headers...)
				switch {
				case c.code == 0 && (got.code == 401 || got.code == 403), c.code != 0 && got.code != c.code:
					t.Errorf("%s: %v: %d: %s", name, request, got.code, got.text)
				case got.code == 401 && got.header.Get("WWW-Authenticate") != "Bearer":
					t.Errorf("%s: no challenge", name)
				}
			}
			if took := len(b.logged("lease.acquired")) > 0; took == (c.code != 0) {
				t.Errorf("%s: the lease was taken: %t", name, took)
			}
		}, func(l *httpapi.Leases) { l.Loopback, l.Token = c.loopback, c.token })
	}
}

func TestPagesOfOtherOriginsMayNotWrite(t *testing.T) {
	const host = "127.0.0.1:8080"
	for name, c := range map[string]struct {
		headers []string
		allowed bool
	}{
		"no browser":              {allowed: true},
		"the same origin":         {[]string{"Origin", "http://" + host, "Sec-Fetch-Site", "same-origin"}, true},
		"typed by the user":       {[]string{"Sec-Fetch-Site", "none"}, true},
		"an old browser, same":    {[]string{"Origin", "http://" + host}, true},
		"another site":            {[]string{"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}, false},
		"another site, no origin": {[]string{"Sec-Fetch-Site", "cross-site"}, false},
		"another port":            {[]string{"Origin", "http://127.0.0.1:9", "Sec-Fetch-Site", "same-site"}, false},
		"an old browser, other":   {[]string{"Origin", "http://evil.example"}, false},
		"a sandbox":               {[]string{"Origin", "null"}, false},
	} {
		for _, token := range []string{"", "t"} {
			onBench(t, func(b *bench) {
				b.put("s1", external)
				headers := append([]string{"Authorization", "Bearer " + token}, c.headers...)
				for _, request := range [][2]string{{"POST", s1}, {"POST", s1 + "/renew"}, {"DELETE", s1}} {
					got := b.send(request[0], request[1], asW1, headers...)
					if c.allowed != (got.code < 400) || !c.allowed && got.code != http.StatusForbidden {
						t.Errorf("%s: %v: %d: %s", name, request, got.code, got.text)
					}
				}
				if got := b.send("GET", "/api/v1/sessions?leased=false", "", headers...); got.code != http.StatusOK || got.header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s: %d, headers %v", name, got.code, got.header)
				}
			}, func(l *httpapi.Leases) { l.Token = token })
		}
	}
}
