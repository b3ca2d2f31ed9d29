package eventlog

import (
	"slices"
	"strings"
)

// Entry documents one event.
type Entry struct {
	// Event is an empty value of it.
	Event Event
	// Levels are those at which its lines can be.
	Levels []Level
	// Says is when it is logged.
	Says string
	// Fields are what its line has besides those that all lines have.
	Fields []Field
}

// Field documents a field of a line.
type Field struct {
	Name string
	// Optional says that it is left out where it is empty or unknown.
	Optional bool
	// Note says what the value is; it may be empty.
	Note string
}

func in(levels ...Level) []Level    { return levels }
func fields(all ...Field) []Field   { return all }
func always(name string) Field      { return Field{Name: name} }
func opt(name string) Field         { return Field{Name: name, Optional: true} }
func (f Field) note(n string) Field { f.Note = n; return f }

// Catalog returns every event, in the order of the documentation.
func Catalog() []Entry {
	return slices.Concat(nodeEntries(), memberEntries(), leaseEntries(), sessionEntries(), pollEntries(), eventEntries(), ownEntries())
}

// All returns one empty value of each event, for documentation and tests.
func All() []Event {
	var all []Event
	for _, e := range Catalog() {
		all = append(all, e.Event)
	}
	return all
}

// MarkdownTable returns the catalog as a table.
func MarkdownTable() string {
	var b strings.Builder
	b.WriteString("| event | level | says | fields |\n|---|---|---|---|\n")
	for _, e := range Catalog() {
		name, _, _ := Describe(e.Event)
		levels := make([]string, len(e.Levels))
		for i, l := range e.Levels {
			levels[i] = string(l)
		}
		b.WriteString("| `" + name + "` | " + strings.Join(levels, ", ") + " | " + e.Says + " |")
		for _, f := range e.Fields {
			b.WriteString(" " + f.markdown())
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

func (f Field) markdown() string {
	text := "`" + f.Name + "`"
	if f.Optional {
		text = "*" + text + "*"
	}
	if f.Note != "" {
		text += " (" + f.Note + ")"
	}
	return text
}
