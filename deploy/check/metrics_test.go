package check_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// documented are the metrics of docs/metrics.md, which is made from the program, with
// the series of histograms, and their labels with the values that are named there.
func documented(t *testing.T) map[string]string {
	t.Helper()
	known := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(leasehold_[a-z_]+)` \\| ([a-z]+) \\| ([^|]*)\\|").FindAllStringSubmatch(read(t, "../../docs/metrics.md"), -1) {
		name, kind, labels := m[1], m[2], m[3]
		known[name] = labels
		if kind == "histogram" {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				known[name+suffix] = labels
			}
		}
	}
	if len(known) < 40 {
		t.Fatalf("docs/metrics.md has %d series", len(known))
	}
	return known
}

var (
	series   = regexp.MustCompile(`leasehold_[a-z_]+(\{[^}]*\})?`)
	selector = regexp.MustCompile(`([a-z]+)\s*(=~|!~|=|!=)\s*"([^"]*)"`)
)

// missing returns what an expression asks for and no node has.
func missing(known map[string]string, expr string) []string {
	var all []string
	for _, found := range series.FindAllString(expr, -1) {
		name, rest, _ := strings.Cut(found, "{")
		labels, ok := known[name]
		if !ok {
			all = append(all, name)
			continue
		}
		for _, m := range selector.FindAllStringSubmatch(rest, -1) {
			if m[1] == "job" || m[1] == "instance" { // the scrape's
				continue
			}
			if !strings.Contains(labels, "`"+m[1]+"`") {
				all = append(all, name+" by "+m[1])
			}
			for _, value := range strings.Split(m[3], "|") {
				if !slices.Contains(regexp.MustCompile(`[a-z_]+`).FindAllString(labels, -1), value) {
					all = append(all, name+" with "+m[1]+" "+value)
				}
			}
		}
	}
	return all
}

func TestAlertsAskForMetricsThatExistAndHaveARunbook(t *testing.T) {
	known, runbook := documented(t), read(t, "../../docs/runbook.md")
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	text := read(t, "../prometheus/rules.yml")
	if err := yaml.Unmarshal([]byte(text), &rules); err != nil {
		t.Fatal(err)
	}
	alerts := 0
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			alerts++
			for _, m := range missing(known, r.Expr) {
				t.Errorf("%s asks for %s", r.Alert, m)
			}
			if !strings.Contains(runbook, "\n## "+r.Alert+"\n") {
				t.Errorf("the runbook says nothing of %s", r.Alert)
			}
			if want := "docs/runbook.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
				t.Errorf("%s leads to %q", r.Alert, r.Annotations["runbook_url"])
			}
			if !strings.Contains(read(t, "../prometheus/rules_test.yml"), "alertname: "+r.Alert+"\n") {
				t.Errorf("%s has no test", r.Alert)
			}
		}
	}
	if sections := strings.Count(runbook, "\n## "); alerts == 0 || sections != alerts {
		t.Errorf("%d alerts, %d sections in the runbook", alerts, sections)
	}
}

func TestTheDashboardAsksForMetricsThatExist(t *testing.T) {
	known := documented(t)
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "../grafana/dashboards/leasehold.json")), &board); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			asked++
			for _, m := range missing(known, target.Expr) {
				t.Errorf("%q asks for %s", p.Title, m)
			}
		}
	}
	if asked < 20 {
		t.Errorf("the dashboard asks %d times", asked)
	}
}

func TestWhatIsMissingIsFound(t *testing.T) {
	known := map[string]string{"leasehold_a_total": "`kind`: one, two"}
	for expr, want := range map[string]int{
		`rate(leasehold_a_total{job=~"$job",kind="one"}[5m])`: 0,
		`leasehold_a_total{kind=~"one|two"}`:                  0,
		`leasehold_a_total{kind="three"}`:                     1,
		`leasehold_a_total{sort="one"}`:                       1,
		`leasehold_b`:                                         1,
	} {
		if got := missing(known, expr); len(got) != want {
			t.Errorf("%s: %v", expr, got)
		}
	}
}
