package cli_test

import (
	"strings"
	"testing"
)

// The flag of a node's setting is that of each command which reads what nodes share.
func TestTheAddressOfRedisIsAFlagToo(t *testing.T) {
	b := newBench(t)
	url := strings.TrimPrefix(b.env[0], "LEASEHOLD_REDIS_URL=")
	b.env = []string{"LEASEHOLD_REDIS_URL=redis://127.0.0.1:1/0"}
	b.lease(b.node("a"), "s1")
	b.put("s1", `{"kind":"log"}`)
	for _, line := range []string{
		"status", "check", "nodes ls", "sessions ls", "leases get s1", "explain s1", "plan", "sessions pause s1", "sessions results s1",
	} {
		b.ok(append(strings.Fields(line), "--redis-url", url)...)
	}
	b.fails(2, "LEASEHOLD_REDIS_URL", "status", "--redis-url", "http://user:s3cret@nowhere")
	if got := b.run("status", "--redis-url", "http://user:s3cret@nowhere"); strings.Contains(got.stderr, "s3cret") {
		t.Errorf("%+v", got)
	}
}
