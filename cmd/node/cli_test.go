package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"leasehold/config"
)

// outcome is what one command line brought.
type outcome struct {
	code           exitCode
	stdout, stderr string
	ran            []nodeSpec // the nodes that were started
}

// start is when the process of the tests began.
func start() time.Time { return time.Unix(0, 1_764_288_000_123_456_789) }

// execute runs a command line with a node that ends at once with code 0.
func execute(environ []string, args ...string) outcome {
	var out outcome
	var stdout, stderr bytes.Buffer
	a := &app{
		environ: environ, stdout: &stdout, stderr: &stderr, started: start(),
		runNode: func(_ context.Context, _ <-chan string, n nodeSpec) exitCode {
			out.ran = append(out.ran, n)
			return exitOK
		},
	}
	out.code = a.run(args)
	out.stdout, out.stderr = stdout.String(), stderr.String()
	return out
}

// full is where nothing can be written to, such as a file on a disk that is full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// Who redirects what a command prints must not take half of it for all.
func TestWhatCanNotBePrintedIsAFailure(t *testing.T) {
	for _, line := range []string{"config env", "config validate", "config -o json", "version", "man", "completion bash", "--help"} {
		var stderr bytes.Buffer
		a := &app{stdout: full{}, stderr: &stderr, started: start()}
		if code := a.run(strings.Fields(line)); code != exitFailure || stderr.String() != "leasehold: no space left on device\n" {
			t.Errorf("%s: exit %d: %s", line, code, &stderr)
		}
	}
}

func TestWithoutACommandItRunsANode(t *testing.T) {
	for _, args := range [][]string{{}, {"run"}} {
		got := execute([]string{"LEASEHOLD_INSTANCE_NAME=n1"}, args...)
		if got.code != exitOK || len(got.ran) != 1 || got.stdout != "" {
			t.Fatalf("%v: %+v", args, got)
		}
		if name := got.ran[0].cfg.InstanceName; name != "n1" {
			t.Errorf("%v: the node is called %s", args, name)
		}
		var line struct {
			Event    string            `json:"event"`
			Instance string            `json:"instance_id"`
			PID      int               `json:"pid"`
			Settings map[string]string `json:"settings"`
		}
		if err := json.Unmarshal([]byte(got.stderr), &line); err != nil {
			t.Fatalf("stderr is not one JSON line: %v: %s", err, got.stderr)
		}
		if line.Event != "node.starting" || line.Instance != got.ran[0].instance || line.PID != os.Getpid() ||
			line.Settings["LEASEHOLD_LEASE_TTL"] != "30s" {
			t.Errorf("%v: the first line is %s", args, got.stderr)
		}
	}
}

func TestFlagsGoBeforeTheEnvironment(t *testing.T) {
	for _, args := range [][]string{{"--lease-ttl", "40s", "--http-addr="}, {"run", "--lease-ttl=40s", "--http-addr", ""}} {
		got := execute([]string{"LEASEHOLD_LEASE_TTL=20s", "LEASEHOLD_HEARTBEAT_TTL=25s"}, args...)
		if len(got.ran) != 1 {
			t.Fatalf("%v: %+v", args, got)
		}
		cfg := got.ran[0].cfg
		if cfg.LeaseTTL != 40*time.Second || cfg.HeartbeatTTL != 25*time.Second || cfg.HTTPAddr != "" {
			t.Errorf("%v: TTLs %s and %s, address %q", args, cfg.LeaseTTL, cfg.HeartbeatTTL, cfg.HTTPAddr)
		}
	}
}

func TestWrongSettingsAreAllToldAndNothingStarts(t *testing.T) {
	got := execute([]string{"LEASEHOLD_LEASE_TTL=6s", "LEASEHOLD_REDIS_URL=redis://u:hunter2@h/x", "LEASEHOLD_LEASE_TLL=1"})
	want := `leasehold: settings can not be used:
  LEASEHOLD_REDIS_URL="redis://***@h/x": must end with a database number, such as /0, and have valid options
  LEASEHOLD_LEASE_RENEW_INTERVAL="10s" (the default): must be at most half of LEASEHOLD_LEASE_TTL (6s), which is 3s
  LEASEHOLD_LEASE_TLL: is no setting; did you mean LEASEHOLD_LEASE_TTL?
`
	if got.code != exitUsage || len(got.ran) != 0 || got.stderr != want {
		t.Errorf("code %d, %d nodes, stderr\n%swant\n%s", got.code, len(got.ran), got.stderr, want)
	}
}

func TestWrongUsageExitsWith2(t *testing.T) {
	for args, want := range map[string]string{
		"nope":           `unknown command "nope"`,
		"vresion":        "version",
		"--nope":         "unknown flag: --nope",
		"run --nope":     "unknown flag: --nope",
		"run extra":      `takes no arguments, and got "extra"`,
		"version extra":  "See 'leasehold version --help'",
		"--lease-ttl":    "flag needs an argument",
		"--api-token=xx": "unknown flag: --api-token", // it would show in the list of processes
	} {
		got := execute(nil, strings.Fields(args)...)
		if got.code != exitUsage || len(got.ran) != 0 || got.stdout != "" || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v, want %q", args, got, want)
		}
	}
}

func TestVersionNamesVersionCommitAndGo(t *testing.T) {
	got := execute(nil, "version")
	if ok, _ := regexp.MatchString(`^leasehold \S+\ncommit \S+\ngo1\.\S+ \w+/\w+\n$`, got.stdout); !ok || got.code != exitOK {
		t.Errorf("%+v", got)
	}
}

func TestHelpListsCommandsAndAllVariables(t *testing.T) {
	for _, args := range []string{"--help", "help", "run --help"} {
		got := execute([]string{"LEASEHOLD_LEASE_TTL=wrong"}, strings.Fields(args)...)
		if got.code != exitOK || got.stderr != "" || len(got.ran) != 0 {
			t.Errorf("%s: %+v", args, got)
		}
		for _, v := range config.Vars() {
			if !strings.Contains(got.stdout, v.Name) {
				t.Errorf("%s lacks %s", args, v.Name)
			}
		}
	}
	if got := execute(nil, "--help"); !strings.Contains(got.stdout, "\n  run ") || !strings.Contains(got.stdout, "\n  version ") {
		t.Errorf("the commands are missing: %s", got.stdout)
	}
	if got := execute(nil, "version", "--help"); strings.Contains(got.stdout, "LEASEHOLD_LEASE_TTL") {
		t.Error("the help of version lists the settings of run")
	}
}

func TestAShortDrainIsWarnedOf(t *testing.T) {
	got := execute([]string{"LEASEHOLD_DRAIN_TIMEOUT=1s"})
	if !strings.Contains(got.stderr, `"event":"settings.warning"`) || got.code != exitOK {
		t.Errorf("%+v", got)
	}
}

// supervised runs a node that reports the reasons it is stopped for, and ends with
// the code that it is told.
func supervised(t *testing.T, runNode nodeRunner) (chan<- os.Signal, <-chan exitCode) {
	t.Helper()
	signals := make(chan os.Signal)
	a := &app{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}, started: start(), signals: signals, runNode: runNode}
	code := make(chan exitCode, 1)
	go func() { code <- a.run(nil) }()
	return signals, code
}

func TestTheFirstSignalAsksForADrain(t *testing.T) {
	for signal, name := range map[os.Signal]string{syscall.SIGTERM: "SIGTERM", os.Interrupt: "SIGINT"} {
		reasons := make(chan string, 2)
		signals, code := supervised(t, func(_ context.Context, stop <-chan string, _ nodeSpec) exitCode {
			reasons <- <-stop
			_, open := <-stop
			if open {
				reasons <- "stop is still open"
			}
			return exitLeasesLeft
		})
		signals <- signal
		if got := <-code; got != exitLeasesLeft {
			t.Errorf("%s: exit %d, want the node's own code", name, got)
		}
		if got := <-reasons; got != name {
			t.Errorf("the reason is %q, want %s", got, name)
		}
		if len(reasons) > 0 {
			t.Error(<-reasons)
		}
	}
}

func TestTheSecondSignalWaitsForNothing(t *testing.T) {
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	signals, code := supervised(t, func(_ context.Context, stop <-chan string, _ nodeSpec) exitCode {
		<-stop
		<-forever
		return exitOK
	})
	signals <- syscall.SIGTERM
	select {
	case got := <-code:
		t.Fatalf("exit %d after the first signal", got)
	default:
	}
	signals <- os.Interrupt
	if got := <-code; got != exitForced {
		t.Errorf("exit %d, want 130", got)
	}
}
