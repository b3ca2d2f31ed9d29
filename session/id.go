package session

import (
	"strings"
	"unicode/utf8"
)

// MaxIDBytes is the length of the longest session ID.
const MaxIDBytes = 512

// ValidID says why a session ID can't be used, as an [*InvalidError], or returns
// nil: an ID has 1 to 512 bytes of valid UTF-8 without NUL.
func ValidID(id string) error {
	const field = "id"
	switch {
	case id == "":
		return invalid(field, "is empty")
	case len(id) > MaxIDBytes:
		return invalid(field, "has %d bytes, more than %d", len(id), MaxIDBytes)
	case !utf8.ValidString(id):
		return invalid(field, "is not valid UTF-8")
	case strings.ContainsRune(id, 0):
		return invalid(field, "contains a NUL")
	}

	return nil
}

// ValidUUID says why an ID is no UUID, as an [*InvalidError], or returns nil: 32
// hexadecimal digits of either case in groups of 8, 4, 4, 4 and 12.
func ValidUUID(id string) error {
	if len(id) != 36 {
		return invalid("id", "is not a UUID")
	}
	for i := range len(id) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (id[i] == '-') || !dash && !isHex(id[i]) {
			return invalid("id", "is not a UUID")
		}
	}

	return nil
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}
