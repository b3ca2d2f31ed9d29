package session

import (
	"net/url"
	"strings"
)

// What stands in a redacted URL for a secret value, and for a URL of which it
// can't be said where the secrets are.
const (
	mask       = "***"
	unreadable = "[unreadable URL]"
)

// RedactURL returns the URL for people and logs: without user part and fragment,
// and with the values of query parameters masked whose names look like secrets.
// It never fails. A secret in the path is not recognized.
func RedactURL(raw string) string {
	u, err := url.Parse(raw)
	// Without a scheme, or with a misread one, "user:password@host" is no user part.
	if err != nil || u.Opaque != "" || u.Host == "" && strings.Contains(raw, "@") {
		return unreadable
	}
	u.User = nil
	u.Fragment, u.RawFragment = "", ""
	u.RawQuery = redactQuery(u.RawQuery)

	return u.String()
}

// redactQuery masks values and leaves all else, and the order, as it is. Some
// servers take the semicolon for a separator too.
func redactQuery(query string) string {
	var out strings.Builder
	for query != "" {
		end := strings.IndexAny(query, "&;")
		pair, separator := query, ""
		if end >= 0 {
			pair, separator = query[:end], query[end:end+1]
		}
		query = query[len(pair)+len(separator):]
		out.WriteString(redactPair(pair) + separator)
	}

	return out.String()
}

func redactPair(pair string) string {
	name, _, hasValue := strings.Cut(pair, "=")
	plain, err := url.QueryUnescape(name)
	if hasValue && (err != nil || looksSecret(plain)) {
		return name + "=" + mask
	}

	return pair
}

// looksSecret errs on the side of masking: a masked monkey=3 does no harm.
func looksSecret(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{
		"auth", "code", "cookie", "cred", "jwt", "key", "pass", "pw", "secret", "session", "sid", "sig", "token",
	} {
		if strings.Contains(name, part) {
			return true
		}
	}

	return false
}
