package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"leasehold/lease"
	"leasehold/results"
	"leasehold/results/webhook"
)

const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"

func message(session string, token, sequence int64) results.Message {
	return results.Encode(lease.Grant{Session: session, Holder: "n", Token: lease.Token(token)}, lease.Result{
		Started: time.Now(), Sequence: sequence, OK: true, Class: "success",
	})
}

// serve runs a receiver with the fleet's own sink in front of it.
func serve(t *testing.T) (*bytes.Buffer, *httptest.Server, *webhook.Sink) {
	t.Helper()
	var out bytes.Buffer
	r, err := newReceiver(secret, &out)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	sink, err := webhook.New(webhook.Config{URL: server.URL, Secret: secret, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sink.Close)
	return &out, server, sink
}

func TestTheReceiverTakesOnlyWhatIsNewer(t *testing.T) {
	out, _, sink := serve(t)
	for _, m := range []results.Message{
		message("s", 7, 41), message("s", 7, 42), message("s", 7, 42), message("s", 7, 41),
		message("s", 8, 43), message("s", 7, 44), message("other/ü", 1, 1),
	} {
		if err := sink.Deliver(t.Context(), m); err != nil {
			t.Errorf("%s: %v", m.ID, err)
		}
	}
	want := "accepted s/7/41\naccepted s/7/42\nrefused s/7/42\nrefused s/7/41\n" +
		"accepted s/8/43\nrefused s/7/44\naccepted other%2F%C3%BC/1/1\n"
	if out.String() != want {
		t.Errorf("got\n%s, want\n%s", out, want)
	}
}

func TestTheReceiverBelievesOnlyItsSecret(t *testing.T) {
	out, server, _ := serve(t)
	m := message("s", 7, 41)
	for name, c := range map[string]struct {
		secret string
		age    time.Duration
		body   []byte
		want   int
	}{
		"another secret":        {"whsec_" + strings.Repeat("eHh4", 8), 0, m.JSON, 401},
		"an old request":        {secret, 6 * time.Minute, m.JSON, 401},
		"signed, but no event":  {secret, 0, []byte(`[1]`), 400},
		"signed, without token": {secret, 0, []byte(`{"sequence":"1"}`), 400},
	} {
		signer, err := standardwebhooks.NewWebhook(c.secret)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-c.age)
		signature, err := signer.Sign(m.ID, at, c.body)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, bytes.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("webhook-id", m.ID)
		req.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
		req.Header.Set("webhook-signature", signature)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s gets %d, want %d", name, resp.StatusCode, c.want)
		}
	}
	if out.Len() > 0 {
		t.Errorf("it took %s", out)
	}
}
