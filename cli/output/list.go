package output

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"leasehold/rediskey"
)

// Column is one property of a thing as tables show it.
type Column[T any] struct {
	// Title is in upper case and names the column for sorting.
	Title string
	// Wide columns are left out of narrow tables.
	Wide bool
	// Text is the cell, without secrets; control characters are escaped later. Empty
	// cells show as a dash.
	Text func(T) string
	// Compare orders things by the column; nil: by its text.
	Compare func(a, b T) int
	// Color is that of the cell; nil: none.
	Color func(T) Color
}

// Kind is a kind of things, such as sessions. What JSON shows of one is the thing
// itself.
type Kind[T any] struct {
	// Name is the ID of one.
	Name func(T) string
	// Compare is their order; nil: by name.
	Compare func(a, b T) int
	Columns []Column[T]
}

// Check says whether the things can be sorted as the options want.
func (k Kind[T]) Check(o Options) error {
	_, err := k.order(o)

	return err
}

// order returns how to compare two things.
func (k Kind[T]) order(o Options) (func(a, b T) int, error) {
	byName := func(a, b T) int { return cmp.Compare(k.Name(a), k.Name(b)) }
	if k.Compare != nil {
		byName = k.Compare
	}
	if o.SortBy == "" {
		return byName, nil
	}
	titles := make([]string, len(k.Columns))
	for i, c := range k.Columns {
		titles[i] = strings.ToLower(c.Title)
		if !strings.EqualFold(c.Title, o.SortBy) {
			continue
		}
		compare := c.Compare
		if compare == nil {
			compare = func(a, b T) int { return cmp.Compare(c.Text(a), c.Text(b)) }
		}

		return func(a, b T) int { return cmp.Or(compare(a, b), byName(a, b)) }, nil
	}

	return nil, fmt.Errorf("--sort-by must be one of %s", strings.Join(titles, ", "))
}

// List prints many things. Add them in any order, and End it. It is for one goroutine.
type List[T any] struct {
	w    io.Writer
	o    Options
	kind Kind[T]
	cmp  func(a, b T) int
	rows []T
}

// NewList begins a list. Its error is wrong usage.
func NewList[T any](w io.Writer, o Options, k Kind[T]) (*List[T], error) {
	compare, err := k.order(o)
	if err != nil {
		return nil, err
	}

	return &List[T]{w: w, o: o, kind: k, cmp: compare}, nil
}

// streams reports whether things are printed as they come.
func (l *List[T]) streams() bool {
	return l.o.SortBy == "" && (l.o.Format == JSONL || l.o.Format == Name)
}

// Add prints things, or keeps them for the end.
func (l *List[T]) Add(rows ...T) error {
	if !l.streams() {
		l.rows = append(l.rows, rows...)

		return nil
	}

	return l.print(rows)
}

// End prints what was kept.
func (l *List[T]) End() error {
	if l.streams() {
		return nil
	}
	slices.SortStableFunc(l.rows, l.cmp)

	return l.print(l.rows)
}

func (l *List[T]) print(rows []T) error {
	var b bytes.Buffer
	var err error
	switch l.o.Format {
	case JSONL:
		err = writeLines(&b, rows)
	case Name:
		for _, row := range rows {
			b.WriteString(printable(l.kind.Name(row)) + "\n")
		}
	case JSON, YAML:
		if rows == nil {
			rows = []T{} // an empty list, not null
		}
		err = writeValue(&b, l.o.Format, rows)
	case Table, Wide:
		l.kind.table(rows, l.o).write(&b)
	}
	_, writeErr := l.w.Write(b.Bytes())

	return errors.Join(err, writeErr)
}

// table makes the cells.
func (k Kind[T]) table(rows []T, o Options) *grid {
	g := &grid{}
	var titles []cell
	for _, c := range k.Columns {
		if !c.Wide || o.Format == Wide {
			titles = append(titles, cell{text: c.Title})
		}
	}
	if !o.NoHeaders {
		g.add(titles)
	}
	for _, row := range rows {
		cells := make([]cell, 0, len(titles))
		for _, c := range k.Columns {
			if !c.Wide || o.Format == Wide {
				cells = append(cells, c.cell(row, o.Color))
			}
		}
		g.add(cells)
	}

	return g
}

func (c Column[T]) cell(row T, colored bool) cell {
	made := cell{text: rediskey.Display(c.Text(row))}
	if made.text == "" {
		made.text = "-"
	}
	if colored && c.Color != nil {
		made.color = c.Color(row)
	}

	return made
}

// One prints one thing: a table has its columns below each other, then the rest.
func One[T any](w io.Writer, o Options, k Kind[T], row T, rest ...Field) error {
	var b bytes.Buffer
	var err error
	switch o.Format {
	case JSON, YAML:
		err = writeValue(&b, o.Format, row)
	case JSONL:
		err = writeLines(&b, []T{row})
	case Name:
		b.WriteString(printable(k.Name(row)) + "\n")
	case Table, Wide:
		fields := make([]Field, 0, len(k.Columns)+len(rest))
		for _, c := range k.Columns {
			made := c.cell(row, o.Color)
			fields = append(fields, Field{Title: c.Title, Text: c.Text(row), Color: made.color})
		}
		writeFields(&b, append(fields, rest...), o)
	}
	_, writeErr := w.Write(b.Bytes())

	return errors.Join(err, writeErr)
}

// Field is one line of a description.
type Field struct {
	Title, Text string
	Color       Color
	// Plain says that the text prints as it is: nothing of it is escaped.
	Plain bool
}

// Describe prints a value that is not one of many: as fields for people, else as it is.
func Describe(w io.Writer, o Options, value any, name string, fields []Field) error {
	return One(w, o, Kind[described]{Name: func(described) string { return name }}, described{value}, fields...)
}

// described is a value with fields of its own.
type described struct{ any }

// MarshalJSON implements [json.Marshaler].
func (d described) MarshalJSON() ([]byte, error) { return json.Marshal(d.any) }

func writeFields(b *bytes.Buffer, fields []Field, o Options) {
	g := &grid{}
	for _, f := range fields {
		text := f.Text
		if !f.Plain {
			text = rediskey.Display(text)
		}
		if text == "" {
			text = "-"
		}
		made := cell{text: text}
		if o.Color {
			made.color = f.Color
		}
		g.add([]cell{{text: f.Title}, made})
	}
	g.write(b)
}

// printable returns a name as it is, or escaped where it holds what does not print: a
// name is one line.
func printable(name string) string {
	if strings.ReplaceAll(name, `\`, `\\`) == rediskey.Display(name) {
		return name
	}

	return rediskey.Display(name)
}
