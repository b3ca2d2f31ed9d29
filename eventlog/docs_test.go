package eventlog_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"leasehold/eventlog"
)

// documented is one row of docs/log-events.md.
type documented struct {
	levels []string
	fields map[string]bool
}

// readCatalog returns the rows of the table by event.
func readCatalog(t *testing.T) map[string]documented {
	t.Helper()
	text, err := os.ReadFile("../docs/log-events.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| ([a-z, ]+) \\| [^|]+ \\| ([^|]*)\\|$")
	aside := regexp.MustCompile(`\([^)]*\)`) // what a field's values are
	field := regexp.MustCompile("`([a-z_]+)`")
	all := make(map[string]documented)
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		d := documented{levels: strings.Split(m[2], ", "), fields: make(map[string]bool)}
		for _, f := range field.FindAllStringSubmatch(aside.ReplaceAllString(m[3], ""), -1) {
			d.fields[f[1]] = true
		}
		all[m[1]] = d
	}
	return all
}

func TestTheCatalogNamesEveryEventAndNoOther(t *testing.T) {
	catalog := readCatalog(t)
	for _, e := range eventlog.All() {
		name, level, _ := eventlog.Describe(e)
		if !slices.Contains(catalog[name].levels, string(level)) {
			t.Errorf("docs/log-events.md has %s at %q, not at %s", name, catalog[name].levels, level)
		}
		delete(catalog, name)
	}
	for name := range catalog {
		t.Errorf("docs/log-events.md names %s, which is no event", name)
	}
}

// The golden cases set every field of every event.
func TestTheCatalogNamesTheFieldsAndLevelsOfEveryLine(t *testing.T) {
	catalog := readCatalog(t)
	seen := make(map[string]map[string]bool)
	for _, c := range golden {
		var line map[string]any
		if err := json.Unmarshal([]byte(c.want), &line); err != nil {
			t.Fatal(err)
		}
		name, level := line["event"].(string), line["level"].(string)
		if !slices.Contains(catalog[name].levels, level) {
			t.Errorf("docs/log-events.md has %s at %q, not at %s", name, catalog[name].levels, level)
		}
		if seen[name] == nil {
			seen[name] = make(map[string]bool)
		}
		for field := range line {
			if field != "event" && field != "level" {
				seen[name][field] = true
			}
		}
	}
	for name, fields := range seen {
		if !maps.Equal(fields, catalog[name].fields) {
			t.Errorf("%s has the fields %v, docs/log-events.md says %v", name,
				slices.Sorted(maps.Keys(fields)), slices.Sorted(maps.Keys(catalog[name].fields)))
		}
	}
}
