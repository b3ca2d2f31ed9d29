package main

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// cluster is a PostgreSQL of the test's own, on a socket in its own directory.
type cluster struct{ url string }

// startCluster runs PostgreSQL until the test ends.
func startCluster(t *testing.T) cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "leasehold-postgres-") //nolint:usetesting // that one is in a directory of root alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	as := unprivileged(t, dir)
	data := filepath.Join(dir, "data")
	if out, err := as.command("initdb", "-D", data, "-U", "test", "-A", "trust", "-N").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	var said bytes.Buffer
	server := as.command("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off")
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGQUIT) // ends at once, with all its processes
		_ = server.Wait()
	})
	c := cluster{url: "postgres:///postgres?user=test&host=" + url.QueryEscape(dir)}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := pgx.Connect(context.Background(), c.url)
		if err == nil {
			_ = conn.Close(context.Background())
			return c
		}
		if time.Now().After(deadline) {
			t.Fatalf("PostgreSQL does not answer: %v\n%s", err, said.String())
		}
	}
}

// runner runs PostgreSQL's programs as somebody who is not root, whom they refuse.
type runner struct {
	t   *testing.T
	dir string
	who *syscall.SysProcAttr
}

func unprivileged(t *testing.T, dir string) runner {
	t.Helper()
	r := runner{t: t, dir: dir}
	if os.Getuid() != 0 {
		return r
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		t.Fatal(err)
	}
	r.who = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return r
}

func (r runner) command(name string, args ...string) *exec.Cmd {
	r.t.Helper()
	path, err := exec.LookPath(name)
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name); err != nil && len(found) > 0 {
		path, err = found[len(found)-1], nil
	}
	if err != nil {
		r.t.Fatalf("this test needs PostgreSQL, see scripts/ensure-postgres.sh: %v", err)
	}
	c := exec.Command(path, args...)
	c.Dir, c.SysProcAttr = r.dir, r.who
	return c
}

// row is what the table has of the session "s".
func (c cluster) row(t *testing.T) (token, sequence int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var found bool
	if err := conn.QueryRow(t.Context(), "SELECT to_regclass('leasehold_results') IS NOT NULL").Scan(&found); err != nil || !found {
		return 0, 0
	}
	err = conn.QueryRow(t.Context(), "SELECT coalesce(max(token), 0), coalesce(max(sequence), 0) FROM leasehold_results WHERE session = 's'").Scan(&token, &sequence)
	if err != nil {
		t.Fatal(fmt.Errorf("read the row: %w", err))
	}
	return token, sequence
}
