package history

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Drift is how far the server's clock may run away from ours within one TTL.
const Drift = 5 * time.Millisecond

// Entry is one operation of a history and its answer.
type Entry struct {
	Client int
	Op
	Answer
}

// Report is what was checked.
type Report struct {
	Sessions, Operations, Expiries, Unknown, Refused int
	Kinds                                            map[Kind]int
	Took                                             time.Duration
}

func (r *Report) String() string {
	kinds := make([]string, 0, len(r.Kinds))
	for _, k := range slices.Sorted(maps.Keys(r.Kinds)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", r.Kinds[k], k))
	}

	return fmt.Sprintf("%d operations of %d sessions (%s; %d refused, %d without answer), checked in %s",
		r.Operations, r.Sessions, strings.Join(kinds, ", "), r.Refused, r.Unknown, r.Took.Round(time.Millisecond))
}

// Check says why no lease could have had this history. The limit is for each session.
func Check(entries []Entry, limit time.Duration) (*Report, error) {
	from := time.Now()
	r := &Report{Kinds: map[Kind]int{}}
	sessions := map[string][]porcupine.Operation{}
	for _, e := range withExpiries(entries) {
		r.count(e)
		sessions[e.Session] = append(sessions[e.Session], e.operation())
	}
	r.Sessions = len(sessions)
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(sessions)) {
		errs = append(errs, checkOne(id, sessions[id], limit))
	}
	r.Took = time.Since(from)

	return r, errors.Join(errs...)
}

func (r *Report) count(e Entry) {
	r.Operations++
	r.Kinds[e.Kind]++
	if !e.Known {
		r.Unknown++
	} else if !e.Done && e.Kind != Expire && e.Kind != Wipe {
		r.Refused++
	}
}

// clientOf is where a picture shows the operations that no client asked for.
const clientOf = 1000

// withExpiries adds the end of each TTL that an accepted operation set.
func withExpiries(entries []Entry) []Entry {
	all := slices.Clone(entries)
	next := 0
	for _, e := range entries {
		next = max(next, e.ID)
	}
	for _, e := range entries {
		if !e.Known || !e.Done || e.Kind != Acquire && e.Kind != Renew {
			continue
		}
		next++
		all = append(all, Entry{Client: clientOf, Answer: Answer{Known: true}, Op: Op{
			ID: next, Kind: Expire, Session: e.Session, Of: e.ID,
			Call:   e.Call + int64(e.TTL-Drift),
			Return: e.Return + int64(e.TTL+Drift),
		}})
	}

	return all
}

func (e Entry) operation() porcupine.Operation {
	until := e.Return
	if !e.Known {
		until = math.MaxInt64
	}

	return porcupine.Operation{ClientId: e.Client, Input: e.Op, Output: e.Answer, Call: e.Call, Return: until}
}

func checkOne(id string, ops []porcupine.Operation, limit time.Duration) error {
	model := Model()
	result := porcupine.CheckOperationsTimeout(model, ops, limit)
	if result == porcupine.Ok {
		return nil
	}
	if result == porcupine.Unknown {
		return fmt.Errorf("session %q: %d operations not judged within %s", id, len(ops), limit)
	}
	_, info := porcupine.CheckOperationsVerbose(model, ops, limit)

	return fmt.Errorf("session %q: no lease answers so: %s; see %s", id, misfit(ops, info), picture(model, info))
}

// misfit tells the first operations that fit nowhere after the longest order found.
func misfit(ops []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var best []porcupine.Operation
	for _, partial := range info.PartialLinearizationsOperations() {
		for _, p := range partial {
			if len(p) > len(best) {
				best = p
			}
		}
	}
	done := map[int]bool{}
	for _, o := range best {
		done[o.Input.(Op).ID] = true
	}
	rest := slices.DeleteFunc(slices.Clone(ops), func(o porcupine.Operation) bool { return done[o.Input.(Op).ID] })
	slices.SortFunc(rest, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	told := []string{fmt.Sprintf("%d of %d operations fit", len(best), len(ops))}
	for _, o := range slices.Concat(best[max(0, len(best)-3):], rest[:min(3, len(rest))]) {
		op := o.Input.(Op)
		mark := "does not fit: "
		if done[op.ID] {
			mark = "fits: "
		}
		told = append(told, fmt.Sprintf("%s%s %s", time.Unix(0, op.Call).UTC().Format("05.000000 "), mark, describe(op, o.Output.(Answer))))
	}

	return strings.Join(told, "\n  ")
}

func picture(model porcupine.Model, info porcupine.LinearizationInfo) string {
	f, err := os.CreateTemp("", "leases-*.html")
	if err != nil {
		return err.Error()
	}
	defer func() { _ = f.Close() }()
	if err := porcupine.Visualize(model, info, f); err != nil {
		return err.Error()
	}

	return filepath.Clean(f.Name())
}
