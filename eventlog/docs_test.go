package eventlog_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"leasehold/eventlog"
	"leasehold/internal/doctest"
)

func TestTheDocumentationIsMadeFromTheCatalog(t *testing.T) {
	doctest.Section(t, "../docs/log-events.md", "events", eventlog.MarkdownTable())
}

// The golden cases set every field of every event, and some leave out what may be.
func TestTheCatalogNamesTheFieldsAndLevelsOfEveryLine(t *testing.T) {
	type seen struct {
		levels []string
		fields map[string]int // to how many lines have it
		lines  int
	}
	all := make(map[string]*seen)
	for _, c := range golden {
		var line map[string]any
		mustDecode(t, c.want, &line)
		name, level := line["event"].(string), line["level"].(string)
		s := all[name]
		if s == nil {
			s = &seen{fields: make(map[string]int)}
			all[name] = s
		}
		s.lines++
		s.levels = append(s.levels, level)
		delete(line, "event")
		delete(line, "level")
		for field := range line {
			s.fields[field]++
		}
	}
	for _, e := range eventlog.Catalog() {
		name, _, _ := eventlog.Describe(e.Event)
		s := all[name]
		for _, l := range e.Levels {
			if !slices.Contains(s.levels, string(l)) {
				t.Errorf("%s is said to be at %s, where no golden case has it", name, l)
			}
		}
		for _, l := range s.levels {
			if !slices.Contains(e.Levels, eventlog.Level(l)) {
				t.Errorf("%s is at %s, which is not said", name, l)
			}
		}
		empty := emptyLine(t, e.Event)
		for _, f := range e.Fields {
			if s.fields[f.Name] == 0 {
				t.Errorf("%s has no field %s", name, f.Name)
			}
			always := s.fields[f.Name] == s.lines && empty[f.Name]
			if always == f.Optional {
				t.Errorf("%s: that %s is optional is said to be %t", name, f.Name, f.Optional)
			}
			delete(s.fields, f.Name)
		}
		for f := range s.fields {
			t.Errorf("%s has a field %s, which is not said", name, f)
		}
	}
}

// emptyLine returns the fields that the line of an empty event has.
func emptyLine(t *testing.T, e eventlog.Event) map[string]bool {
	t.Helper()
	got := lines(t, eventlog.Options{Level: eventlog.Debug}, func(l *eventlog.Log) { l.Emit(e) })
	var line map[string]json.RawMessage
	mustDecode(t, got[0], &line)
	has := make(map[string]bool)
	for f := range line {
		has[f] = true
	}
	return has
}

// sources parses the program's files under root, those of tests aside.
func sources(t *testing.T, root string) []*ast.File {
	t.Helper()
	var files []*ast.File
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "internal" || d.Name() == "test"):
			return fs.SkipDir
		case d.IsDir(), !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// cataloged returns the types of the events in the catalog.
func cataloged() map[string]bool {
	names := make(map[string]bool)
	for _, e := range eventlog.All() {
		names[reflect.TypeOf(e).Name()] = true
	}
	return names
}

func TestTheCatalogHasEveryEventThatThereIs(t *testing.T) {
	found := make(map[string]bool)
	for _, f := range sources(t, ".") {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Recv != nil && fn.Name.Name == "head" {
				found[fn.Recv.List[0].Type.(*ast.Ident).Name] = true
			}
		}
	}
	if !reflect.DeepEqual(found, cataloged()) {
		t.Errorf("there are the events %v, the catalog has %v", found, cataloged())
	}
}

// What is made in the program's code is an event that is logged: no other code reads
// events by making one.
func TestEveryEventIsLoggedSomewhere(t *testing.T) {
	made := make(map[string]bool)
	for _, f := range sources(t, "..") {
		if f.Name.Name == "eventlog" {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok {
				if sel, ok := lit.Type.(*ast.SelectorExpr); ok {
					if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "eventlog" {
						made[sel.Sel.Name] = true
					}
				}
			}
			return true
		})
	}
	for name := range cataloged() {
		if !made[name] {
			t.Errorf("%s is documented and never logged", name)
		}
	}
}
