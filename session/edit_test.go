package session_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"leasehold/session"
)

func TestPausingKeepsAllElse(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`:                                    `{"paused":true}`,
		` { } `:                                 ` { "paused":true} `,
		`{"kind":"log"}`:                        `{"kind":"log","paused":true}`,
		"{\n  \"n\": 1.50e+03,\n \"x\":{}\n}\n": "{\n  \"n\": 1.50e+03,\n \"x\":{},\"paused\":true\n}\n",
		`{"paused":false,"z":9007199254740993,"a":"\u00e9"}`: `{"paused":true,"z":9007199254740993,"a":"\u00e9"}`,
		`{"isPaused": false}`:                                `{"isPaused": true}`,
		`{"paused":null , "isPaused":false}`:                 `{"paused":true , "isPaused":true}`,
		`{"paused":false,"paused":false}`:                    `{"paused":true,"paused":true}`,
		`{"p\u0061used":false}`:                              `{"p\u0061used":true}`,
		`{"paused":true}`:                                    `{"paused":true}`,
		`{"paused":true,"isPaused":false}`:                   `{"paused":true,"isPaused":false}`,
		`{"x":{"paused":false},"y":["paused","}"]}`:          `{"x":{"paused":false},"y":["paused","}"],"paused":true}`,
	} {
		got, err := session.SetPaused([]byte(raw), true)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", raw, got, err, want)
		}
	}
	for raw, want := range map[string]string{
		`{}`:                               `{}`,
		`{"paused":true,"x":1}`:            `{"paused":false,"x":1}`,
		`{"isPaused":true}`:                `{"isPaused":false}`,
		`{"paused":false,"isPaused":true}`: `{"paused":false,"isPaused":false}`,
	} {
		got, err := session.SetPaused([]byte(raw), false)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", raw, got, err, want)
		}
	}
	for _, raw := range []string{``, `[]`, `{`, `{"paused":"yes"}`} {
		if got, err := session.SetPaused([]byte(raw), true); err == nil {
			t.Errorf("%s: %s", raw, got)
		}
	}
}

func TestAFieldIsTakenOut(t *testing.T) {
	for raw, want := range map[string]string{
		`{"id":"a"}`:                          `{}`,
		`{"id":"a", "n": 1.0 ,"o":{"id": 1}}`: `{"n": 1.0,"o":{"id": 1}}`,
		` {"x":[1, 2],"id":"b","id":"a"}`:     `{"x":[1, 2]}`,
		`{"x":"\"id\":1,"}`:                   ``,
	} {
		_, got, found, err := session.Take([]byte(raw), "id")
		if err != nil || found != (string(got) != "") || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", raw, got, err, want)
		}
	}
	if id, rest, ok, _ := session.Take([]byte(`{"id":"\u00e9","key":"x"}`), "key", "id"); !ok || id != "x" || string(rest) != `{"id":"\u00e9"}` {
		t.Errorf("the field is %q, %t", id, ok)
	}
	if id, _, ok, _ := session.Take([]byte(`{"id":"\u00e9","key":1}`), "key", "id"); !ok || id != "é" {
		t.Errorf("the field is %q, %t", id, ok)
	}
	for _, raw := range []string{`{}`, `{"id":1}`, `{"id":null}`, `nope`} {
		if id, _, ok, _ := session.Take([]byte(raw), "id"); ok {
			t.Errorf("%s: %q", raw, id)
		}
	}
}

// Whatever a document holds: an edit changes what it is about, and no other field.
func TestEditsChangeNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := rapid.MapOf(rapid.String(), rapid.OneOf(
			rapid.Just[any](true), rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Map(rapid.Float64(), func(f float64) any { return f }),
		)).Draw(t, "doc")
		delete(doc, "paused")
		delete(doc, "isPaused")
		raw, err := json.MarshalIndent(doc, "", rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := session.SetPaused(raw, true)
		if err != nil {
			t.Fatal(err)
		}
		want := maps.Clone(doc)
		want["paused"] = true
		if same(t, got) != fmt.Sprint(want) {
			t.Fatalf("%s became %s", raw, got)
		}
		back, err := session.SetPaused(got, false)
		if err != nil {
			t.Fatal(err)
		}
		want["paused"] = false
		if same(t, back) != fmt.Sprint(want) {
			t.Fatalf("%s became %s", raw, back)
		}
	})
}

func same(t *rapid.T, raw []byte) string {
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return fmt.Sprint(doc)
}
