package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"leasehold/cli/output"
	"leasehold/fleetview"
)

// The formats of check.
const (
	checkText       = "text"
	checkJSON       = "json"
	checkPrometheus = "prometheus"
)

// failingPercent is the share above which the alert LeaseholdSessionsFailing warns.
const failingPercent = 20

// checking is what check was told.
type checking struct {
	format  string
	timeout time.Duration
	limits  fleetview.Limits
}

func (d Deps) checkCommand() *cobra.Command {
	var how checking
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the fleet as a plugin of Nagios: exit 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN",
		Long: `Check the fleet for a monitoring system, by the same counts as 'leasehold status'.
The exit code is that of a plugin of Nagios: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.
It is UNKNOWN where nothing can be said of the fleet: Redis does not answer in time,
or the settings or the command line are wrong.

A count is bad from its limit on; a limit of 0 is none. With the limits as they are
by default the fleet is OK exactly where status finds it healthy, a node is alive, and
no more than 20 % of the sessions that nodes poll fail, as the alert
LeaseholdSessionsFailing has it; --failing-warn is a count instead.
Right after a node has died its sessions are leased to nobody for a moment: a
monitoring system should ask again before it wakes anybody.

Formats: text is a line with performance data; json; prometheus is for the textfile
collector of the node exporter (write to another file first, and rename it).`,
		Example: "  leasehold check --min-nodes 3 --overdue-crit 10\n  leasehold check --format prometheus > leasehold.prom.new && mv leasehold.prom.new leasehold.prom",
		Args:    NoArgs,
	}
	addSettings(cmd, shownFlags())
	flags := cmd.Flags()
	flags.StringVar(&how.format, "format", checkText, "how to print: text, json or prometheus")
	flags.DurationVar(&how.timeout, "timeout", 10*time.Second, "how long to try at most")
	l := &how.limits
	flags.IntVar(&l.MinNodes, "min-nodes", 1, "critical with fewer nodes alive than this")
	flags.IntVar(&l.Unleased.Warning, "unleased-warn", 0, "warning from so many sessions on that nobody polls: leased by nobody, or by a node that is gone")
	flags.IntVar(&l.Unleased.Critical, "unleased-crit", 1, "critical from so many on")
	flags.IntVar(&l.Barred.Warning, "barred-warn", 0, "warning from so many sessions on that a key of another type keeps from being leased")
	flags.IntVar(&l.Barred.Critical, "barred-crit", 1, "critical from so many on")
	flags.IntVar(&l.Overdue.Warning, "overdue-warn", 1, "warning from so many sessions on that are overdue by more than two intervals")
	flags.IntVar(&l.Overdue.Critical, "overdue-crit", 0, "critical from so many on")
	flags.IntVar(&l.Failing.Warning, "failing-warn", 0, "warning from so many sessions on whose last poll failed")
	flags.Lookup("failing-warn").DefValue = fmt.Sprintf("more than %d %% of those that nodes poll", failingPercent)
	flags.IntVar(&l.Failing.Critical, "failing-crit", 0, "critical from so many on")
	flags.IntVar(&l.Invalid.Warning, "invalid-warn", 0, "warning from so many documents on that can't be used")
	flags.IntVar(&l.Invalid.Critical, "invalid-crit", 0, "critical from so many on")
	// It fails for unknown flags only.
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(checkFormats(), cobra.ShellCompDirectiveNoFileComp))
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return d.unknown(err) })
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := NoArgs(cmd, args); err != nil {
			return d.unknown(err)
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !cmd.Flags().Changed("failing-warn") {
			l.FailingPercent = failingPercent
		}
		return d.runCheck(cmd, &how)
	}
	return cmd
}

func checkFormats() []string { return []string{checkText, checkJSON, checkPrometheus} }

// runCheck checks. What keeps it from that is UNKNOWN, which is told on stdout:
// monitoring systems show nothing else.
func (d Deps) runCheck(cmd *cobra.Command, how *checking) error {
	if !slices.Contains(checkFormats(), how.format) {
		return d.unknown(fmt.Errorf("--format must be one of %s", strings.Join(checkFormats(), ", ")))
	}
	if how.timeout <= 0 {
		return d.unknown(fmt.Errorf("--timeout=%s: must be above 0", how.timeout))
	}
	if err := how.limits.Check(); err != nil {
		return d.unknown(err)
	}
	cfg, err := d.load(cmd)
	if err != nil {
		return d.unknown(err)
	}
	f := &fleet{Deps: d, cfg: cfg}
	var sum *fleetview.Summary
	err = d.interruptible(cmd.Context(), func(ctx context.Context) error {
		ctx, cancel := context.WithTimeoutCause(ctx, how.timeout, fmt.Errorf("no answer within %s", how.timeout))
		defer cancel()
		err := f.connected(ctx, func() (err error) {
			sum, err = f.summary(ctx)
			return err
		})
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	})
	if err != nil {
		return d.unknown(err)
	}
	v := how.limits.Judge(sum)
	if err := writeVerdict(d, how.format, v, sum); err != nil {
		return d.unknown(err)
	}
	if v.Level != fleetview.LevelOK {
		return &Failure{Code: int(v.Level)}
	}
	return nil
}

// unknown says why nothing is known.
func (d Deps) unknown(err error) error {
	if coded, ok := errors.AsType[*Failure](err); ok && coded.Err != nil {
		err = coded.Err
	}
	fmt.Fprintf(d.Stdout, "LEASEHOLD UNKNOWN - %s\n", oneLine(err))
	return &Failure{Code: exitUnknown}
}

func writeVerdict(d Deps, format string, v fleetview.Verdict, sum *fleetview.Summary) error {
	switch format {
	case checkJSON:
		return output.Describe(d.Stdout, output.Options{Format: output.JSON}, newCheckView(v, sum), v.Level.String(), nil)
	case checkPrometheus:
		return writeExposition(d.Stdout, v, sum)
	}
	text := fmt.Sprintf("%d of %d sessions polled well by %d nodes", sum.States[fleetview.OK], sum.Sessions, sum.Members)
	if len(v.Reasons) > 0 {
		text = strings.Join(v.Reasons, ", ")
	}
	var data []string
	for _, c := range v.Counts {
		data = append(data, fmt.Sprintf("%s=%d;%s;%s;0", c.Name, c.Value, performanceLimit(c.Warning, c.Least), performanceLimit(c.Critical, c.Least)))
	}
	_, err := fmt.Fprintf(d.Stdout, "LEASEHOLD %s - %s | %s\n", v.Level, text, strings.Join(data, " "))
	return err
}

// performanceLimit is a limit as a range of Nagios: what is outside is bad.
func performanceLimit(n int, least bool) string {
	switch {
	case n == 0:
		return ""
	case least:
		return number(n) + ":"
	}
	return number(n - 1)
}

// checkView is what JSON shows.
type checkView struct {
	Level    string   `json:"level"`
	ExitCode int      `json:"exit_code"`
	Reasons  []string `json:"reasons"`
	countView
}

func newCheckView(v fleetview.Verdict, sum *fleetview.Summary) checkView {
	return checkView{
		Level: v.Level.String(), ExitCode: int(v.Level), Reasons: append([]string{}, v.Reasons...), countView: newCountView(sum),
	}
}
