//go:build unix

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"time"

	"leasehold/certfile"
	"leasehold/internal/oteltest"
)

// withSecrets puts secrets into a URL, wherever the contract hides them.
func (*spill) withSecrets(address string) string {
	return strings.Replace(address, "://", "://"+marked+"User:"+marked+"Pass@", 1) +
		"?a=1&token=" + marked + "1&api_key=" + marked + "2&X-Amz-Signature=" + marked + "3&code=" + marked + "4;sid=" + marked + "5#" + marked
}

// target starts a poll target, or the receiver of a webhook, and returns its address.
func (s *spill) target(kind string) string {
	serve := map[string]http.HandlerFunc{
		"answers": func(http.ResponseWriter, *http.Request) {},
		// What a target with a bad day sends back: all that it got.
		"echoes": func(w http.ResponseWriter, r *http.Request) {
			text, _ := httputil.DumpRequest(r, true)
			w.Header().Set("X-Request", fmt.Sprintf("%q", text))
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write(text)
		},
		"goes elsewhere": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", s.withSecrets("http://127.0.0.1:1/x"))
			w.WriteHeader(http.StatusFound)
		},
		"goes round": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", r.URL.Path+"?token="+marked)
			w.WriteHeader(http.StatusFound)
		},
		"goes nowhere": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://"+marked+":%zz"+marked)
			w.WriteHeader(http.StatusFound)
		},
		"hangs": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // before that, nobody notices that the client leaves
			<-r.Context().Done()
		},
		"breaks HTTP": func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 "+r.URL.String()+" "+r.Header.Get("X-Key")+"\r\n\r\n")
				_ = conn.Close()
			}
		},
		"webhook": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.URL.String()+r.Header.Get("Webhook-Signature"), http.StatusBadRequest)
		},
	}[kind]
	server := httptest.NewUnstartedServer(serve)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	switch kind {
	case "is unknown":
		return "http://no-such-host.invalid"
	case "is gone":
		return "http://127.0.0.1:1"
	case "is denied":
		return "http://169.254.169.254"
	case "has a certificate of its own":
		server.Config.Handler = http.NotFoundHandler()
		server.StartTLS()
	default:
		server.Start()
	}
	s.t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// traces returns variables that ask for traces and have secrets in them. The collector
// refuses spans, after it looked at them.
func (s *spill) traces() []string {
	collector := oteltest.Start(s.t)
	collector.Answer(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, r.URL.String()+r.Header.Get("Authorization"), http.StatusBadRequest)
	})
	s.t.Cleanup(func() {
		_, bodies := collector.Requests()
		for _, body := range bodies {
			s.judge("the spans", string(body))
		}
		if s.seen["the spans"] == 0 {
			s.t.Error("no spans were sent")
		}
	})
	return []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + s.withSecrets(collector.URL+"/"+marked), "OTEL_BSP_SCHEDULE_DELAY=100",
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20" + marked + "otel," + marked + ",x=" + marked + "%zz",
		"OTEL_RESOURCE_ATTRIBUTES=a=b," + marked,
	}
}

// documents writes sessions that answer, that fail, and that can't be used, all with
// secrets, and returns their IDs.
func (s *spill) documents() []string {
	ids := []string{}
	put := func(id, doc string) {
		if err := s.admin.Set(s.t.Context(), "session:"+id, doc, 0).Err(); err != nil {
			s.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	for _, kind := range []string{
		"answers", "echoes", "goes elsewhere", "goes round", "goes nowhere", "hangs", "breaks HTTP",
		"is unknown", "is gone", "is denied", "has a certificate of its own",
	} {
		doc, err := json.Marshal(map[string]any{
			"url": s.withSecrets(s.target(kind) + "/path"), "method": http.MethodPost, "body": marked + "Body",
			"interval": "500ms", "timeout": "300ms", "password": marked + "Unknown",
			"headers": map[string]string{"X-Key": marked + "Key", "Cookie": marked + "Cookie", "Referer": "http://x/?token=" + marked},
		})
		if err != nil {
			s.t.Fatal(err)
		}
		put(strings.ReplaceAll(kind, " ", "-"), string(doc))
		put("again:"+strings.ReplaceAll(kind, " ", "-"), string(doc)) // so that each node has most kinds
	}
	for i, doc := range invalidDocuments() {
		put(fmt.Sprintf("invalid%d", i), doc)
	}
	return ids
}

// invalidDocuments have secrets where an error could quote them.
func invalidDocuments() []string {
	const m = marked
	return []string{
		`"` + m + `"`, m, `{"url":"http://h/","body":"` + m, `["` + m + `"]`, `{"` + m + `":`,
		`{"url":["` + m + `"]}`, `{"url":"` + m + `://h"}`, `{"url":"u:` + m + `@h/x"}`,
		`{"url":"http://u:` + m + `@h:port/"}`, `{"url":"http://u:` + m + `@h/%zz"}`, `{"url":"http://[` + m + `/"}`,
		`{"url":"http://u:` + m + `\u0007@h/"}`, `{"url":"ftp://u:` + m + `@h/"}`, `{"url":"http://u:` + m + `@/x?token=` + m + `"}`,
		`{"url":"http://h/","headers":"` + m + `"}`, `{"url":"http://h/","headers":{"A":["` + m + `"]}}`,
		`{"url":"http://h/","headers":{"A":"` + m + `\n"}}`, `{"url":"http://h/","headers":{"A b":"` + m + `"}}`,
		`{"url":"http://h/","headers":["` + m + `"]}`, `{"url":"http://h/","body":["` + m + `"]}`, `{"url":"http://h/","body":{"k":"` + m + `"}}`,
	}
}

// failures waits until every session that can be polled has been.
func (s *spill) failures(ids []string) {
	s.t.Helper()
	for _, id := range ids {
		for deadline := time.Now().Add(20 * time.Second); !strings.HasPrefix(id, "invalid"); time.Sleep(20 * time.Millisecond) {
			// The last result, by whichever name it goes.
			last, err := s.admin.HGetAll(s.t.Context(), "poll:state:{poll:lease:"+id+"}"+id).Result()
			if err == nil && strings.Contains(fmt.Sprint(last), "duration_ms") {
				break
			}
			if time.Now().After(deadline) {
				s.t.Fatalf("%s is never polled: %v, %v", id, last, err)
			}
		}
	}
}

// api judges every answer of the node's HTTP server.
func (s *spill) api(addr string, ids []string) {
	s.t.Helper()
	roots, err := certfile.Authorities(s.ca.File)
	if err != nil {
		s.t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	ask := func(method, path, body string, login func(*http.Request)) {
		r, err := http.NewRequestWithContext(s.t.Context(), method, "https://"+addr+path, strings.NewReader(body))
		if err != nil {
			s.t.Fatal(err)
		}
		login(r)
		resp, err := client.Do(r)
		if err != nil {
			s.t.Errorf("%s: %v", path, err)
			return
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		s.judge(method+" "+path, fmt.Sprint(resp.Status, resp.Header, "\n", string(text)))
	}
	token := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+marked+"token") }
	user := func(r *http.Request) { r.SetBasicAuth("ann", marked+"user") }
	wrong := func(r *http.Request) { r.SetBasicAuth("ann", marked+"wrong") }
	paths := []string{
		"/healthz?verbose", "/readyz?verbose", "/metrics", "/openapi.json", "/docs", "/api/v1/status", "/api/v1/nodes", "/nowhere",
		"/api/v1/sessions?limit=1000", "/api/v1/sessions?leased=false", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2",
	}
	for _, id := range ids {
		paths = append(paths, "/api/v1/sessions/"+id, "/api/v1/sessions/"+id+"/lease")
	}
	for i, path := range paths {
		ask(http.MethodGet, path, "", []func(*http.Request){token, user}[i%2])
	}
	for _, login := range []func(*http.Request){wrong, token} {
		ask(http.MethodGet, "/api/v1/status", "", login)
		for _, body := range []string{`{"holder_id":["` + marked + `"]}`, `{"holder_id":"w","` + marked, marked} {
			ask(http.MethodPost, "/api/v1/sessions/"+ids[0]+"/lease", body, login)
		}
	}
	s.feed(client, addr, token)
}

// feed judges what /events says in a second.
func (s *spill) feed(client *http.Client, addr string, login func(*http.Request)) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+addr+"/api/v1/events", http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	login(r)
	resp, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	for sc := bufio.NewScanner(resp.Body); sc.Scan(); {
		s.judge("/api/v1/events", sc.Text())
	}
}

// commands judges every command that has to do with sessions and settings.
func (s *spill) commands(addr string, ids []string) {
	s.t.Helper()
	here := []string{"LEASEHOLD_HTTP_ADDR=" + addr, "LEASEHOLD_RESULT_WEBHOOK_URL=" + s.withSecrets("http://h.example/"+marked), "LEASEHOLD_LOG_LEVEL=debug"}
	for _, line := range []string{
		"config", "config -o json", "config env", "config validate", "doctor", "doctor -o json", "status", "status -o json", "healthcheck", "healthcheck --ready",
		"sessions ls", "sessions ls -o wide", "sessions ls -o json", "sessions ls -o yaml", "sessions ls --state invalid -o json", "sessions results " + ids[0] + " -o json",
		"nodes ls -o json", "nodes get a -o yaml", "nodes get nope", "leases ls -o json", "plan --moves -o json", "plan --without a -o json",
		"sessions rm nope", "sessions pause invalid1", "leases release nope --force",
	} {
		s.command("", here, strings.Fields(line)...)
	}
	for _, id := range ids {
		s.command("", here, "sessions", "get", id, "-o", "json")
		s.command("", here, "explain", id)
	}
	for i, doc := range invalidDocuments() {
		with := strings.Replace(doc, "{", fmt.Sprintf(`{"id":"new%d",`, i), 1)
		s.command(with, here, "sessions", "add", "-f", "-")
		s.command("["+with+"]", here, "sessions", "add", "-f", "-", "--replace", "--dry-run")
	}
	s.more(here, ids)
}

// more judges commands that not every build has.
func (s *spill) more(here, ids []string) {
	s.t.Helper()
	help := execute(nil, "--help").stdout
	for name, lines := range map[string][]string{
		"support": {"support -o " + filepath.Join(s.t.TempDir(), "s.tar.gz")},
		"check":   {"check", "check -o json", "check -o prometheus"},
		"probe":   {},
	} {
		if !strings.Contains(help, "\n  "+name+" ") {
			continue
		}
		for _, id := range ids {
			if name == "probe" {
				lines = append(lines, "probe "+id, "probe -o json "+id)
			}
		}
		for _, line := range lines {
			s.command("", here, strings.Fields(line)...)
		}
	}
}

// settings judges what is said of settings that are wrong.
func (s *spill) settings() {
	s.t.Helper()
	for _, setting := range []string{
		"REDIS_URL=redis://:" + marked + "wrong@" + s.server.Addr() + "/0", "REDIS_URL=redis://u:" + marked + "@" + s.server.Addr() + "/0",
		"REDIS_URL=redis://u:" + marked + "@127.0.0.1:1/0", "REDIS_URL=redis://u:" + marked + "@h/x", "REDIS_URL=redis://u:" + marked + "/@h",
		"REDIS_URL=u:" + marked + "@h:6379", "REDIS_URL=redis://u:" + marked + "%zz@h/0", "REDIS_URL=redis://u:" + marked + "@h/0?password=" + marked,
		"REDIS_URL=redis://u:" + marked + "@h/0?nope=1", "REDIS_URL=redis://u:" + marked + "@a:1,redis://u:" + marked + "@b:x",
		"API_TOKEN=" + marked + " space", "API_TOKEN=" + marked + "\x01", "RESULT_WEBHOOK_SECRET=" + marked, "RESULT_WEBHOOK_SECRET=whsec_" + marked + "!",
		"RESULT_WEBHOOK_URL=" + marked, "RESULT_WEBHOOK_URL=ftp://u:" + marked + "@h/" + marked, "RESULT_WEBHOOK_URL=http://u:" + marked + "%zz@h/",
		"API_USERS_FILE=" + s.file(marked+":"+marked), "API_USERS_FILE=" + s.file("ann:{SHA}"+marked), "HTTP_KEY_FILE=" + s.file(marked), "API_TOKEN_FILE=" + s.file(marked+"\nx "+marked),
		"API_TOKN=" + marked, "RESULT_WEBHOOK_SECRT=" + marked,
	} {
		setting = "LEASEHOLD_" + setting
		for _, args := range [][]string{{"run"}, {"config"}, {"config", "env"}, {"config", "validate"}, {"doctor"}, {"status"}, {"healthcheck"}} {
			// Without addresses to which a node that starts all the same could do anything.
			env := []string{"LEASEHOLD_RESULT_SINKS=stdout", "LEASEHOLD_HTTP_ADDR=127.0.0.1:nope", setting}
			if strings.HasPrefix(setting, "LEASEHOLD_REDIS_URL") {
				env[1] = "LEASEHOLD_HTTP_ADDR="
			}
			if args[0] != "healthcheck" || env[1] != "LEASEHOLD_HTTP_ADDR=" {
				s.command("", env, args...)
			}
		}
	}
}

// file writes a file of its own.
func (s *spill) file(text string) string {
	file := filepath.Join(s.t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return file
}

// redis judges what the fleet wrote: all keys but the documents.
func (s *spill) redis() {
	s.t.Helper()
	for _, key := range s.admin.Keys(s.t.Context(), "poll:*").Val() {
		var value any
		switch kind := s.admin.Type(s.t.Context(), key).Val(); kind {
		case "hash":
			value = s.admin.HGetAll(s.t.Context(), key).Val()
		case "stream":
			value = s.admin.XRange(s.t.Context(), key, "-", "+").Val()
		default:
			value = s.admin.Get(s.t.Context(), key).Val()
		}
		s.judge("Redis", fmt.Sprint(key, value))
	}
}
