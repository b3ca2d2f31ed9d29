package output

import (
	"fmt"
	"slices"
	"strings"
)

// Format is how things are printed. It is a [pflag.Value].
type Format string

// The formats.
const (
	Table Format = "table"
	Wide  Format = "wide"  // a table with all columns
	JSON  Format = "json"  // one list, or one object
	JSONL Format = "jsonl" // one object a line, as they come
	YAML  Format = "yaml"
	Name  Format = "name" // IDs alone
)

// Formats returns all formats.
func Formats() []string {
	return []string{string(Table), string(Wide), string(JSON), string(JSONL), string(YAML), string(Name)}
}

// String returns the format's name.
func (f *Format) String() string { return string(*f) }

// Set takes the name of a format.
func (f *Format) Set(name string) error {
	if !slices.Contains(Formats(), name) {
		return fmt.Errorf("must be one of %s", strings.Join(Formats(), ", "))
	}
	*f = Format(name)

	return nil
}

// Type is how the help calls it.
func (*Format) Type() string { return "format" }

// Options say how to print.
type Options struct {
	Format Format
	// NoHeaders leaves the titles of columns out.
	NoHeaders bool
	// SortBy names the column to sort by; empty: the first.
	SortBy string
	Color  bool
}
