package rediskey_test

import (
	"strings"
	"testing"

	"leasehold/rediskey"
)

func TestSlot(t *testing.T) {
	for key, want := range map[string]uint16{
		"":                0,
		"123456789":       0x31C3 % 16384, // the check value of CRC-16/XMODEM
		"poll:lease:abc":  11494,          // CLUSTER KEYSLOT of Redis 7.0.15
		"session:abc":     14788,
		"{123456789}x":    0x31C3 % 16384,
		"a{123456789}{b}": 0x31C3 % 16384,
	} {
		if got := rediskey.Slot(key); got != want {
			t.Errorf("Slot(%q) = %d, want %d", key, got, want)
		}
	}
}

func TestHashTagsAsRedisReadsThem(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"{user1000}.following", "{user1000}.followers", true}, // the cluster specification's examples
		{"foo{}{bar}", "bar", false},                           // an empty tag: the whole key counts
		{"foo{{bar}}zap", "{bar", true},
		{"foo{bar}{zap}", "bar", true},
		{"a}b{c}d", "c", true},
		{"a}b", "b", false},
	} {
		if same := rediskey.Slot(c.a) == rediskey.Slot(c.b); same != c.same {
			t.Errorf("%q and %q in one slot: %v, want %v", c.a, c.b, same, c.same)
		}
	}
}

func TestValidID(t *testing.T) {
	for _, id := range []string{"a", "a:b", "{}x", "line\nbreak", "é", strings.Repeat("x", 512)} {
		if err := rediskey.ValidID(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{"", "a\x00", "\xff", "\xed\xa0\x80", strings.Repeat("x", 513)} {
		if err := rediskey.ValidID(id); err == nil {
			t.Errorf("%q is accepted", id)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	for name, keys := range map[string]rediskey.Keys{
		"no prefix":                       {SessionPrefix: "s:"},
		"no session prefix":               {Prefix: "p:"},
		"equal prefixes":                  {Prefix: "p:", SessionPrefix: "p:"},
		"documents among leases":          {Prefix: "poll:", SessionPrefix: "poll:lease:"},
		"documents below leases":          {Prefix: "poll:", SessionPrefix: "poll:lease:x"},
		"documents among states":          {Prefix: "poll:", SessionPrefix: "poll:state:{"},
		"documents that begin like nodes": {Prefix: "poll:", SessionPrefix: "poll:no"},
		"an open brace":                   {Prefix: "a{b:", SessionPrefix: "s:"},
		"an empty hash tag":               {Prefix: "{}p:", SessionPrefix: "s:"},
		"a NUL":                           {Prefix: "p\x00", SessionPrefix: "s:"},
		"bytes that are no UTF-8":         {Prefix: "p:", SessionPrefix: "\xff"},
		"a huge prefix":                   {Prefix: strings.Repeat("p", 513), SessionPrefix: "s:"},
	} {
		if err := keys.Validate(); err == nil {
			t.Errorf("%s: %+v is accepted", name, keys)
		}
	}
}

func TestGlobs(t *testing.T) {
	keys := rediskey.Keys{Prefix: `a*?[]\^{-}:`, SessionPrefix: "s:"}
	for got, want := range map[string]string{
		keys.LeaseGlob():   `a\*\?\[\]\\\^{-}:lease:*`,
		keys.NodeGlob():    `a\*\?\[\]\\\^{-}:node:*`,
		keys.StateGlob():   `a\*\?\[\]\\\^{-}:state:*`,
		keys.SessionGlob(): `s:*`,
	} {
		if got != want {
			t.Errorf("pattern %q, want %q", got, want)
		}
	}
}

func TestDisplay(t *testing.T) {
	for id, want := range map[string]string{
		"a:b {c} \"d\" é世界": "a:b {c} \"d\" é世界",
		"a\nb\r\t\x00":      `a\nb\r\t\x00`,
		"\x1b[31mred":       `\x1b[31mred`,
		"\u202eevil":        `\u202eevil`, // turns the reading direction
		"\xff":              `\xff`,
		"\ufffd":            "\ufffd",
		`a\nb`:              `a\\nb`,
	} {
		if got := rediskey.Display(id); got != want {
			t.Errorf("Display(%q) = %s, want %s", id, got, want)
		}
	}
}

// The numbers are searched for: this is the slowest kind of ID.
func BenchmarkStateOfAnIDWithoutTag(b *testing.B) {
	keys, i := rediskey.Default(), 0
	for b.Loop() {
		keys.State("}" + strings.Repeat("x", i%100))
		i++
	}
}
