package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"leasehold/cli/output"
	"leasehold/httppoll"
	"leasehold/rediskey"
	"leasehold/session"
)

// prober is what a probe's target is told in place of an instance ID.
const prober = "probe"

// probeRow is what one poll brought. Times are in milliseconds, and null where it did
// not come to that.
type probeRow struct {
	SessionID string `json:"session_id"`
	URL       string `json:"url"` // without secrets
	OK        bool   `json:"ok"`
	Class     string `json:"class"`
	Status    int    `json:"status,omitempty"`
	Bytes     int64  `json:"bytes"`
	// Expect says what the document expects, Error what became of the poll.
	Expect string `json:"expect"`
	Error  string `json:"error,omitempty"`
	// Remote is the address that answered the last request.
	Remote string `json:"remote,omitempty"`
	timings
}

func probeKind() output.Kind[probeRow] {
	return output.Kind[probeRow]{
		Name: func(r probeRow) string { return r.SessionID },
		Columns: []output.Column[probeRow]{
			{Title: "SESSION", Text: func(r probeRow) string { return r.SessionID }},
			{Title: "URL", Text: func(r probeRow) string { return r.URL }},
			{Title: "REMOTE", Text: func(r probeRow) string { return r.Remote }},
			{
				Title: "CLASS",
				Text:  func(r probeRow) string { return r.Class },
				Color: func(r probeRow) output.Color { return bad(!r.OK, output.Good) },
			},
			{Title: "STATUS", Text: func(r probeRow) string {
				if r.Status == 0 {
					return ""
				}
				return number(r.Status)
			}},
			{Title: "BYTES", Text: func(r probeRow) string { return number(r.Bytes) }},
			{Title: "EXPECTED", Text: func(r probeRow) string { return r.Expect }},
			{Title: "ERROR", Text: func(r probeRow) string { return r.Error }},
			{Title: "DNS", Text: func(r probeRow) string { return r.DNS.String() }},
			{Title: "CONNECT", Text: func(r probeRow) string { return r.Connect.String() }},
			{Title: "TLS", Text: func(r probeRow) string { return r.TLS.String() }},
			{Title: "FIRST BYTE", Text: func(r probeRow) string { return r.FirstByte.String() }},
			{Title: "TOTAL", Text: func(r probeRow) string { return r.Total.String() }},
		},
	}
}

func (d Deps) probeCommand() *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "probe ID | -f FILE",
		Short: "Poll a session's target once, from here, and say how long each part took",
		Long: `Poll a session's target once, as a node would, but from this machine, without a
lease: nothing is written, and no node minds. So a node may poll the target at the
same time. The request says that it comes from the instance "probe" with version 0;
a target that minds versions refuses it.

With -f the document is in a file, or on standard input (-f -), and Redis is not
asked: it can be tried before it is added. The exit code is 0 if a node would count
the poll as a success, and else 1.

Times are counted from the start, but DNS, CONNECT and TLS, which are how long each
took by itself. FIRST BYTE is when the answer began, the last one where there were
redirects.`,
		Example: "  leasehold probe web\n  leasehold probe -f document.json -o json",
		Args:    cobra.MaximumNArgs(1),
	}
	addSettings(cmd, append(shownFlags(), "LEASEHOLD_POLL_MAX_BODY", "LEASEHOLD_DENY_TARGETS"))
	shown := addOutput(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "file with the session's document; - is standard input")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if (file == "") == (len(args) == 0) {
			return usage(errors.New("probe wants the ID of a session, or -f with a document"))
		}
		cfg, err := d.load(cmd)
		if err != nil {
			return err
		}
		f := &fleet{Deps: d, cfg: cfg, out: shown.options(d)}
		return d.interruptible(cmd.Context(), func(ctx context.Context) error {
			if file != "" {
				s, err := f.probedFile(file)
				if err != nil {
					return usage(err)
				}
				return f.probe(ctx, s)
			}
			return f.connected(ctx, func() error {
				found, err := f.one(ctx, args[0])
				switch {
				case err != nil:
					return err
				case found.Problem != "":
					return errors.New(found.Problem)
				}
				return f.probe(ctx, found.Spec)
			})
		})
	}
	return cmd
}

// probedFile reads a document as add takes it, but for the ID, which it need not have.
func (f *fleet) probedFile(name string) (session.Session, error) {
	text, err := f.readFile(name)
	if err != nil {
		return session.Session{}, err
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return session.Session{}, errors.New("the input has no document")
	}
	doc, err := document(text)
	if err != nil { // it has no ID, or is no document, which reading it tells better
		doc = session.Document{ID: prober, Raw: text}
	}
	s, err := f.rules().Read(doc)
	if err != nil {
		return s, fmt.Errorf("the document can't be used: %w", err)
	}
	return s, nil
}

// probe polls once.
func (f *fleet) probe(ctx context.Context, s session.Session) error {
	if s.Kind != session.HTTP {
		return fmt.Errorf("session %s is of kind %s: there is no target to poll", rediskey.Display(s.ID), s.Kind)
	}
	client := httppoll.New(f.polling())
	defer client.Close()
	var watch stopwatch
	out := client.Poll(watch.start(ctx), httppoll.Request{Session: s, Instance: prober})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	row := probeRow{
		SessionID: s.ID, URL: session.RedactURL(s.URL), OK: out.OK, Class: out.Class, Status: out.Status, Bytes: out.Bytes,
		Expect: expectation(s.Expect),
	}
	row.timings, row.Remote = watch.stop(out.Duration)
	if out.Err != nil {
		row.Error = out.Err.Error()
	}
	if err := output.One(f.Stdout, f.out, probeKind(), row); err != nil {
		return err
	}
	if !out.OK {
		return &Failure{Code: exitFailure}
	}
	return nil
}

// polling sets the client up as a node's.
func (f *fleet) polling() httppoll.Config {
	return httppoll.Config{Version: f.Version, MaxBody: f.cfg.PollMaxBody, Concurrency: 1, Deny: f.cfg.DenyTargets}
}

// expectation says what a document expects of an answer.
func expectation(e session.Expect) string {
	text := "status 200 to 299"
	if len(e.Status) > 0 {
		codes := make([]string, len(e.Status))
		for i, code := range e.Status {
			codes[i] = number(code)
		}
		text = "status " + strings.Join(codes, ", ")
	}
	if e.BodyContains != "" {
		text += fmt.Sprintf(", and a text of %d bytes in the body", len(e.BodyContains))
	}
	return text
}
