package fleetview_test

import (
	"slices"
	"testing"

	"leasehold/fleetview"
)

func TestLimitsAreCountsFromWhichOnItIsBad(t *testing.T) {
	t.Parallel()
	one := fleetview.Limit{Warning: 1, Critical: 3}
	for _, c := range []struct {
		what   string
		limits fleetview.Limits
		states map[fleetview.State]int
		late   int
		want   fleetview.Level
		why    []string
	}{
		{"no limits", fleetview.Limits{}, map[fleetview.State]int{fleetview.Unleased: 9}, 9, fleetview.LevelOK, nil},
		{"few nodes", fleetview.Limits{MinNodes: 3}, nil, 0, fleetview.LevelCritical, []string{"2 nodes, fewer than 3"}},
		{"nodes enough", fleetview.Limits{MinNodes: 2}, nil, 0, fleetview.LevelOK, nil},
		{"below", fleetview.Limits{Failing: one}, nil, 0, fleetview.LevelOK, nil},
		{"a warning", fleetview.Limits{Failing: one}, map[fleetview.State]int{fleetview.Failing: 2}, 0, fleetview.LevelWarning, []string{"2 sessions failing"}},
		{"critical", fleetview.Limits{Failing: one}, map[fleetview.State]int{fleetview.Failing: 3}, 0, fleetview.LevelCritical, []string{"3 sessions failing"}},
		{
			"a fifth",
			fleetview.Limits{FailingPercent: 20},
			map[fleetview.State]int{fleetview.Failing: 2, fleetview.OK: 8, fleetview.Paused: 1},
			0,
			fleetview.LevelOK,
			nil,
		},
		{
			"more than a fifth of those that nodes poll",
			fleetview.Limits{FailingPercent: 20},
			map[fleetview.State]int{fleetview.Failing: 2, fleetview.OK: 7, fleetview.Paused: 9},
			0,
			fleetview.LevelWarning,
			[]string{"2 of 9 sessions failing"},
		},
		{"a fifth of nothing", fleetview.Limits{FailingPercent: 20}, map[fleetview.State]int{fleetview.Invalid: 3}, 0, fleetview.LevelOK, nil},
		{
			"orphans are leased by nobody",
			fleetview.Limits{Unleased: one},
			map[fleetview.State]int{fleetview.Unleased: 1, fleetview.Orphaned: 2},
			0,
			fleetview.LevelCritical,
			[]string{"3 sessions unleased"},
		},
		{
			"the worst first",
			fleetview.Limits{Overdue: fleetview.Limit{Critical: 1}, Failing: one},
			map[fleetview.State]int{fleetview.Failing: 1},
			1,
			fleetview.LevelCritical,
			[]string{"1 sessions overdue", "1 sessions failing"},
		},
	} {
		v := c.limits.Judge(&fleetview.Summary{Members: 2, States: c.states, Late: c.late})
		if v.Level != c.want || !slices.Equal(v.Reasons, c.why) {
			t.Errorf("%s: %s, %v, want %s, %v", c.what, v.Level, v.Reasons, c.want, c.why)
		}
	}
}
