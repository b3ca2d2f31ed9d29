package rediskey

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Glob returns the pattern, for SCAN MATCH and PSUBSCRIBE, of exactly the keys
// that start with prefix.
func Glob(prefix string) string {
	var pattern strings.Builder
	for i := range len(prefix) {
		if strings.IndexByte(`*?[]\^`, prefix[i]) >= 0 {
			pattern.WriteByte('\\')
		}
		pattern.WriteByte(prefix[i])
	}
	pattern.WriteByte('*')

	return pattern.String()
}

// LeaseGlob is the pattern of all lease keys.
func (k Keys) LeaseGlob() string { return Glob(k.Prefix + leasePart) }

// NodeGlob is the pattern of all heartbeat keys.
func (k Keys) NodeGlob() string { return Glob(k.Prefix + nodePart) }

// CordonGlob is the pattern of all cordons.
func (k Keys) CordonGlob() string { return Glob(k.Prefix + cordonPart) }

// StateGlob is the pattern of all state keys.
func (k Keys) StateGlob() string { return Glob(k.Prefix + statePart) }

// SessionGlob is the pattern of all session documents.
func (k Keys) SessionGlob() string { return Glob(k.SessionPrefix) }

// Display returns the ID for people to read: what does not print, terminal
// controls and bytes that are no UTF-8 among it, is escaped as in a Go string,
// and so is the backslash, so that different IDs never look alike by escaping.
func Display(id string) string {
	var out strings.Builder
	for id != "" {
		r, size := utf8.DecodeRuneInString(id)
		invalid := r == utf8.RuneError && size == 1
		if !invalid && r != '\\' && unicode.IsPrint(r) {
			out.WriteString(id[:size])
		} else {
			quoted := strconv.Quote(id[:size])
			out.WriteString(quoted[1 : len(quoted)-1])
		}
		id = id[size:]
	}

	return out.String()
}
