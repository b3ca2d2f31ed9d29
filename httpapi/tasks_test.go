package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"leasehold/lease"
	"leasehold/redisstore"
)

const task = `{"kind":"log","interval":"24h","misfire":"once"}`

func TestATaskIsBegunWhenItIsAskedFor(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("a/b", task)
		store := redisstore.New(b.rdb, b.keys, redisstore.Options{})
		o := store.Acquire(b.t.Context(), "me-1-00000000", []lease.Claim{{Session: "a/b", TTL: ttl}})[0]
		g := lease.Grant{Session: "a/b", Holder: "me-1-00000000", Token: o.Token}
		begin := func() lease.Start {
			start, err := store.Begin(b.t.Context(), g, lease.Slot{Interval: 24 * time.Hour, Bound: time.Second, Keep: true})
			if err != nil {
				b.t.Fatal(err)
			}
			return start
		}
		first := begin()
		done := lease.Result{OK: true, Class: "success", Started: first.At, NextDue: first.At.Add(24 * time.Hour)}
		if err := store.Finish(b.t.Context(), g, done); err != nil {
			b.t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if begin().Wait == 0 {
			b.t.Fatal("it is due already")
		}
		for range 2 { // the answer may get lost
			if got := b.want(http.StatusAccepted, "POST", "/api/v1/sessions/a%2Fb/run", ""); got.text != "" {
				t.Errorf("body %q", got.text)
			}
		}
		if start := begin(); start.Wait != 0 {
			t.Errorf("it waits for %s", start.Wait)
		}
	})
}

func TestWhatNoNodeRunsCannotBeAskedFor(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("task", task)
		for document, why := range map[string]string{
			web:                                    "no task",
			"{":                                    "can't be used",
			`{"kind":"external","misfire":"once"}`: "external",
			`{"kind":"log","cron":"@daily","paused":true}`:                 "paused",
			`{"kind":"log","cron":"@daily","interval":"1m","note":"both"}`: "can't be used",
		} {
			b.put("s1", document)
			if got := b.want(http.StatusConflict, "POST", "/api/v1/sessions/s1/run", ""); !strings.Contains(got.Detail, why) {
				t.Errorf("%s: %s", document, got.text)
			}
			if n := b.rdb.Exists(b.t.Context(), b.keys.State("s1")).Val(); n != 0 {
				t.Errorf("%s: it was asked for", document)
			}
		}
		for _, none := range []string{"none", "%00"} {
			b.want(http.StatusNotFound, "POST", "/api/v1/sessions/"+none+"/run", "")
		}
		if got := b.want(http.StatusMethodNotAllowed, "GET", "/api/v1/sessions/task/run", ""); got.header.Get("Allow") != "POST" {
			t.Errorf("allowed is %q", got.header.Get("Allow"))
		}
		b.send("POST", "/api/v1/sessions/task/run", "", "Origin", "http://other.invalid")
		if n := b.rdb.Exists(b.t.Context(), b.keys.State("task")).Val(); n != 0 {
			t.Error("a page of another origin asked for it")
		}
		b.rdb.RPush(b.t.Context(), b.keys.Lease("task"), "x")
		b.want(http.StatusServiceUnavailable, "POST", "/api/v1/sessions/task/run", "")
		b.mini.Down()
		if got := b.want(http.StatusServiceUnavailable, "POST", "/api/v1/sessions/task/run", ""); retryAfter(got) < 1 {
			t.Errorf("no time to come back: %v", got.header)
		}
	})
}
