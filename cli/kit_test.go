package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"leasehold/cli"
	"leasehold/config"
	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

var update = flag.Bool("update", false, "write the golden files anew")

// bench is a Redis server of its own and the commands on it.
type bench struct {
	t     *testing.T
	redis *redistest.Server
	rdb   *redis.Client
	store *redisstore.Store
	keys  rediskey.Keys
	env   []string
	stdin string
	deps  func(*cli.Deps)
}

func newBench(t *testing.T) *bench {
	t.Helper()
	t.Parallel()
	server := redistest.StartServer(t)
	client := server.Client()
	t.Cleanup(func() { _ = client.Close() })
	return &bench{
		t: t, redis: server, rdb: client, keys: rediskey.Default(),
		store: redisstore.New(client, rediskey.Default(), redisstore.Options{Stream: "poll:results"}),
		env:   []string{"LEASEHOLD_REDIS_URL=" + server.URL()},
	}
}

// reply is what a command line brought.
type reply struct {
	code           int
	stdout, stderr string
}

// run runs one command line, as the program would.
func (b *bench) run(args ...string) reply {
	b.t.Helper()
	var stdout, stderr bytes.Buffer
	d := cli.Deps{
		Environ: b.env, Stdin: strings.NewReader(b.stdin), Stdout: &stdout, Stderr: &stderr,
		Connect: func(ctx context.Context, cfg config.Config) (redis.UniversalClient, error) {
			client, err := redisstore.Open(string(cfg.Redis[0]), redisstore.OpenOptions{Timeout: cfg.RedisTimeout})
			if err != nil {
				return nil, err
			}
			return client, client.Ping(ctx).Err()
		},
	}
	if b.deps != nil {
		b.deps(&d)
	}
	root := &cobra.Command{Use: "leasehold", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(cli.Commands(d)...)
	root.SetArgs(args)
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	err := root.ExecuteContext(b.t.Context())
	code := 0
	if failed, ok := errors.AsType[*cli.Failure](err); ok {
		code = failed.Code
		if failed.Err != nil {
			fmt.Fprintf(&stderr, "leasehold: %v\n", failed.Err)
		}
	} else if err != nil {
		code = 2
		fmt.Fprintf(&stderr, "leasehold: %v\n", err)
	}
	return reply{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// ok runs a command line that must succeed, and returns its output.
func (b *bench) ok(args ...string) string {
	b.t.Helper()
	got := b.run(args...)
	if got.code != 0 {
		b.t.Fatalf("%v: exit %d, stdout %s, stderr %s", args, got.code, got.stdout, got.stderr)
	}
	return got.stdout
}

// fails runs a command line that must fail with the code and say something.
func (b *bench) fails(code int, says string, args ...string) {
	b.t.Helper()
	got := b.run(args...)
	if got.code != code || !strings.Contains(got.stderr, says) {
		b.t.Errorf("%v: exit %d, want %d; stderr %q, want %q", args, got.code, code, got.stderr, says)
	}
}

// list reads what a command prints as JSON.
func list[T any](b *bench, args ...string) []T {
	b.t.Helper()
	var all []T
	text := b.ok(append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		b.t.Fatalf("%v: %v: %s", args, err, text)
	}
	return all
}

// one reads one object.
func one[T any](b *bench, args ...string) T {
	b.t.Helper()
	var v T
	text := b.ok(append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		b.t.Fatalf("%v: %v: %s", args, err, text)
	}
	return v
}

func (b *bench) put(id, doc string) {
	b.t.Helper()
	if err := b.rdb.Set(b.t.Context(), "session:"+id, doc, 0).Err(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) doc(id string) string { return b.rdb.Get(b.t.Context(), "session:"+id).Val() }

// node is a live node's instance ID, with a heartbeat.
func (b *bench) node(name string) string {
	b.t.Helper()
	id := name + "-1764288000123456789-0000000a"
	if err := b.store.Beat(b.t.Context(), id, time.Minute); err != nil {
		b.t.Fatal(err)
	}
	return id
}

// lease has a holder take leases.
func (b *bench) lease(holder string, ids ...string) []lease.Grant {
	b.t.Helper()
	claims := make([]lease.Claim, len(ids))
	for i, id := range ids {
		claims[i] = lease.Claim{Session: id, TTL: time.Minute}
	}
	grants := make([]lease.Grant, len(ids))
	for i, o := range b.store.Acquire(b.t.Context(), holder, claims) {
		if !o.Granted {
			b.t.Fatalf("%s does not get %s: %+v", holder, ids[i], o)
		}
		grants[i] = lease.Grant{Session: ids[i], Holder: holder, Token: o.Token}
	}
	return grants
}

// poll records a poll of the lease's holder.
func (b *bench) poll(g lease.Grant, r lease.Result) {
	b.t.Helper()
	start, err := b.store.Begin(b.t.Context(), g, lease.Slot{Interval: 10 * time.Second, Bound: time.Second})
	if err != nil || start.Wait > 0 {
		b.t.Fatalf("begin: %+v, %v", start, err)
	}
	r.Started, r.Due, r.Sequence = start.At, start.Due, start.Sequence
	if r.NextDue.IsZero() {
		r.NextDue = start.At.Add(10 * time.Second)
	}
	if err := b.store.Finish(b.t.Context(), g, r); err != nil {
		b.t.Fatal(err)
	}
}

// golden compares an output with a file, once what differs from run to run has been
// replaced.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

func streamArgs(session, event string) *redis.XAddArgs {
	return &redis.XAddArgs{Stream: "poll:results", Values: []any{"session", session, "token", "1", "event", event}}
}
