package rediskey_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"leasehold/rediskey"
)

func awkwardIDs() []string {
	return []string{
		"", "a", "a:b", "a:b:c:", ":", "lease:a", "poll:lease:a", "session:a",
		"{", "}", "{}", "}{", "{}x", "}x", "{a}", "{{a}}", "a{b}c", "a}b{c", "a}b{c}d", "{a", "a{b", "{}{a}",
		"line\nbreak", "\r\n", "tab\tNUL\x00", "*?[]\\^", "é世界🙂", "\xff\xfe", " ", "%2F/..",
		strings.Repeat("x", 512), strings.Repeat("}", 512), strings.Repeat("{}", 256),
	}
}

func prefixes() []rediskey.Keys {
	return []rediskey.Keys{
		rediskey.Default(),
		{Prefix: "p", SessionPrefix: "s"},
		{Prefix: "{poll}:", SessionPrefix: "{poll}:doc:"},
		{Prefix: "a}b:", SessionPrefix: "c{d:"},
		{Prefix: "poll:", SessionPrefix: "poll:session:"},
		{Prefix: "pol*?[]\\^:", SessionPrefix: "line\nbreak"},
	}
}

func TestKeysHaveTheContractsForm(t *testing.T) {
	keys := rediskey.Default()
	for got, want := range map[string]string{
		keys.Lease("a:b"):   "poll:lease:a:b",
		keys.Node("n-1-ab"): "poll:node:n-1-ab",
		keys.Session("a"):   "session:a",
		keys.State("abc"):   "poll:state:{poll:lease:abc}abc",
		keys.State("a{b}c"): "poll:state:{b}a{b}c",
		keys.Cordon("n1"):   "poll:cordon:n1",
		keys.Card("n1"):     "poll:info:n1",
		keys.Loss():         "poll:loss",
	} {
		if got != want {
			t.Errorf("key %q, want %q", got, want)
		}
	}
}

// roundTrip checks all that is promised of one ID.
func roundTrip(t interface {
	Helper()
	Fatalf(string, ...any)
}, keys rediskey.Keys, id string,
) {
	t.Helper()
	for want, key := range map[rediskey.Kind]string{
		rediskey.Lease: keys.Lease(id), rediskey.State: keys.State(id),
		rediskey.Node: keys.Node(id), rediskey.Session: keys.Session(id),
		rediskey.Cordon: keys.Cordon(id), rediskey.Card: keys.Card(id),
	} {
		if kind, got := keys.Parse(key); kind != want || got != id {
			t.Fatalf("%+v: Parse(%q) = %v, %q; want %v, %q", keys, key, kind, got, want, id)
		}
	}
	if lease, state := rediskey.Slot(keys.Lease(id)), rediskey.Slot(keys.State(id)); lease != state {
		t.Fatalf("%+v, ID %q: lease in slot %d, state in %d", keys, id, lease, state)
	}
}

func TestEveryIDComesBackAndSharesTheSlot(t *testing.T) {
	for _, keys := range prefixes() {
		if err := keys.Validate(); err != nil {
			t.Fatalf("%+v: %v", keys, err)
		}
		for _, id := range awkwardIDs() {
			roundTrip(t, keys, id)
		}
	}
}

func TestEveryAcceptedPrefixKeepsThePromises(t *testing.T) {
	// Few letters make prefixes collide and braces meet often.
	word := rapid.StringOfN(rapid.SampledFrom([]rune("ab:{}")), 1, 6, -1)
	accepted := rapid.Custom(func(t *rapid.T) rediskey.Keys {
		return rediskey.Keys{Prefix: word.Draw(t, "prefix"), SessionPrefix: word.Draw(t, "session prefix")}
	}).Filter(func(keys rediskey.Keys) bool {
		// A session prefix that starts the other one reserves some IDs.
		return keys.Validate() == nil && !strings.HasPrefix(keys.Prefix, keys.SessionPrefix)
	})
	ids := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("ab{}"))))
	rapid.Check(t, func(t *rapid.T) {
		roundTrip(t, accepted.Draw(t, "keys"), ids.Draw(t, "id"))
	})
}

// The stream is none of the keys that are about a session or a node.
func TestTheStreamOfResultsIsNoOtherKey(t *testing.T) {
	if got := rediskey.Default().Results(); got != "poll:results" {
		t.Errorf("it is %q by default", got)
	}
	for _, keys := range prefixes() {
		if kind, id := keys.Parse(keys.Results()); kind != rediskey.Foreign {
			t.Errorf("%+v: %q is the %s of %q", keys, keys.Results(), kind, id)
		}
	}
}

func TestForeignKeys(t *testing.T) {
	for _, key := range []string{
		"", "poll:", "poll:results", "poll:lease", "poll:leases:a", "poll:state:abc", "poll:state:{abc",
		"poll:state:{wrong}abc", "poll:state:{poll:lease:abc}abd", "sessions:a", "POLL:lease:a", "other",
	} {
		if kind, id := rediskey.Default().Parse(key); kind != rediskey.Foreign || id != "" {
			t.Errorf("Parse(%q) = %v, %q; want foreign", key, kind, id)
		}
	}
}

func TestAnEmptyNodeNameIsSeen(t *testing.T) {
	if kind, name := rediskey.Default().Parse("poll:node:"); kind != rediskey.Node || name != "" {
		t.Errorf("got %v, %q; want the node without a name", kind, name)
	}
}

func TestTheLongerPrefixWins(t *testing.T) {
	outer := rediskey.Keys{Prefix: "app:poll:", SessionPrefix: "app:"}
	inner := rediskey.Keys{Prefix: "app:", SessionPrefix: "app:session:"}
	for _, c := range []struct {
		keys rediskey.Keys
		key  string
		kind rediskey.Kind
		id   string
	}{
		{outer, "app:poll:lease:a", rediskey.Lease, "a"},
		{outer, "app:poll:results", rediskey.Foreign, ""},
		{outer, "app:a", rediskey.Session, "a"},
		{inner, "app:session:lease:a", rediskey.Session, "lease:a"},
		{inner, "app:lease:session:a", rediskey.Lease, "session:a"},
		{inner, "app:results", rediskey.Foreign, ""},
	} {
		if err := c.keys.Validate(); err != nil {
			t.Errorf("%+v: %v", c.keys, err)
		}
		if kind, id := c.keys.Parse(c.key); kind != c.kind || id != c.id {
			t.Errorf("%+v: Parse(%q) = %v, %q; want %v, %q", c.keys, c.key, kind, id, c.kind, c.id)
		}
	}
}

func TestTheNoteOfALossIsTheFleets(t *testing.T) {
	keys := rediskey.Default()
	for key, want := range map[string]rediskey.Kind{
		keys.Loss(): rediskey.Loss, keys.Loss() + "x": rediskey.Foreign, "x" + keys.Loss(): rediskey.Foreign,
	} {
		if kind, id := keys.Parse(key); kind != want || id != "" {
			t.Errorf("Parse(%q) = %v, %q", key, kind, id)
		}
	}
}

func TestKindsHaveNames(t *testing.T) {
	for kind, want := range map[rediskey.Kind]string{
		rediskey.Foreign: "foreign", rediskey.Lease: "lease", rediskey.State: "state",
		rediskey.Node: "node", rediskey.Session: "session",
		rediskey.Cordon: "cordon", rediskey.Card: "card", rediskey.Loss: "loss", 99: "foreign",
	} {
		if kind.String() != want {
			t.Errorf("%d reads %q, want %q", kind, kind, want)
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, id := range awkwardIDs() {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		roundTrip(t, rediskey.Default(), id)
	})
}

func FuzzParse(f *testing.F) {
	for _, id := range awkwardIDs() {
		f.Add("poll:state:" + id)
		f.Add("poll:" + id)
		f.Add("session:" + id)
	}
	f.Fuzz(func(t *testing.T, key string) {
		keys := rediskey.Default()
		kind, id := keys.Parse(key)
		built := map[rediskey.Kind]func(string) string{
			rediskey.Lease: keys.Lease, rediskey.State: keys.State,
			rediskey.Node: keys.Node, rediskey.Session: keys.Session,
			rediskey.Cordon: keys.Cordon, rediskey.Card: keys.Card,
		}[kind]
		if built != nil && built(id) != key {
			t.Fatalf("Parse(%q) = %v, %q, which builds %q", key, kind, id, built(id))
		}
		if shown := rediskey.Display(key); !utf8.ValidString(shown) || strings.ContainsAny(shown, "\x00\n\r\x1b") {
			t.Fatalf("Display(%q) = %q", key, shown)
		}
	})
}
