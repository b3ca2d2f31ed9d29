package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"leasehold/rediskey"
	"leasehold/session"
)

// entry is one document of an input.
type entry struct {
	session.Document

	line int
}

// fault is what is wrong with a line of an input.
type fault struct {
	line   int
	reason string
}

// faults are all that is wrong with an input.
type faults []fault

// Error names all lines.
func (all faults) Error() string {
	var b strings.Builder
	plural := "s"
	if len(all) == 1 {
		plural = ""
	}
	fmt.Fprintf(&b, "nothing was written, since the input has %d fault%s:", len(all), plural)
	for _, f := range all {
		fmt.Fprintf(&b, "\n  line %d: %s", f.line, f.reason)
	}
	return b.String()
}

// maxInput bounds what is read of an input, in bytes: it is held in memory.
const maxInput = 1 << 30

// readInput reads all of an input.
func readInput(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(text) > maxInput {
		return nil, fmt.Errorf("the input has more than %d MiB", maxInput>>20)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), err // editors of Windows write one
}

// scanner finds the JSON values of an input: those of one list, or one after the
// other, with the lines where they begin.
type scanner struct {
	text []byte
	at   int // what is before it has been read
	line int // of at
	bad  faults
}

// values calls each with every value.
func (s *scanner) values(each func(raw []byte, line int)) {
	if trimmed := bytes.TrimLeft(s.text, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		s.list(each)
		return
	}
	for s.skipSpace() {
		// Most inputs have a value a line.
		if line, _, _ := bytes.Cut(s.text[s.at:], []byte("\n")); json.Valid(line) {
			each(line, s.line)
			s.move(s.at + len(line))
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(s.text[s.at:]))
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			s.broken()
			continue
		}
		each(raw, s.line)
		s.move(s.at + int(dec.InputOffset()))
	}
}

// list reads the values of one list.
func (s *scanner) list(each func(raw []byte, line int)) {
	dec := json.NewDecoder(bytes.NewReader(s.text))
	_, err := dec.Token() // the bracket
	for err == nil && dec.More() {
		var raw json.RawMessage
		if err = dec.Decode(&raw); err == nil {
			s.move(int(dec.InputOffset()) - len(raw))
			each(raw, s.line)
			s.move(int(dec.InputOffset()))
		}
	}
	if err == nil {
		_, err = dec.Token() // the end
	}
	if err == nil {
		s.move(int(dec.InputOffset()))
		if s.skipSpace() {
			s.bad = append(s.bad, fault{s.line, "something stands behind the list"})
		}
		return
	}
	if s.skipSpace() && s.text[s.at] == ',' {
		s.move(s.at + 1)
		s.skipSpace()
	}
	s.bad = append(s.bad, fault{s.line, "from here on it is not valid JSON" + session.WhereNotJSON(s.text, 1)})
}

// skipSpace goes to the next value; false: there is none.
func (s *scanner) skipSpace() bool {
	rest := bytes.TrimLeft(s.text[s.at:], " \t\r\n")
	s.move(len(s.text) - len(rest))
	return len(rest) > 0
}

func (s *scanner) move(to int) {
	s.line += bytes.Count(s.text[s.at:to], []byte("\n"))
	s.at = to
}

// broken notes a value that is no JSON, and goes on at the next line that begins with
// an object.
func (s *scanner) broken() {
	s.bad = append(s.bad, fault{s.line, "is not valid JSON" + session.WhereNotJSON(s.text[s.at:], s.line)})
	if next := bytes.Index(s.text[s.at:], []byte("\n{")); next >= 0 {
		s.move(s.at + next + 1)
	} else {
		s.move(len(s.text))
	}
}

// found is a value of an input, and what became of it.
type found struct {
	raw  []byte
	line int
	doc  session.Document
	err  error
	// ignored are its fields that mean nothing.
	ignored []string
}

// documents reads the sessions of an input: objects with an ID. It returns all faults,
// and the fields that mean nothing.
// Values are judged by several goroutines at once.
func documents(text []byte, judge func(session.Document) error) ([]entry, strays, faults) {
	s := &scanner{text: text, line: 1}
	var values []found
	s.values(func(raw []byte, line int) {
		values = append(values, found{raw: bytes.TrimRight(raw, " \t\r"), line: line})
	})
	share := max(1, (len(values)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	var judges sync.WaitGroup
	for some := range slices.Chunk(values, share) {
		judges.Go(func() {
			for i := range some {
				v := &some[i]
				if v.doc, v.err = document(v.raw); v.err == nil {
					v.err, v.ignored = judge(v.doc), ignored(v.doc.Raw)
				}
			}
		})
	}
	judges.Wait()
	var all []entry
	var odd strays
	seen := make(map[string]int, len(values))
	for _, v := range values {
		err := v.err
		odd.add(v.line, v.ignored)
		if first, twice := seen[v.doc.ID]; twice && err == nil {
			err = fmt.Errorf("session %s is on line %d already", rediskey.Display(v.doc.ID), first)
		}
		if err != nil {
			s.bad = append(s.bad, fault{v.line, err.Error()})
			continue
		}
		seen[v.doc.ID] = v.line
		all = append(all, entry{Document: v.doc, line: v.line})
	}
	return all, odd, s.bad
}

// document takes the ID out of an object: session_id, or else id. What is left is the
// document; an id beside a session_id is a field of its own.
func document(raw []byte) (session.Document, error) {
	if raw[0] != '{' {
		return session.Document{}, errors.New("must be an object with an id and the fields of a document")
	}
	id, doc, found, err := session.Take(raw, "session_id", "id")
	switch {
	case err != nil:
		return session.Document{}, err
	case found && halved(id, raw):
		return session.Document{}, errors.New("has half of a surrogate pair in its ID")
	case found:
		return session.Document{ID: id, Raw: doc}, nil
	}
	fields := fieldsOf(raw)
	for _, name := range []string{"session_id", "id"} {
		if fields[name] != nil {
			return session.Document{}, fmt.Errorf("%s must be a string", name)
		}
	}
	return session.Document{}, errors.New("has neither id nor session_id, which must be a string")
}

// halved reports whether an ID is not what was written: JSON has half of a surrogate pair
// become a character that many others become too.
func halved(id string, raw []byte) bool {
	return strings.ContainsRune(id, utf8.RuneError) &&
		!bytes.ContainsRune(raw, utf8.RuneError) && !bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`))
}
