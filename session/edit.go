package session

import (
	"bytes"
	"encoding/json"
)

// member is one field of a document: its name, and where it and its value stand.
type member struct {
	name            string
	from, value, to int
}

// members returns the fields of a document in their order, a field that is there twice
// twice. It also returns where the closing brace stands.
func members(raw []byte) (all []member, end int, err error) {
	if _, err := parse(raw); err != nil {
		return nil, 0, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil { // the brace
		return nil, 0, invalid("", "is not valid JSON")
	}
	for dec.More() {
		from := int(dec.InputOffset())
		token, err := dec.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, 0, invalid("", "is not valid JSON")
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, 0, invalid("", "is not valid JSON")
		}
		to := int(dec.InputOffset())
		// The comma before it and spaces belong to no field.
		from += bytes.IndexByte(raw[from:], '"')
		all = append(all, member{name: name, from: from, value: to - len(value), to: to})
	}

	return all, bytes.LastIndexByte(raw, '}'), nil
}

// Take takes the first of the fields named that is there as a string out of a document,
// and returns its text and the document without it, the other fields byte for byte. It
// reports whether there was one; if not, the rest is nil.
func Take(raw []byte, names ...string) (text string, rest []byte, found bool, err error) {
	all, _, err := members(raw)
	if err != nil {
		return "", nil, false, err
	}
	for _, name := range names {
		var taken *string
		for _, m := range all { // of several, the last counts
			if m.name == name && json.Unmarshal(raw[m.value:m.to], &taken) != nil {
				taken = nil
			}
		}
		if taken != nil {
			return *taken, without(raw, all, name), true, nil
		}
	}

	return "", nil, false, nil
}

// without returns the document without a field.
func without(raw []byte, all []member, name string) []byte {
	out := make([]byte, 1, len(raw))
	out[0] = '{'
	for _, m := range all {
		if m.name == name {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, raw[m.from:m.to]...)
	}

	return append(out, '}')
}

// SetPaused returns the document with its session paused or not, all else byte for
// byte. A document that is so already comes back as it is.
func SetPaused(raw []byte, paused bool) ([]byte, error) {
	all, end, err := members(raw)
	if err != nil {
		return nil, err
	}
	var flags []member
	for _, m := range all {
		if m.name == "paused" || m.name == "isPaused" {
			flags = append(flags, m)
		}
	}
	if is, err := pausedBy(raw); err != nil || is == paused {
		return raw, err
	}
	if len(flags) == 0 {
		field := `"paused":true`
		if len(all) > 0 {
			field = "," + field
			end = all[len(all)-1].to // spaces stay before the brace
		}

		return concat(raw[:end], field, raw[end:]), nil
	}
	value := "false"
	if paused {
		value = "true"
	}
	out, at := []byte{}, 0
	for _, f := range flags {
		out = append(append(out, raw[at:f.value]...), value...)
		at = f.to
	}

	return append(out, raw[at:]...), nil
}

// pausedBy reports whether the document pauses its session.
func pausedBy(raw []byte) (bool, error) {
	doc, err := parse(raw)
	if err != nil {
		return false, err
	}
	var s Session
	err = readPaused(doc, &s, Defaults{})

	return s.Paused, err
}

func concat(head []byte, middle string, tail []byte) []byte {
	out := make([]byte, 0, len(head)+len(middle)+len(tail))

	return append(append(append(out, head...), middle...), tail...)
}
