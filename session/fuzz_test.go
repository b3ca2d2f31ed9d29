package session_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"leasehold/session"
)

func FuzzDecode(f *testing.F) {
	for _, raw := range []string{
		"", "[]", "null", `"x"`, "{", "\xff", "[[[[", `{"kind":"log"}`, with(`"interval":0.1,"headers":{"A":"b"}`),
		with(`"expect":{"status":[200],"body_contains":"x"},"labels":{"a":"b"},"lease_ttl":"30s","timeout":1e2`),
		with(`"paused":true,"isPaused":null,"on_failure":"release","method":"PUT","body":"\ud800"`),
	} {
		f.Add("id", []byte(raw))
	}
	f.Add("", []byte("{}"))
	f.Fuzz(func(t *testing.T, id string, raw []byte) {
		s, err := session.Decode(id, raw, session.Defaults{})
		if err != nil {
			refused(t, err)

			return
		}
		again, err := session.Decode(id, raw, session.Defaults{})
		if err != nil || again.Fingerprint != s.Fingerprint {
			t.Fatalf("decoding twice: %v", err)
		}
		usable(t, s)
	})
}

func refused(t *testing.T, err error) {
	t.Helper()
	var invalid *session.InvalidError
	if !errors.As(err, &invalid) || invalid.Reason == "" {
		t.Fatalf("%T without reason: %v", err, err)
	}
	if text := err.Error(); len(text) >= 200 || !utf8.ValidString(text) || strings.ContainsAny(text, "\r\n\x1b\x00") {
		t.Fatalf("error of %d bytes: %q", len(text), text)
	}
}

// usable checks what everything behind Decode relies on.
func usable(t *testing.T, s session.Session) {
	t.Helper()
	switch {
	case s.Interval < 100*time.Millisecond || s.Timeout < time.Millisecond,
		s.Interval > 366*24*time.Hour || s.Timeout > 24*time.Hour,
		s.LeaseTTL != 0 && (s.LeaseTTL < time.Second || s.LeaseTTL > 24*time.Hour),
		s.Kind != session.HTTP && s.Kind != session.Log && s.Kind != session.External,
		s.OnFailure != session.Keep && s.OnFailure != session.Release,
		s.Method == "",
		s.Kind == session.HTTP && !strings.HasPrefix(strings.ToLower(s.URL), "http"):
		t.Fatalf("accepted %+v", s)
	}
}

func FuzzRedactURL(f *testing.F) {
	f.Add("h", "/a", "x")
	f.Add("h:80", "/@", "&")
	f.Fuzz(func(t *testing.T, host, path, query string) {
		shown := session.RedactURL("http://me:hunter2@" + host + path + "?q=1&token=hunter2&" + query)
		if clean := host + path + query; !strings.Contains(clean, "hunter2") && strings.Contains(shown, "hunter2") {
			t.Fatalf("%q shows the secret", shown)
		}
	})
}
