// Command postgres keeps the latest result of each session in PostgreSQL, and refuses
// what comes late:
//
//	LEASEHOLD_RESULT_SINKS=stdout leasehold run | DATABASE_URL=postgres://… postgres
//
// It reads results from standard input, one JSON line each. For each it writes one line
// to standard output: accepted or refused, and the result's ID.
package main

import (
	"bufio"
	"context"
	_ "embed" // the statements
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/jackc/pgx/v5"

	"leasehold/results"
)

var (
	//go:embed schema.sql
	schema string
	//go:embed save.sql
	save string
)

func main() {
	if err := run(context.Background(), os.Getenv("DATABASE_URL"), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "postgres:", err)
		os.Exit(1)
	}
}

// run stores results until the input ends.
func run(ctx context.Context, url string, in io.Reader, out io.Writer) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }() // nothing is left to lose
	if _, err := conn.PgConn().Exec(ctx, schema).ReadAll(); err != nil {
		return fmt.Errorf("make the table: %w", err)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20) // an event with a body of 64 KiB, escaped, is below that
	for lines.Scan() {
		accepted, id, err := store(ctx, conn, lines.Bytes())
		if err != nil {
			return err
		}
		verdict := "refused"
		if accepted {
			verdict = "accepted"
		}
		fmt.Fprintln(out, verdict, id)
	}
	return lines.Err()
}

// store saves one event, unless a newer one is there.
func store(ctx context.Context, conn *pgx.Conn, line []byte) (accepted bool, id string, err error) {
	var e results.Event
	if err := json.Unmarshal(line, &e); err != nil {
		return false, "", fmt.Errorf("read a result: %w", err)
	}
	at, err := e.Position()
	if err != nil {
		return false, e.ID, err
	}
	tag, err := conn.Exec(ctx, save, e.Data.Session, at.Token, at.Sequence, line)
	if err != nil {
		return false, e.ID, fmt.Errorf("store %s: %w", e.ID, err)
	}
	return tag.RowsAffected() == 1, e.ID, nil
}
