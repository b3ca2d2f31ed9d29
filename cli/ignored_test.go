package cli_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestAMisspeltFieldIsToldOnceForAllDocuments(t *testing.T) {
	b := newBench(t)
	b.stdin = `{"id":"a","kind":"log","intervall":"5s","owner":"me"}
{"id":"b","kind":"log","Timeout":"1s","owner":"you"}
{"id":"c","url":"http://10.0.0.7/","expect":{"state":[200]},"owner":"her"}`
	want := []string{
		`line 1: field "intervall" means nothing to nodes; did you mean "interval"?`,
		`line 1: field "owner" (in 3 documents) means nothing to nodes`,
		`line 2: field "Timeout" means nothing to nodes; did you mean "timeout"?`,
		`line 3: field "expect.state" means nothing to nodes; did you mean "expect.status"?`,
	}
	got := b.run("sessions", "add", "-f", "-", "--dry-run")
	if got.code != 0 || got.stderr != "leasehold: "+strings.Join(want, "\nleasehold: ")+"\n" || b.doc("a") != "" {
		t.Errorf("%+v", got)
	}
	got = b.run("sessions", "add", "-f", "-", "--strict")
	if got.code != 2 || got.stdout != "" || b.doc("a") != "" || !strings.Contains(got.stderr, "has 4 faults:\n  "+strings.Join(want, "\n  ")) {
		t.Errorf("%+v", got)
	}
	got = b.run("sessions", "add", "-f", "-")
	if got.code != 0 || strings.Count(got.stderr, "means nothing") != 4 || !strings.Contains(b.doc("a"), "intervall") {
		t.Errorf("%+v", got)
	}
	b.stdin = `{"kind":"log","intervall":"5s"}`
	got = b.run("sessions", "add", "d", "-f", "-", "--strict")
	if got.code != 2 || b.doc("d") != "" || !strings.Contains(got.stderr, want[0]) {
		t.Errorf("%+v", got)
	}
	if got = b.run("sessions", "add", "d", "-f", "-"); got.code != 0 || got.stderr != "leasehold: "+want[0]+"\n" {
		t.Errorf("%+v", got)
	}
}

func TestFieldsThatMeanNothingAreNamedWithoutTheirValues(t *testing.T) {
	b := newBench(t)
	b.lease(b.node("a"), "s1")
	b.put("s1", `{"kind":"log","intervall":"hunter2","area":7}`)
	for _, command := range []string{"sessions get s1", "explain s1"} {
		got := b.ok(strings.Fields(command)...)
		if !regexp.MustCompile(`\nIGNORED +area, intervall\n`).MatchString(got) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %s", command, got)
		}
		v := one[struct {
			Ignored []string `json:"ignored_fields"`
		}](b, strings.Fields(command)...)
		if !slices.Equal(v.Ignored, []string{"area", "intervall"}) {
			t.Errorf("%s: %v", command, v)
		}
		b.put("s2", `{"kind":"log"}`)
		if got := b.ok(append(strings.Fields(command)[:len(strings.Fields(command))-1], "s2")...); strings.Contains(got, "IGNORED") {
			t.Errorf("%s", got)
		}
	}
}

// A list of the known fields that lacks one would call it a slip.
func TestEveryDocumentedFieldIsKnown(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| (`[a-z_`A-Z ()]+`[)]?) \\|")
	var fields []string
	for _, file := range []string{"../README.md", "../docs/tasks.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, table, _ := strings.Cut(string(text), "| field |")
		table, _, _ = strings.Cut(table, "\n\n")
		for _, cell := range row.FindAllStringSubmatch(table, -1) {
			for _, name := range regexp.MustCompile("`([A-Za-z_]+)`").FindAllStringSubmatch(cell[1], -1) {
				fields = append(fields, name[1])
			}
		}
	}
	if !slices.Contains(fields, "url") || !slices.Contains(fields, "isPaused") || !slices.Contains(fields, "cron") {
		t.Fatalf("%v", fields)
	}
	slices.Sort(fields)
	fields = slices.DeleteFunc(slices.Compact(fields), func(name string) bool { return name == "kind" || name == "expect" || name == "interval" })
	b := newBench(t)
	b.stdin = `{"id":"a","kind":"log","expect":{"status":null,"body_contains":null},"interval":null,"` + strings.Join(fields, `":null,"`) + `":null}`
	if got := b.run("sessions", "add", "-f", "-", "--strict"); got.code != 0 || got.stderr != "" {
		t.Errorf("%s: %+v", b.stdin, got)
	}
}
