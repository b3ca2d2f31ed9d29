package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"leasehold/cli"
	"leasehold/doctor"
)

// doctorLimit bounds the whole look.
const doctorLimit = time.Minute

// Exit codes of doctor.
const (
	exitWarnings exitCode = 1
	exitUnsafe   exitCode = 2
)

func (a *app) doctorCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look whether Redis and the settings are fit for a fleet",
		Long: `Look whether Redis and the settings are fit for a fleet, a line for each check, with
the exact fix below what is wrong. Nothing is changed but throwaway keys under
poll:doctor:, which are removed. Exit codes: 0 fine, 1 warnings, 2 unsafe, or
settings that can not be used.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "text" && format != "json" {
				return fmt.Errorf("-o %s: must be text or json", format)
			}
			a.code = a.examine(cmd, format)
			return nil
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "text", "text or json")
	addSettingFlags(cmd, true)
	return cmd
}

// examine runs all checks and prints what they found.
func (a *app) examine(cmd *cobra.Command, format string) exitCode {
	ctx, cancel := context.WithTimeout(cmd.Context(), doctorLimit)
	defer cancel()
	cfg, ok := a.settings(cmd)
	if !ok {
		return exitUsage
	}
	client, err := newRedis(cfg, "", nil)
	if err != nil {
		fmt.Fprintf(a.stderr, "leasehold: %v\n", err)
		return exitUsage
	}
	defer func() { _ = client.Close() }() // nothing is left to lose
	found := make(chan doctor.Report, 1)
	go func() {
		found <- doctor.Run(ctx, client, cfg, func(err error) string { return advice(cfg, err) })
	}()
	select {
	case report := <-found:
		return a.tell(report, format)
	case <-a.signals:
		fmt.Fprintln(a.stderr, "leasehold: interrupted")
		return exitForced
	}
}

// tell prints what was found.
func (a *app) tell(report doctor.Report, format string) exitCode {
	var err error
	if format == "json" {
		out := json.NewEncoder(a.stdout)
		out.SetIndent("", "  ")
		err = out.Encode(report)
	} else {
		err = report.Print(a.stdout)
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "leasehold: %v\n", err)
		return exitFailure
	}
	switch report.Worst() {
	case doctor.Unsafe:
		return exitUnsafe
	case doctor.Warning:
		return exitWarnings
	case doctor.OK, doctor.Unknown:
	}
	return exitOK
}
