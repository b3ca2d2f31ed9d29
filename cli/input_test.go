package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"leasehold/session"
)

// Whatever is given to sessions add: what is taken is JSON with an ID of its own, what is
// not has a line that exists, and nothing is lost between the two.
func FuzzDocuments(f *testing.F) {
	for _, text := range []string{
		"", "[]", "[", "]", "null", `{"id":"a"}`, `{"id":"a","url":"http://h/"}` + "\n" + `{"session_id":"b","id":"c"}`,
		`[{"id":"a"},{"id":"a"}]`, `[{"id":"a"},]`, `[{"id":"a"}] x`, "{\n\"id\":\"a\"\n}\n{", `{"id":1}`, `{"id":"\u0000"}`, "{\"id\":\"\xff\"}",
		"{x}\n{\"id\":\"a\"}\r\n", `{"id":"a","id":"b"}`, `[[{"id":"a"}]]`, `"x" {"id":"a"}`, "\ufeff{\"id\":\"a\"}", `{"i\u0064":"a"}`,
	} {
		f.Add([]byte(text))
	}
	judge := func(d session.Document) error {
		if err := session.ValidID(d.ID); err != nil {
			return err
		}
		if len(d.ID) > 8 {
			return errors.New("too long for this test")
		}
		return nil
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, _, bad := documents(bytes.Clone(text), judge)
		lines := bytes.Count(text, []byte("\n")) + 1
		seen := make(map[string]bool)
		for _, e := range all {
			if !json.Valid(e.Raw) || e.Raw[0] != '{' || judge(e.Document) != nil || seen[e.ID] || e.line < 1 || e.line > lines {
				t.Errorf("%q: took %+v", text, e)
			}
			seen[e.ID] = true
		}
		for _, b := range bad {
			if b.reason == "" || b.line < 1 || b.line > lines || !utf8.ValidString(b.reason) || strings.ContainsAny(b.reason, "\r\n\x1b\x00") {
				t.Errorf("%q: fault %+v", text, b)
			}
		}
		values := count(text)
		if values >= 0 && len(all)+len(bad) != values {
			t.Errorf("%q: %d taken and %d not, of %d", text, len(all), len(bad), values)
		}
		if values < 0 && len(bad) == 0 {
			t.Errorf("%q has no fault", text)
		}
	})
}

// count returns how many values the text has, in one list or one after the other; less
// than zero where it is not valid.
func count(text []byte) int {
	if trimmed := bytes.TrimLeft(text, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(text, &list) != nil {
			return -1
		}
		return len(list)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	for n := 0; ; n++ {
		var one json.RawMessage
		if err := dec.Decode(&one); err != nil {
			if len(bytes.TrimLeft(text[dec.InputOffset():], " \t\r\n")) == 0 {
				return n
			}
			return -1
		}
	}
}
