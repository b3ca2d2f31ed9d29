package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"leasehold/config"
)

// knownFields are the fields of documents that mean something to nodes.
func knownFields() []string {
	return []string{
		"kind", "url", "method", "headers", "body", "expect", "expect.status", "expect.body_contains", "interval", "timeout",
		"keep_body", "on_failure", "paused", "isPaused", "lease_ttl", "labels", "misfire", "cron", "timezone",
	}
}

// ignored names the fields of a document that mean nothing to nodes, in order. An ID in
// it is no slip.
func ignored(raw []byte) []string {
	known := append(knownFields(), "id", "session_id")
	fields := fieldsOf(raw)
	names := slices.Collect(maps.Keys(fields))
	for name := range fieldsOf(fields["expect"]) {
		names = append(names, "expect."+name)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(known, name) })
	slices.Sort(names)
	return names
}

// fieldsOf are those of an object; what is none has none.
func fieldsOf(raw []byte) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}

// stray is a field that means nothing to nodes, and where an input has it.
type stray struct {
	name      string
	line      int // the first
	documents int
}

// String says what the field may have been meant for.
func (s stray) String() string {
	const most = 64 // characters of a name
	said := fmt.Sprintf("field %.*q", most, s.name)
	if s.documents > 1 {
		said += fmt.Sprintf(" (in %d documents)", s.documents)
	}
	said += " means nothing to nodes"
	if best := config.Nearest(strings.ToLower(s.name), knownFields(), 0); best != "" {
		said += fmt.Sprintf("; did you mean %q?", best)
	}
	return said
}

// strays are those of an input, each name once: people may keep fields of their own in
// thousands of documents.
type strays struct {
	all []stray
	at  map[string]int
}

func (s *strays) add(line int, names []string) {
	if s.at == nil {
		s.at = make(map[string]int)
	}
	for _, name := range names {
		i, there := s.at[name]
		if !there {
			i = len(s.all)
			s.at[name], s.all = i, append(s.all, stray{name: name, line: line})
		}
		s.all[i].documents++
	}
}

// faults are the strays where they are to be refused.
func (s *strays) faults() faults {
	var all faults
	for _, one := range s.all {
		all = append(all, fault{one.line, one.String()})
	}
	return all
}

// moreStrays is how many names are told of where they do no harm.
const moreStrays = 20

// warn tells of the strays, and that nothing is done about them.
func (s *strays) warn(f *fleet) {
	for i, one := range s.all {
		if i == moreStrays {
			say(f.Stderr, "%d other fields mean nothing to nodes either", len(s.all)-i)
			return
		}
		say(f.Stderr, "line %d: %s", one.line, one)
	}
}
