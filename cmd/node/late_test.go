package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"leasehold/actors/poller"
	"leasehold/httppoll"
	"leasehold/session"
)

func TestALatePollIsNotSent(t *testing.T) {
	heard := 0
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard++ }))
	defer s.Close()
	client := httppoll.New(httppoll.Config{})
	defer client.Close()
	poll := nodeSpec{}.pollFunc(client, nil)
	job := poller.Job{Session: session.Session{ID: "s1", Kind: session.HTTP, URL: s.URL, Method: http.MethodGet}}
	for _, holds := range []bool{true, false} {
		job.Holds = func() bool { return holds }
		want := poller.Canceled
		if holds {
			want = poller.Success
		}
		if o := poll(t.Context(), job); o.Class != want {
			t.Errorf("holds %v: %+v", holds, o)
		}
	}
	if heard != 1 {
		t.Errorf("%d requests, want 1", heard)
	}
}
