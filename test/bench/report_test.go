package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// goal is what a figure is to reach.
type goal struct {
	limit float64
	least bool // the limit is the least that will do, not the most
}

func atMost(limit float64) *goal  { return &goal{limit: limit} }
func atLeast(limit float64) *goal { return &goal{limit: limit, least: true} }

func (g *goal) met(v float64) bool {
	if g.least {
		return v >= g.limit
	}
	return v <= g.limit
}

func (g *goal) String() string {
	switch {
	case g == nil:
		return ""
	case g.least:
		return "≥ " + number(g.limit)
	default:
		return "≤ " + number(g.limit)
	}
}

// row is one figure over all runs, and those of the peers that it is compared with.
type row struct {
	What, Unit string
	Ours       []float64
	Peers      map[string][]float64
	goal       *goal
}

// report collects figures in the order in which they came first.
type report struct{ rows []*row }

func newReport() *report { return &report{} }

func (r *report) row(what, unit string) *row {
	for _, known := range r.rows {
		if known.What == what {
			return known
		}
	}
	added := &row{What: what, Unit: unit, Peers: map[string][]float64{}}
	r.rows = append(r.rows, added)
	return added
}

// ours adds a figure of the fleet. A nil goal: it is told, and nothing is asked of it.
func (r *report) ours(t *testing.T, what, unit string, v float64, g *goal) {
	t.Helper()
	t.Logf("%s: %s %s (%s)", what, number(v), unit, g)
	at := r.row(what, unit)
	at.Ours, at.goal = append(at.Ours, v), g
}

// peer adds the same figure of somebody else.
func (r *report) peer(t *testing.T, who, what, unit string, v float64) {
	t.Helper()
	t.Logf("%s: %s: %s %s", who, what, number(v), unit)
	at := r.row(what, unit)
	at.Peers[who] = append(at.Peers[who], v)
}

// markdown is the table.
func (r *report) markdown() string {
	var out strings.Builder
	out.WriteString("| what | Leasehold | to reach | met | peers in the same run |\n|---|---|---|---|---|\n")
	for _, row := range r.rows {
		ours, met := "", ""
		if len(row.Ours) > 0 {
			ours = spread(row.Ours) + " " + row.Unit
		}
		if row.goal != nil {
			met = map[bool]string{true: "yes", false: "no"}[row.goal.met(middle(row.Ours))]
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", row.What, ours, row.goal, met, row.beside())
	}
	return out.String()
}

// beside lists the peers with their ratios to ours.
func (r *row) beside() string {
	var all []string
	for who, v := range r.Peers {
		text := fmt.Sprintf("%s %s %s", who, spread(v), r.Unit)
		if ours := middle(r.Ours); len(r.Ours) > 0 && ours > 0 {
			text += fmt.Sprintf(" (%s×)", number(middle(v)/ours))
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (r *report) json() []byte {
	type figure struct {
		What  string               `json:"what"`
		Unit  string               `json:"unit"`
		Ours  []float64            `json:"ours,omitempty"`
		Limit *float64             `json:"limit,omitempty"`
		Met   *bool                `json:"met,omitempty"`
		Peers map[string][]float64 `json:"peers,omitempty"`
	}
	figures := make([]figure, len(r.rows))
	for i, row := range r.rows {
		figures[i] = figure{What: row.What, Unit: row.Unit, Ours: row.Ours, Peers: row.Peers}
		if row.goal != nil {
			met := row.goal.met(middle(row.Ours))
			figures[i].Limit, figures[i].Met = &row.goal.limit, &met
		}
	}
	text, err := json.MarshalIndent(figures, "", "  ")
	if err != nil {
		return []byte(err.Error()) // a figure that is no number
	}
	return append(text, '\n')
}

// spread is the median, with the range where it is of several.
func spread(v []float64) string {
	if len(v) < 2 {
		return number(middle(v))
	}
	return fmt.Sprintf("%s (%s to %s)", number(middle(v)), number(slices.Min(v)), number(slices.Max(v)))
}

func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.3g", v)
	}
}

func middle(v []float64) float64 { return quantile(v, 0.5) }

// quantile is the smallest value that so many of the list do not exceed; of none zero.
func quantile[T cmp.Ordered](list []T, q float64) T {
	if len(list) == 0 {
		var none T
		return none
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

func millis(d time.Duration) float64  { return float64(d) / float64(time.Millisecond) }
func seconds(d time.Duration) float64 { return d.Seconds() }
