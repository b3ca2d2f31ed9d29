package emulator

import (
	"slices"
	"testing"
	"time"
)

// A command that meets a key past its deadline makes a server announce the expiry
// first, even if no timer has found it yet.
func TestExpiryComesBeforeTheCommandThatMeetsIt(t *testing.T) {
	start := time.Now()
	for name, c := range map[string]struct {
		at   time.Duration
		op   op
		want []string
	}{
		"claim just before":      {59 * time.Second, op{kind: write, name: "set", on: ifAbsent}, nil},
		"claim at the deadline":  {time.Minute, op{kind: write, name: "set", on: ifAbsent}, []string{"expired", "set"}},
		"release just before":    {59 * time.Second, op{kind: remove, name: "del"}, []string{"del"}},
		"release after":          {61 * time.Second, op{kind: remove, name: "del"}, []string{"expired"}},
		"renewal after":          {61 * time.Second, op{kind: alter, name: "expire"}, []string{"expired"}},
		"heartbeat, XX, after":   {61 * time.Second, op{kind: write, name: "set", on: ifPresent}, []string{"expired"}},
		"heartbeat, XX, in time": {59 * time.Second, op{kind: write, name: "set", on: ifPresent, timed: true}, []string{"set", "expire"}},
	} {
		p := newPicture()
		k := id{key: "k"}
		p.put(k, "set", true)
		p.schedule(k, start.Add(time.Minute))
		p.out = nil
		c.op.key, c.op.at = "k", start.Add(c.at)
		p.play(c.op)
		var got []string
		for _, a := range p.out {
			got = append(got, a.name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
