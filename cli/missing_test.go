package cli_test

import (
	"strings"
	"testing"
)

func TestALeaseWithoutADocumentIsToldOf(t *testing.T) {
	b := newBench(t)
	b.lease("worker-1", "s1", "two words")
	for _, command := range []string{"explain", "sessions get"} {
		b.fails(1, `there is no document "session:s1"; worker-1 has its lease: leasehold leases get s1`, append(strings.Fields(command), "s1")...)
		b.fails(1, "leasehold leases get 'two words'", append(strings.Fields(command), "two words")...)
		if got := b.run(append(strings.Fields(command), "nope")...); got.code != 1 || strings.Contains(got.stderr, "leases get") {
			t.Errorf("%+v", got)
		}
	}
}
