// Command consumer reads the fleet's results from the stream as one of a consumer
// group, and keeps the latest of each session in a hash of its own:
//
//	REDIS_URL=redis://127.0.0.1:6379/0 consumer NAME
//
// Several may run, each under a name that it keeps over restarts. Each entry is handled
// at least once, whoever dies: what a consumer had read and not acknowledged it reads
// again when it is back, and another claims it when it stays away. Handling one twice
// changes nothing, and what is late is refused, since token and sequence are compared
// by the script that stores.
package main

import (
	"context"
	_ "embed" // the script
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/results"
)

//go:embed save.lua
var saveSource string

const (
	stream = "poll:results" // of a fleet with the default LEASEHOLD_KEY_PREFIX
	group  = "example"
	// latest is the prefix of what this program writes: never a key of the fleet.
	latest = "example:latest:"

	batch = 100
	block = time.Second
	// pause is before the next try when Redis errs.
	pause = time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args, os.Getenv("REDIS_URL")); err != nil {
		fmt.Fprintln(os.Stderr, "consumer:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

func run(ctx context.Context, args []string, url string) error {
	if len(args) != 2 {
		return errors.New("usage: REDIS_URL=redis://… consumer NAME")
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		return errors.New("REDIS_URL is no URL of a Redis") // the error would quote it
	}
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }() // nothing is left to lose
	c := &consumer{client: client, name: args[1], stale: time.Minute, save: redis.NewScript(saveSource), out: os.Stdout}
	c.work(ctx)
	return nil
}

// consumer is one of the group.
type consumer struct {
	client *redis.Client
	name   string
	// stale is how long an entry waits for another consumer before this one takes it.
	stale time.Duration
	save  *redis.Script
	out   io.Writer
}

// work handles entries until ctx ends. It begins anew when Redis errs.
func (c *consumer) work(ctx context.Context) {
	for ctx.Err() == nil {
		if err := c.follow(ctx); ctx.Err() == nil {
			fmt.Fprintln(c.out, "again in", pause, "after:", err)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}
}

// follow handles what this consumer left behind, then what is new, and now and then
// what others left.
func (c *consumer) follow(ctx context.Context) error {
	err := c.client.XGroupCreateMkStream(ctx, stream, group, "0").Err()
	if err != nil && !redis.HasErrorPrefix(err, "BUSYGROUP") {
		return fmt.Errorf("join the group: %w", err)
	}
	for from := "0"; from != ">"; {
		n, err := c.read(ctx, from)
		if err != nil {
			return err
		}
		if n == 0 { // all that was handled is acknowledged, and so no longer there
			from = ">"
		}
	}
	for {
		if err := c.claim(ctx); err != nil {
			return err
		}
		if _, err := c.read(ctx, ">"); err != nil {
			return err
		}
	}
}

// read handles some entries: this consumer's pending ones from "0", new ones from ">".
func (c *consumer) read(ctx context.Context, from string) (n int, err error) {
	found, err := c.client.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: group, Consumer: c.name, Streams: []string{stream, from}, Count: batch, Block: block,
	}).Result()
	if errors.Is(err, redis.Nil) || len(found) == 0 && err == nil {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read: %w", err)
	}
	return len(found[0].Messages), c.handle(ctx, found[0].Messages)
}

// claim handles what others read and did not acknowledge for long.
func (c *consumer) claim(ctx context.Context) error {
	entries, _, err := c.client.XAutoClaim(ctx, &redis.XAutoClaimArgs{
		Stream: stream, Group: group, Consumer: c.name, MinIdle: c.stale, Start: "0", Count: batch,
	}).Result()
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	return c.handle(ctx, entries)
}

// handle stores entries, and acknowledges each when it is stored.
func (c *consumer) handle(ctx context.Context, entries []redis.XMessage) error {
	for _, entry := range entries {
		if err := c.store(ctx, entry); err != nil {
			return err
		}
		if err := c.client.XAck(ctx, stream, group, entry.ID).Err(); err != nil {
			return fmt.Errorf("acknowledge %s: %w", entry.ID, err)
		}
	}
	return nil
}

// store keeps a result, unless one that is as new is kept already.
func (c *consumer) store(ctx context.Context, entry redis.XMessage) error {
	text, ok := entry.Values["event"].(string)
	if !ok {
		return nil // it was trimmed from the stream before it was handled
	}
	var e results.Event
	if json.Unmarshal([]byte(text), &e) != nil {
		fmt.Fprintln(c.out, "no event:", entry.ID)
		return nil //nolint:nilerr // nor will it be one later
	}
	accepted, err := c.save.Run(ctx, c.client, []string{latest + e.Data.Session}, e.Token, e.Sequence, text).Bool()
	if err != nil {
		return fmt.Errorf("store %s: %w", e.ID, err)
	}
	verdict := "refused"
	if accepted {
		verdict = "accepted"
	}
	fmt.Fprintln(c.out, verdict, e.ID)
	return nil
}
