package webhook_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"leasehold/results"
	"leasehold/results/webhook"
)

const (
	secret  = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"
	address = "https://me:hunter2@hooks.example/hunter2?key=hunter2"
)

// receiver answers requests in the order of its plan, the last for good.
type receiver struct {
	t    *testing.T
	plan []answer
	at   []time.Duration // when requests came
	ids  []string
	from time.Time
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	r.at = append(r.at, time.Since(r.from))
	r.ids = append(r.ids, req.Header.Get("webhook-id"))
	body, err := io.ReadAll(req.Body)
	if err != nil {
		r.t.Error(err)
	}
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		r.t.Fatal(err)
	}
	// It also refuses a timestamp that is five minutes old.
	if err := verifier.Verify(body, req.Header); err != nil {
		r.t.Errorf("request %d: %v", len(r.at), err)
	}
	if sent, err := strconv.ParseInt(req.Header.Get("webhook-timestamp"), 10, 64); err != nil || sent != time.Now().Unix() {
		r.t.Errorf("the timestamp is %q", req.Header.Get("webhook-timestamp"))
	}
	if string(body) != `{"an":"event"}` || req.Header.Get("Content-Type") != "application/cloudevents+json" || req.Method != http.MethodPost {
		r.t.Errorf("%s %s, %s", req.Method, req.Header.Get("Content-Type"), body)
	}
	next := r.plan[0]
	if len(r.plan) > 1 {
		r.plan = r.plan[1:]
	}
	return next.to(req)
}

// answer is what a request gets.
type answer struct {
	code       int
	retryAfter string
	err        error
	hangs      bool
}

func (a answer) to(req *http.Request) (*http.Response, error) {
	if a.hangs {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	if a.err != nil {
		return nil, a.err
	}
	h := http.Header{}
	h.Set("Retry-After", a.retryAfter)
	h.Set("Location", "https://elsewhere.example/")
	return &http.Response{StatusCode: a.code, Header: h, Body: http.NoBody, Request: req}, nil
}

var (
	breaks = answer{err: errors.New("connection refused")}
	hangs  = answer{hangs: true}
)

func status(code int) answer { return answer{code: code} }

// deliver sends one event in virtual time.
func deliver(t *testing.T, limit time.Duration, plan ...answer) (*receiver, error) {
	t.Helper()
	r := &receiver{t: t, plan: plan}
	var err error
	synctest.Test(t, func(t *testing.T) {
		r.from = time.Now()
		s, bad := webhook.New(webhook.Config{URL: address, Secret: secret, Version: "test", Transport: r})
		if bad != nil {
			t.Fatal(bad)
		}
		defer s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		err = s.Deliver(ctx, results.Message{ID: "web/7/41", Session: "web", JSON: []byte(`{"an":"event"}`)})
	})
	for _, id := range r.ids {
		if id != "web/7/41" {
			t.Errorf("webhook-id %q", id)
		}
	}
	if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), secret[6:])) {
		t.Errorf("a secret is in %q", err)
	}
	return r, err
}

func TestATakenResultIsSentOnce(t *testing.T) {
	if r, err := deliver(t, time.Hour, status(204)); err != nil || len(r.at) != 1 {
		t.Errorf("%d requests, %v", len(r.at), err)
	}
}

func TestWhatMayPassIsTriedAgainWithGrowingPauses(t *testing.T) {
	r, err := deliver(t, time.Hour, breaks, status(500), status(408), status(425), status(429), status(200))
	if err != nil || len(r.at) != 6 {
		t.Fatalf("%d requests, %v", len(r.at), err)
	}
	// Half a second, doubled each time, and half as much more or less by chance.
	pause := 500 * time.Millisecond
	for i := 1; i < len(r.at); i++ {
		if got := r.at[i] - r.at[i-1]; got < pause/2 || got > pause*3/2 {
			t.Errorf("pause %d is %s, want about %s", i, got, pause)
		}
		pause *= 2
	}
}

func TestTheReceiversWishIsKept(t *testing.T) {
	r, err := deliver(t, time.Hour, answer{code: 503, retryAfter: "20"}, answer{code: 429, retryAfter: "999999999999"}, status(200))
	if err != nil || len(r.at) != 3 || r.at[1] != 20*time.Second || r.at[2] != 50*time.Second {
		t.Errorf("requests at %v, %v", r.at, err)
	}
}

func TestARefusalIsFinal(t *testing.T) {
	for _, code := range []int{301, 307, 400, 401, 404, 410} {
		r, err := deliver(t, time.Hour, status(code))
		if err == nil || err.Error() != "status "+strconv.Itoa(code) || len(r.at) != 1 {
			t.Errorf("%d: %d requests, %v", code, len(r.at), err)
		}
	}
}

func TestAReceiverThatIsAwayIsGivenUpAfterTwoMinutes(t *testing.T) {
	r, err := deliver(t, time.Hour, breaks)
	last := r.at[len(r.at)-1]
	if err == nil || err.Error() != "connection refused" || last > 2*time.Minute || last < time.Minute {
		t.Errorf("the last request came after %s, %v", last, err)
	}
}

// What can't be parsed stands in net/http's errors, and an answer may repeat the request.
func TestAnAnswerThatRepeatsTheRequestIsNotShown(t *testing.T) {
	_, err := deliver(t, time.Hour, answer{err: errors.New(
		`net/http: HTTP/1.x transport connection broken: malformed HTTP status code "/hook/hunter2"`,
	)})
	if err == nil || !strings.Contains(err.Error(), "malformed HTTP status code") {
		t.Errorf("%v", err)
	}
}

func TestAReceiverThatHangsGetsTenSecondsATry(t *testing.T) {
	r, err := deliver(t, time.Hour, hangs, status(200))
	if err != nil || len(r.at) != 2 || r.at[1] < 10*time.Second || r.at[1] > 11*time.Second {
		t.Errorf("requests at %v, %v", r.at, err)
	}
}

func TestADeliveryEndsWithItsContext(t *testing.T) {
	for _, plan := range []answer{hangs, breaks} {
		if _, err := deliver(t, 3*time.Second, plan); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	}
}

func TestABadSecretIsNotShown(t *testing.T) {
	_, err := webhook.New(webhook.Config{URL: address, Secret: "whsec_hunter2!"})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}
