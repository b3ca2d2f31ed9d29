// Package examples_test tries the examples that are no Go programs.
package examples_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

// conform tries a worker and returns what was found, and whether the worker passed.
func conform(t *testing.T, worker string, flags ...string) (found string, passed bool) {
	t.Helper()
	args := append([]string{"conformance.py"}, flags...)
	cmd := exec.CommandContext(t.Context(), "python3", append(args, "--", "python3", worker)...)
	cmd.Stderr = os.Stderr // what a worker logs is of interest when it fails
	if !testing.Verbose() {
		cmd.Stderr = nil
	}
	out, err := cmd.Output()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Error(err)
		return "", false
	}
	return string(out), cmd.ProcessState.ExitCode() == 0
}

func TestTheWorkerConforms(t *testing.T) {
	t.Parallel()
	found, passed := conform(t, "worker.py")
	if !passed || !strings.Contains(found, "\n0 faults") || !strings.Contains(found, "--- it gives all back on SIGTERM") {
		t.Errorf("found:\n%s", found)
	}
}

// A worker that is wrong on purpose is found out, by the name of what it does wrong.
func TestAWorkerThatIsWrongIsFoundOut(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("worker.py")
	if err != nil {
		t.Fatal(err)
	}
	var trials errgroup.Group // they wait more than they work
	trials.SetLimit(6)
	for name, c := range map[string]struct{ right, wrong, found string }{
		"goes on with a lease that was lost": {
			`                    lease.ended.set()`, `                    pass`, "WRONG works on 'plain'",
		},
		"trusts its leases for ever": {
			`max(0.0, self.until - time.monotonic())`, `60`, "after its lease had ended",
		},
		"takes a 503 for a loss": {
			`            for lease in held:
                lease.renew_at = time.monotonic() + error.retry_after`, `            for lease in held:
                lease.ended.set()`, "WRONG gives up its leases for a 503",
		},
		"does not wait before it tries again": {
			`lease.renew_at = time.monotonic() + error.retry_after`, `pass`, "WRONG does not wait for Retry-After",
		},
		"renews late": {`until - ttl * 3 / 4`, `until - ttl / 4`, "WRONG renews "},
		"keeps its token to itself": {
			`request.add_header("Leasehold-Token", str(lease.version))`, `pass`, "without its token",
		},
		"sends an old token":     {`str(lease.version)`, `str(lease.version - 1)`, "which is not that of its lease"},
		"releases nothing":       {`                self.api.release(lease, self.holder)`, `                pass`, "WRONG does not release"},
		"leaves slashes in IDs":  {`urllib.parse.quote(session, safe="") + "/lease"`, `urllib.parse.quote(session) + "/lease"`, "are IDs percent-encoded"},
		"changes its name":       {`{"holder_id": holder})`, `{"holder_id": holder + session[0]})`, "WRONG changes its holder"},
		"asks again and again":   {`&wait={LONG_POLL}s"`, `"`, "WRONG asks for free sessions without wait"},
		"does not end when told": {`        signal.sigwait(SIGNALS)`, `        self.stopping.wait()`, "WRONG has not ended"},
	} {
		if !strings.Contains(string(source), c.right) {
			t.Fatalf("worker.py has no %q", c.right)
		}
		worker := filepath.Join(t.TempDir(), strings.ReplaceAll(name, " ", "-")+".py")
		if err := os.WriteFile(worker, []byte(strings.ReplaceAll(string(source), c.right, c.wrong)), 0o600); err != nil {
			t.Fatal(err)
		}
		trials.Go(func() error {
			if found, passed := conform(t, worker, "--fail-fast"); passed || !strings.Contains(found, c.found) {
				t.Errorf("it %s; found:\n%s", name, found)
			}
			return nil
		})
	}
	_ = trials.Wait()
}
