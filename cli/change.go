package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"leasehold/cli/output"
	"leasehold/rediskey"
)

// change is what became of a session that a command edits.
type change struct {
	SessionID string `json:"session_id"`
	Change    string `json:"change"`
}

func changeKind() output.Kind[change] {
	return output.Kind[change]{
		Name: func(c change) string { return c.SessionID },
		Columns: []output.Column[change]{
			{Title: "SESSION", Text: func(c change) string { return c.SessionID }},
			{Title: "CHANGE", Text: func(c change) string { return c.Change }},
		},
	}
}

// changing is editing for a command that says what became of each session. People get
// sentences, as few as will do.
func (d Deps) changing(cmd *cobra.Command, do work) *cobra.Command {
	shown := addOutput(cmd)
	return d.editing(cmd, func(ctx context.Context, f *fleet, args []string) error {
		f.out = shown.options(d)
		if f.out.Format == output.Table || f.out.Format == output.Wide {
			return do(ctx, f, args)
		}
		list, err := output.NewList(f.Stdout, f.out, changeKind())
		if err != nil {
			return err
		}
		f.changes = list
		err = do(ctx, f, args)
		if ended := list.End(); err == nil { // what is done is told, whatever failed then
			err = ended
		}
		return err
	})
}

// sentences reports whether people read what is printed.
func (f *fleet) sentences() bool { return f.changes == nil }

// changed says what became of a session.
func (f *fleet) changed(id, what string) error {
	if !f.sentences() {
		return f.changes.Add(change{SessionID: id, Change: what})
	}
	_, err := fmt.Fprintf(f.Stdout, "%s %s\n", rediskey.Display(id), what)
	return err
}

// counted says what became of a session that people hear of in a sum.
func (f *fleet) counted(id, what string) error {
	if f.sentences() {
		return nil
	}
	return f.changed(id, what)
}
