package session

import (
	"regexp"
	"strings"
)

// hostLike is what looks like a host with a port, or with a domain, and a plain path
// behind it.
var hostLike = regexp.MustCompile(
	`^(([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}` +
		`|\[[0-9A-Fa-f:]+\]|localhost|[0-9]{1,3}(\.[0-9]{1,3}){3}|([a-z0-9-]+\.)+[a-z]{2,24})` +
		`(/[A-Za-z0-9._~/-]*)?`,
)

// withoutScheme quotes a URL that lacks its scheme alone, without query and fragment;
// empty: it is something else, and may be a secret as a whole.
func withoutScheme(raw string) string {
	shown := hostLike.FindString(raw)
	rest := raw[len(shown):]
	switch {
	case shown == "" || strings.Contains(raw, "@"):
		return ""
	case rest == "":
		return quote(shown)
	case rest[0] == '?' || rest[0] == '#':
		return quote(shown) + "..."
	}

	return ""
}
