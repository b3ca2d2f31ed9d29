package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/mattn/go-isatty"
	"github.com/redis/go-redis/v9"

	"leasehold/cli"
	"leasehold/config"
)

// cliDeps are what the operator's commands need of the program.
func (a *app) cliDeps() cli.Deps {
	return cli.Deps{
		Version: build().version, Environ: a.environ, Stdin: a.stdin, Stdout: a.stdout, Stderr: a.stderr,
		Terminal: isTerminal(a.stdout), Progress: isTerminal(a.stderr),
		Signals: a.signals, Connect: connect,
	}
}

// connect returns a client of a Redis that has answered.
func connect(ctx context.Context, cfg config.Config) (redis.UniversalClient, error) {
	client, err := newRedis(cfg, "cli", nil)
	if err != nil {
		return nil, err
	}
	if err := firstContact(ctx, nil, client); err != nil {
		_ = client.Close() // nothing is left to lose
		return nil, errors.New(explainNoContact(cfg, err))
	}
	return client, nil
}

func isTerminal(w io.Writer) bool {
	if p, ok := w.(*printed); ok {
		w = p.to
	}
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
