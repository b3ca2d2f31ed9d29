package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"leasehold/cli/output"
	"leasehold/fleetview"
)

// duration is how people read a time span: three figures or so.
func duration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Hour:
		return d.Round(100 * time.Millisecond).String()
	default:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
}

// millis is a span in milliseconds, where there is one.
func millis(ms *int64) string {
	if ms == nil {
		return ""
	}
	return duration(time.Duration(*ms) * time.Millisecond)
}

// moment is a time, where there is one.
func moment(at *fleetview.Stamp) string {
	if at == nil {
		return ""
	}
	text, err := at.MarshalText()
	if err != nil { // it has none
		return ""
	}
	return string(text)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func number[T int | int64](n T) string { return strconv.FormatInt(int64(n), 10) }

// comparing orders by a number or text, nothing first.
func comparing[T any, V cmp.Ordered](of func(T) V) func(a, b T) int {
	return func(a, b T) int { return cmp.Compare(of(a), of(b)) }
}

// span orders what may be missing behind all that is not.
func span(ms *int64) int64 {
	if ms == nil {
		return 1<<63 - 1
	}
	return *ms
}

// compact is a value as one line of JSON that is safe to print, and to paste: it is the
// value still, without the escapes that are for HTML.
func compact(v any) string {
	var line strings.Builder
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	if err != nil { // it was JSON
		return ""
	}
	return printable(strings.TrimSuffix(line.String(), "\n"))
}

// decoded are the fields of a document without the escapes that each was encoded with.
func decoded(doc map[string]json.RawMessage) map[string]any {
	fields := make(map[string]any, len(doc))
	for name, raw := range doc {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber() // all digits
		var v any
		if d.Decode(&v) != nil {
			v = raw
		}
		fields[name] = v
	}
	return fields
}

// printable escapes, as JSON does, what does not print in a text of JSON. All of that is in
// its strings.
func printable(text string) string {
	var out strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}

// stateColor says what to worry about.
func stateColor(s fleetview.State) output.Color {
	switch s {
	case fleetview.OK, fleetview.API:
		return output.Good
	case fleetview.Failing, fleetview.Invalid:
		return output.Warning
	case fleetview.Unleased, fleetview.Orphaned:
		return output.Bad
	case fleetview.Paused, fleetview.External:
		return output.Faint
	}
	return output.Plain
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// oneLine is an error whose lines are put behind each other.
func oneLine(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	text := strings.TrimSpace(lines[0])
	for _, line := range lines[1:] {
		if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, ":") {
			text += ";"
		}
		text += " " + strings.TrimSpace(line)
	}
	return text
}
