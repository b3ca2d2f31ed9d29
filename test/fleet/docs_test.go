package fleet

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// The page on failures names trials that there are, and marks the long ones.
func TestThePageOnFailuresNamesTrialsThatThereAre(t *testing.T) {
	t.Parallel()
	isLong := map[string]bool{}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	trial, marked := regexp.MustCompile(`(?s)\nfunc (Test\w+)\(.*?\n}`), regexp.MustCompile(`\blong\(t\)`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range trial.FindAllSubmatch(text, -1) {
			isLong[string(found[1])] = marked.Match(found[0])
		}
	}
	page, err := os.ReadFile("../../docs/failure-modes.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`(Test\\w+)`(\\\\\\*)?").FindAllSubmatch(page, -1)
	if len(names) < 40 {
		t.Errorf("the page names %d trials", len(names))
	}
	named := make([]string, 0, len(names))
	for _, found := range names {
		name, star := string(found[1]), len(found[2]) > 0
		named = append(named, name)
		if long, ok := isLong[name]; !ok {
			t.Errorf("there is no %s", name)
		} else if long != star {
			t.Errorf("%s is long: %t, marked: %t", name, long, star)
		}
	}
	if !slices.Contains(named, "TestFiftyRoundsOfFaults") {
		t.Error("the page is not read as it is written")
	}
}
