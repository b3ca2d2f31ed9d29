package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"leasehold/cli/output"
	"leasehold/config"
	"leasehold/tracing"
)

// settingRow is one setting, secrets masked.
type settingRow struct {
	Name   string        `json:"name"`
	Value  string        `json:"value"`
	Source config.Source `json:"source"`
}

func settingKind() output.Kind[settingRow] {
	return output.Kind[settingRow]{
		Name:    func(r settingRow) string { return r.Name },
		Compare: func(settingRow, settingRow) int { return 0 }, // as they are documented
		Columns: []output.Column[settingRow]{
			{Title: "NAME", Text: func(r settingRow) string { return r.Name }},
			{Title: "VALUE", Text: func(r settingRow) string { return r.Value }},
			{Title: "SOURCE", Text: func(r settingRow) string { return string(r.Source) }},
		},
	}
}

func (d Deps) configCommand() *cobra.Command {
	show := d.showConfig()
	cmd := d.showConfig()
	cmd.Use, cmd.Long = "config", `Show the settings that a node would run with, each with where it comes from: flag,
env or default. Secrets are masked. Redis is not asked.`
	cmd.AddCommand(show, d.onSettings(&cobra.Command{
		Use:   "env",
		Short: "Print the effective settings as NAME=value lines, secrets masked",
	}, func(cfg config.Config) error {
		for _, s := range cfg.Settings() {
			if s.Value != "" {
				fmt.Fprintf(d.Stdout, "%s=%s\n", s.Name, config.Quoted(s.Value))
			}
		}
		return nil
	}), d.onSettings(&cobra.Command{
		Use:   "validate",
		Short: "Check the settings: exit 0 if a node can run with them, else 2",
		Long: `Check the settings: exit 0 if a node can run with them, else 2, with all that is
wrong. What works but has a price is told too. Redis is not asked.`,
	}, func(cfg config.Config) error {
		_, ignored := tracing.Read(d.Environ)
		for _, w := range append(cfg.Warnings(), ignored...) {
			say(d.Stderr, "%s", w)
		}
		fmt.Fprintln(d.Stdout, "the settings can be used")
		return nil
	}))
	return cmd
}

func (d Deps) showConfig() *cobra.Command {
	cmd := &cobra.Command{Use: "show", Short: "Show the effective settings with their source, secrets masked"}
	shown := addOutput(cmd)
	shown.sortable(cmd)
	return d.onSettings(cmd, func(cfg config.Config) error {
		var rows []settingRow
		for _, s := range cfg.Settings() {
			rows = append(rows, settingRow{Name: s.Name, Value: s.Value, Source: s.Source})
		}
		return printAll(&fleet{Deps: d, out: shown.options(d)}, settingKind(), rows)
	})
}

// onSettings has the command work on the settings alone: with a flag for each that may
// have one.
func (d Deps) onSettings(cmd *cobra.Command, do func(config.Config) error) *cobra.Command {
	cmd.Args = NoArgs
	for _, v := range config.Vars() {
		if v.Flag() != "" {
			addSettings(cmd, []string{v.Name})
		}
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := d.load(cmd)
		if err != nil {
			return err
		}
		return failure(do(cfg))
	}
	return cmd
}
