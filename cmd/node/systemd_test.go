package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"leasehold/httpapi"
	"leasehold/internal/redistest"
)

// serviceManager listens as systemd does, and returns what it is told next.
func serviceManager(t *testing.T) (next func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return func() string {
		buf := make([]byte, 256)
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
}

func watched(t *testing.T, limit time.Duration) {
	t.Helper()
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	t.Setenv("WATCHDOG_USEC", strconv.FormatInt(limit.Microseconds(), 10))
}

func TestSystemdIsToldOfANodesLife(t *testing.T) {
	next := serviceManager(t)
	watched(t, 200*time.Millisecond)
	server := redistest.StartServer(t)
	// The node is stopped by the cleanup of the subtest.
	t.Run("node", func(t *testing.T) {
		runForMetrics(t, "LEASEHOLD_REDIS_URL="+server.URL())
		told := map[string]int{}
		for told["READY=1"] == 0 || told["WATCHDOG=1"] < 3 {
			told[next()]++
		}
		if told["STOPPING=1"] > 0 {
			t.Error("it stops before it was asked to")
		}
	})
	for state := next(); state != "STOPPING=1"; state = next() {
		if state != "WATCHDOG=1" {
			t.Errorf("%q", state)
		}
	}
}

func TestTheWatchdogIsFedWhileTheChecksHoldOnly(t *testing.T) {
	next := serviceManager(t)
	watched(t, 100*time.Millisecond)
	var sick atomic.Bool
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		feedWatchdog(ctx, []httpapi.Check{{Name: "x", Probe: func(context.Context) error {
			if sick.Load() {
				return errors.New("stuck")
			}
			return nil
		}}})
	}()
	for range 3 {
		if state := next(); state != "WATCHDOG=1" {
			t.Fatal(state)
		}
	}
	sick.Store(true)
	time.Sleep(200 * time.Millisecond) // what was under way
	tellSystemd("X-MARK=1")
	for strings.HasPrefix(next(), "WATCHDOG") {
	}
	time.Sleep(300 * time.Millisecond)
	tellSystemd("X-MARK=2")
	if state := next(); state != "X-MARK=2" {
		t.Errorf("a stuck node says %s", state)
	}
	cancel()
	<-ended
}

func TestWithoutASystemdNobodyIsTold(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	tellSystemd("READY=1")
	feedWatchdog(t.Context(), nil) // returns at once
}
