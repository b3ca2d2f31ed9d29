package config_test

import (
	"strings"
	"testing"

	"leasehold/config"
)

// Fleets that share a Redis share no stream, unless they are told to.
func TestTheStreamOfResultsGoesByThePrefix(t *testing.T) {
	for _, c := range []struct {
		environ []string
		want    string
	}{
		{nil, "poll:results"},
		{[]string{"LEASEHOLD_KEY_PREFIX=b:"}, "b:results"},
		{[]string{"LEASEHOLD_KEY_PREFIX={b}:"}, "{b}:results"},
		{[]string{"LEASEHOLD_KEY_PREFIX=b:", "LEASEHOLD_RESULT_STREAM=poll:results"}, "poll:results"},
		{[]string{"LEASEHOLD_KEY_PREFIX=b:", "LEASEHOLD_RESULT_STREAM="}, ""},
	} {
		cfg := load(t, c.environ...)
		if cfg.ResultStream != c.want {
			t.Errorf("%s: %q, want %q", c.environ, cfg.ResultStream, c.want)
		}
		if set := len(c.environ) > 1; (cfg.Source("LEASEHOLD_RESULT_STREAM") == config.Default) == set {
			t.Errorf("%s: it comes from %s", c.environ, cfg.Source("LEASEHOLD_RESULT_STREAM"))
		}
	}
	_, err := config.Load([]string{"LEASEHOLD_KEY_PREFIX=b:", "LEASEHOLD_SESSION_PREFIX=b:r"}, nil)
	if err == nil || !strings.Contains(err.Error(), `LEASEHOLD_RESULT_STREAM="b:results" (the default): must not be the name of a session key`) {
		t.Errorf("a stream that would be a document: %v", err)
	}
}
