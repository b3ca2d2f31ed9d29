package eventlog

import (
	"strings"
	"unicode/utf8"
)

const ellipsis = "…"

// encodedLen is the length of s inside a JSON string.
func encodedLen(s string) int {
	n := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		n += runeCost(r, size)
		i += size
	}
	return n
}

// runeCost is the encoded length of one rune that takes size bytes. A byte that is
// no UTF-8 becomes the escape of the replacement character.
func runeCost(r rune, size int) int {
	switch {
	case r == '"', r == '\\', r == '\b', r == '\f', r == '\n', r == '\r', r == '\t':
		return 2
	case r < 0x20, r == 0x7f, r == utf8.RuneError && size == 1:
		return len(`\u0000`)
	default:
		return size
	}
}

// clip cuts s between runes so that it has at most raw bytes, and encoded at most
// room; what was cut ends with an ellipsis. It needs room for the ellipsis.
func clip(s string, raw, room int) string {
	if len(s) <= raw && 6*len(s) <= room {
		return s
	}
	cost, end := 0, 0 // end: the longest prefix that an ellipsis still fits behind
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		cost += runeCost(r, size)
		i += size
		if i > raw || cost > room {
			return s[:end] + ellipsis
		}
		if i+len(ellipsis) <= raw && cost+len(ellipsis) <= room {
			end = i
		}
	}
	return s
}

// scrub masks the user part of every URL in s. Where a URL of Redis holds a
// password that is not percent-encoded, everything up to its last @ goes.
func scrub(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	var b strings.Builder
	for {
		head, rest, found := strings.Cut(s, "://")
		b.WriteString(head)
		if !found {
			return b.String()
		}
		b.WriteString("://")
		ends := "/?# \t\r\n\"'`<>,"
		if strings.HasSuffix(head, "redis") || strings.HasSuffix(head, "rediss") {
			ends = " \t\r\n\""
		}
		stop := strings.IndexAny(rest, ends)
		if stop < 0 {
			stop = len(rest)
		}
		if at := strings.LastIndexByte(rest[:stop], '@'); at >= 0 {
			b.WriteString("***")
			rest = rest[at:]
		}
		s = rest
	}
}
