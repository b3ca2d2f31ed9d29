package cli_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

type probeReply struct {
	SessionID string   `json:"session_id"`
	URL       string   `json:"url"`
	OK        bool     `json:"ok"`
	Class     string   `json:"class"`
	Status    int      `json:"status"`
	Bytes     int64    `json:"bytes"`
	Expect    string   `json:"expect"`
	Error     string   `json:"error"`
	Remote    string   `json:"remote"`
	DNS       *float64 `json:"dns_ms"`
	Connect   *float64 `json:"connect_ms"`
	TLS       *float64 `json:"tls_ms"`
	FirstByte *float64 `json:"first_byte_ms"`
	Total     *float64 `json:"total_ms"`
}

// probe runs a probe that ends with the code.
func (b *bench) probe(code int, args ...string) probeReply {
	b.t.Helper()
	got := b.run(append([]string{"probe", "-o", "json"}, args...)...)
	var p probeReply
	if err := json.Unmarshal([]byte(got.stdout), &p); err != nil || got.code != code {
		b.t.Fatalf("%v: %v: %+v", args, err, got)
	}
	return p
}

func TestAProbePollsOnceAndWritesNothing(t *testing.T) {
	b := newBench(t)
	const pause = 60 * time.Millisecond
	requests := make(chan *http.Request, 10)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r
		time.Sleep(pause)
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("short and stout"))
	}))
	t.Cleanup(target.Close)
	_, port, _ := net.SplitHostPort(target.Listener.Addr().String())
	b.put("web", `{"url":"http://localhost:`+port+`/?token=s3cret","headers":{"X-Key":"s3cret"},"expect":{"status":[418],"body_contains":"stout"}}`)
	before := b.rdb.Keys(t.Context(), "*").Val()
	p := b.probe(0, "web")
	if !p.OK || p.Class != "success" || p.Status != 418 || p.Bytes != 15 || p.SessionID != "web" || p.Error != "" ||
		p.URL != "http://localhost:"+port+"/?token=***" || !strings.HasSuffix(p.Remote, ":"+port) ||
		p.Expect != "status 418, and a text of 5 bytes in the body" {
		t.Errorf("%+v", p)
	}
	if p.Connect == nil || p.TLS != nil || p.FirstByte == nil || *p.FirstByte < 60 || p.Total == nil || *p.Total < *p.FirstByte {
		t.Errorf("%+v", p)
	}
	r := <-requests
	if len(requests) != 0 || r.Header.Get("Leasehold-Instance") != "probe" || r.Header.Get("Leasehold-Token") != "0" ||
		r.Header.Get("X-Key") != "s3cret" || r.URL.RawQuery != "token=s3cret" {
		t.Errorf("%d more, %v", len(requests), r)
	}
	if after := b.rdb.Keys(t.Context(), "*").Val(); len(after) != len(before) {
		t.Errorf("%v, before %v", after, before)
	}
	b.put("other", `{"url":"`+target.URL+`","expect":{"status":[418],"body_contains":"tall"}}`)
	if p := b.probe(1, "other"); p.OK || p.Class != "assertion" || p.Status != 418 || p.DNS != nil || !strings.Contains(p.Error, "lacks") {
		t.Errorf("%+v", p)
	}
	b.put("plain", `{"url":"`+target.URL+`"}`)
	if p := b.probe(1, "plain"); p.Class != "http_error" || p.Expect != "status 200 to 299" || !strings.Contains(p.Error, "418") {
		t.Errorf("%+v", p)
	}
	for _, text := range []string{b.ok("probe", "web"), b.ok("probe", "web", "-o", "yaml"), b.ok("probe", "web", "-o", "wide")} {
		if strings.Contains(text, "s3cret") || !strings.Contains(text, "token=***") {
			t.Errorf("%s", text)
		}
	}
}

func TestAProbeTimesTheHandshake(t *testing.T) {
	b := newBench(t)
	target := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(target.Close)
	b.stdin = `{"url":"` + target.URL + `"}`
	p := b.probe(1, "-f", "-")
	// Nobody knows who signed its certificate, so there was a handshake, and no more.
	if p.Class != "tls_error" || p.Connect == nil || p.FirstByte != nil || p.SessionID != "probe" {
		t.Errorf("%+v", p)
	}
}

func TestAProbeOfAFileNeedsNoRedis(t *testing.T) {
	b := newBench(t)
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(target.Close)
	b.env = []string{"LEASEHOLD_REDIS_URL=redis://user:s3cret@127.0.0.1:1/0"}
	path := b.file(fmt.Sprintf(`{"id":"new","url":%q}`+"\n", target.URL))
	if p := b.probe(0, "-f", path); p.SessionID != "new" || p.Status != 200 {
		t.Errorf("%+v", p)
	}
	b.fails(1, "connection refused", "probe", "new")
	b.fails(2, "-f", "probe")
	b.fails(2, "-f", "probe", "new", "-f", path)
	b.fails(2, "no such file", "probe", "-f", path+"x")
	b.stdin = ""
	b.fails(2, "no document", "probe", "-f", "-")
	b.stdin = `{"url":"ftp://h/"}`
	b.fails(2, "can't be used", "probe", "-f", "-")
	b.stdin = `{"kind":"log"}`
	b.fails(1, "kind log", "probe", "-f", "-")
}

func TestAProbeOfWhatIsNotThere(t *testing.T) {
	b := newBench(t)
	b.fails(1, "no session", "probe", "nope")
	b.put("bad", `{"url":5}`)
	b.fails(1, "can't be used", "probe", "bad")
	b.put("ext", `{"kind":"external"}`)
	b.fails(1, "kind external", "probe", "ext")
	target := httptest.NewServer(http.NotFoundHandler())
	target.Close()
	b.put("down", `{"url":"`+target.URL+`"}`)
	if p := b.probe(1, "down"); p.Class != "connect_error" || p.Connect != nil || p.Remote != "" || p.Status != 0 {
		t.Errorf("%+v", p)
	}
	b.env = append(b.env, "LEASEHOLD_DENY_TARGETS=127.0.0.0/8")
	if p := b.probe(1, "down"); p.Class != "denied" || !strings.Contains(p.Error, "127.0.0.0/8") {
		t.Errorf("%+v", p)
	}
}
