package check

import (
	"errors"
	"fmt"
	"strings"
)

// shown is how many violations an error names.
const shown = 10

// Violation is one broken promise. Its text names the session and the facts.
//
//sumtype:decl
type Violation interface {
	fmt.Stringer
	isViolation()
}

// Verdict is what one check found.
type Verdict struct {
	Check      string
	Violations []Violation
	// Evidence counts the facts that were judged, Need how many there must be for the
	// absence of violations to mean something.
	Evidence, Need int
}

// Err is nil if the check passed, a [*Broken] if there are violations, else a
// [*NotEnough].
func (v Verdict) Err() error {
	if len(v.Violations) > 0 {
		return &Broken{Verdict: v}
	}
	if v.Evidence < max(v.Need, 1) {
		return &NotEnough{Verdict: v}
	}
	return nil
}

// All joins the errors of verdicts.
func All(verdicts ...Verdict) error {
	errs := make([]error, 0, len(verdicts))
	for _, v := range verdicts {
		errs = append(errs, v.Err())
	}
	if err := errors.Join(errs...); err != nil {
		return &Failed{joined: err}
	}
	return nil
}

// Failed joins the errors of several verdicts.
type Failed struct{ joined error }

func (f *Failed) Error() string { return f.joined.Error() }
func (f *Failed) Unwrap() error { return f.joined }

// GomegaString keeps Gomega from printing whole histories.
func (f *Failed) GomegaString() string { return f.Error() }

// Broken is a verdict with violations.
type Broken struct{ Verdict Verdict }

func (b *Broken) Error() string {
	all := b.Verdict.Violations
	lines := make([]string, 0, shown+2)
	lines = append(lines, fmt.Sprintf("%s: %d violations in %d facts", b.Verdict.Check, len(all), b.Verdict.Evidence))
	for _, v := range all[:min(len(all), shown)] {
		lines = append(lines, "  "+v.String())
	}
	if len(all) > shown {
		lines = append(lines, fmt.Sprintf("  and %d more", len(all)-shown))
	}
	return strings.Join(lines, "\n")
}

// GomegaString keeps Gomega from printing whole histories.
func (b *Broken) GomegaString() string { return b.Error() }

// NotEnough is a verdict without violations that means nothing.
type NotEnough struct{ Verdict Verdict }

func (n *NotEnough) Error() string {
	return fmt.Sprintf("%s: not enough evidence, %d of %d facts", n.Verdict.Check, n.Verdict.Evidence, max(n.Verdict.Need, 1))
}
