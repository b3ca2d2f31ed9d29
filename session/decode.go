package session

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"
	"time"
	"unicode/utf8"
)

// MaxDocumentBytes is the size of the largest document that is read.
const MaxDocumentBytes = 1 << 20

// What holds where neither document nor Defaults name a value.
const (
	defaultInterval = 10 * time.Second
	defaultTimeout  = 5 * time.Second
	defaultMethod   = "GET"
)

// Bounds of the durations that a document may name. The upper ones keep all sums
// of times far from overflow, and a slip of the unit from parking a session.
const (
	minInterval = 100 * time.Millisecond
	maxInterval = 366 * 24 * time.Hour
	minTimeout  = time.Millisecond
	maxTimeout  = 24 * time.Hour
	minLeaseTTL = time.Second
	maxLeaseTTL = 24 * time.Hour
)

// maxKeepBody keeps results small enough to be queued and sent by the thousand.
const maxKeepBody = 64 << 10

// Decode reads the document of the session. The error is always an
// [*InvalidError]; the session is then of no use. Zero defaults mean an interval
// of 10 s and a timeout of 5 s.
func Decode(id string, raw []byte, d Defaults) (Session, error) {
	if err := ValidID(id); err != nil {
		return Session{}, err
	}
	doc, err := parse(raw)
	if err != nil {
		return Session{}, err
	}
	s := Session{ID: id, Fingerprint: Fingerprint(raw)}
	for _, read := range []func(fields, *Session, Defaults) error{
		readKind, readRhythm, readTask, readPaused, readLabels, readRequest, readExpect, readKeepBody,
	} {
		if err := read(doc, &s, d); err != nil {
			return Session{}, err
		}
	}

	return s, nil
}

// fields are the members of a JSON object, not decoded yet.
type fields map[string]json.RawMessage

// parse splits a document into its fields.
func parse(raw []byte) (fields, error) {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	switch {
	case len(raw) > MaxDocumentBytes:
		return nil, invalid("", "has more than %d bytes", MaxDocumentBytes)
	case len(trimmed) == 0:
		return nil, invalid("", "is empty")
	case !utf8.Valid(raw):
		return nil, invalid("", "is not valid UTF-8")
	case !json.Valid(raw):
		return nil, invalid("", "is not valid JSON%s", WhereNotJSON(raw, 1))
	case trimmed[0] != '{':
		return nil, invalid("", "must be a JSON object, is %s", typeOf(trimmed))
	}
	var doc fields
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, invalid("", "is not valid JSON")
	}

	return doc, nil
}

// Fingerprint hashes a document's bytes with FNV-1a.
func Fingerprint(raw []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(raw) // never fails, says hash.Hash

	return h.Sum64()
}

// read decodes one field into dst. Absent and null leave dst as it is. The name
// may be prefixed by the object's in errors.
func (f fields) read(name, path, want string, dst any) error {
	raw, found := f[name]
	if !found || isNull(raw) {
		return nil
	}
	if err := json.Unmarshal(raw, dst); err != nil {
		return invalid(path+name, "must be %s, is %s", want, typeOf(raw))
	}

	return nil
}

// text decodes a field that is a string.
func (f fields) text(name, path string, dst *string) error {
	return f.read(name, path, "a string", dst)
}

// texts decodes a field that is an object of strings.
func (f fields) texts(name string) (map[string]string, error) {
	var loose map[string]json.RawMessage
	if err := f.read(name, "", "an object of strings", &loose); err != nil || len(loose) == 0 {
		return nil, err
	}
	texts := make(map[string]string, len(loose))
	for _, key := range slices.Sorted(maps.Keys(loose)) {
		raw, text := loose[key], ""
		if raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
			return nil, invalid(name, "has %s for %s, which must be a string", typeOf(raw), quoteName(key))
		}
		texts[key] = text
	}

	return texts, nil
}

func isNull(raw json.RawMessage) bool {
	return string(raw) == "null"
}

// typeOf names the type of a JSON value by its first byte.
func typeOf(raw []byte) string {
	switch raw[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}

	return "a number"
}
