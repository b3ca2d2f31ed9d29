package httpapi_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"leasehold/basicauth"
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

// ann may come with the password "right".
const ann = "ann:$2a$04$G4cOnVpcyxdBkY6631H2BebTw5DulJ.D/FwmLl0EJxmZme5AP9n8m"

func users(t *testing.T, text string) *basicauth.Users {
	t.Helper()
	u, err := basicauth.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func basic(pair string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(pair)) }

func TestWhoMayUseTheAPI(t *testing.T) {
	const token = "s3cret-t0ken"
	for name, c := range map[string]struct {
		loopback bool
		open     bool
		token    string
		users    string // their file
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
		"open without a token, told so":      {open: true},
		"told so beside a token":             {open: true, token: token, code: 401},
		"told so beside users":               {open: true, users: ann, code: 401},
		"a user":                             {users: ann, headers: []string{"Authorization", basic("ann:right")}},
		"a user beside a token":              {token: token, users: ann, headers: []string{"Authorization", basic("ann:right")}},
		"a token beside users":               {token: token, users: ann, headers: []string{"Authorization", "Bearer " + token}},
		"a wrong password":                   {users: ann, headers: []string{"Authorization", basic("ann:wrong")}, code: 401},
		"a user who is none":                 {users: ann, headers: []string{"Authorization", basic("eve:right")}, code: 401},
		"a user without a file":              {token: token, headers: []string{"Authorization", basic("ann:right")}, code: 401},
		"the token as a password":            {token: token, headers: []string{"Authorization", basic("ann:" + token)}, code: 401},
		"an empty bearer beside users":       {users: ann, headers: []string{"Authorization", "Bearer "}, code: 401},
		"loopback with users, without them":  {loopback: true, users: ann, code: 401},
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
				case got.code == 401 && strings.Contains(strings.Join(got.header.Values("WWW-Authenticate"), ","), "Bearer") != (c.token != ""),
					got.code == 401 && strings.Contains(strings.Join(got.header.Values("WWW-Authenticate"), ","), "Basic") != (c.users != ""):
					t.Errorf("%s: challenges %v", name, got.header.Values("WWW-Authenticate"))
				}
			}
			if took := len(b.logged("lease.acquired")) > 0; took == (c.code != 0) {
				t.Errorf("%s: the lease was taken: %t", name, took)
			}
		}, func(l *httpapi.Leases) {
			l.Loopback, l.Token, l.Open = c.loopback, c.token, c.open
			if c.users != "" {
				l.Users = users(t, c.users)
			}
		})
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

func TestProfilesAreForThoseWhoMayUseTheAPI(t *testing.T) {
	const path = "/debug/pprof/"
	for name, c := range map[string]struct {
		on      bool
		token   string
		open    bool
		headers []string
		code    int
	}{
		"off":                     {code: 404},
		"off, with the token":     {token: "t", headers: []string{"Authorization", "Bearer t"}, code: 404},
		"on, on loopback":         {on: true, code: 200},
		"on, from elsewhere":      {on: true, open: true, code: 403},
		"on, without the token":   {on: true, token: "t", code: 401},
		"on, with the token":      {on: true, token: "t", headers: []string{"Authorization", "Bearer t"}, code: 200},
		"on, from a foreign page": {on: true, headers: []string{"Host", "evil.example"}, code: 403},
	} {
		onBench(t, func(b *bench) {
			for _, page := range []string{"", "goroutine?debug=1", "symbol"} {
				r := httptest.NewRequestWithContext(t.Context(), "GET", path+page, http.NoBody)
				r.Host = "127.0.0.1:8080"
				for i := 0; i < len(c.headers); i += 2 {
					r.Header.Set(c.headers[i], c.headers[i+1])
					if c.headers[i] == "Host" {
						r.Host = c.headers[i+1]
					}
				}
				w := httptest.NewRecorder()
				b.serve.ServeHTTP(w, r)
				if w.Code != c.code {
					t.Errorf("%s: %s: %d", name, page, w.Code)
				}
			}
			if c.code == 200 {
				r := httptest.NewRequestWithContext(t.Context(), "GET", path+"cmdline", http.NoBody)
				r.Host = "127.0.0.1:8080"
				r.Header.Set("Authorization", "Bearer "+c.token)
				w := httptest.NewRecorder()
				b.serve.ServeHTTP(w, r)
				if w.Code != http.StatusNotFound {
					t.Errorf("the command line is shown: %s", w.Body)
				}
			}
		}, func(l *httpapi.Leases) { l.Profiles, l.Token, l.Loopback = c.on, c.token, !c.open })
	}
}
