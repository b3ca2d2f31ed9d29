package session

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readRequest reads what an HTTP poll sends. Other kinds may carry these fields
// for uses of their own, so only their types are checked then.
func readRequest(doc fields, s *Session, _ Defaults) (err error) {
	for _, one := range []struct {
		name string
		dst  *string
	}{{"url", &s.URL}, {"method", &s.Method}, {"body", &s.Body}} {
		if err := doc.text(one.name, "", one.dst); err != nil {
			return err
		}
	}
	if s.Headers, err = doc.texts("headers"); err != nil {
		return err
	}
	if s.Method == "" {
		s.Method = defaultMethod
	}
	if s.Kind != HTTP {
		return nil
	}
	if !isToken(s.Method) {
		return invalid("method", "is not an HTTP method: %s", quote(s.Method))
	}
	s.Method = strings.ToUpper(s.Method) // servers tell get from GET, and nobody means get
	if strings.EqualFold(s.Method, "connect") {
		return invalid("method", "must not be CONNECT, which asks for a tunnel")
	}
	if err := checkURL(s.URL); err != nil {
		return err
	}

	return checkHeaders(s.Headers)
}

// checkURL checks the target. A URL may hold a password anywhere, if only by a
// slip, so errors quote nothing of it but a host and a path where the scheme is missing.
func checkURL(raw string) error {
	const field = "url"
	if raw == "" {
		return invalid(field, "is missing, and kind http needs one")
	}
	const scheme = "must start with http:// or https://"
	if shown := withoutScheme(raw); shown != "" {
		return invalid(field, scheme+", is %s", shown)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return invalid(field, "can't be parsed")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return invalid(field, scheme)
	}
	if strings.ContainsAny(raw, " \t") {
		return invalid(field, "has a space: write %%20")
	}
	if u.Hostname() == "" {
		return invalid(field, "names no host")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return invalid(field, "has a port that is not from 1 to 65535")
		}
	}

	return nil
}

// checkHeaders checks names and values by RFC 9110, section 5. Values are never
// quoted. In order, so that one document always gives one error. Two spellings of one
// name would leave to chance which one is sent.
func checkHeaders(headers map[string]string) error {
	const field = "headers"
	seen := make(map[string]bool, len(headers))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if name == "" {
			return invalid(field, "has an invalid name: it is empty")
		}
		if at := strings.IndexFunc(name, notInToken); at >= 0 {
			wrong, _ := utf8.DecodeRuneInString(name[at:])

			return invalid(field, "has an invalid name: %s, which can't hold %+q", quoteName(name), wrong)
		}
		if strings.ContainsFunc(headers[name], isControl) {
			return invalid(field, "has a control character in the value of %s", quote(name))
		}
		folded := strings.ToLower(name)
		if seen[folded] {
			return invalid(field, "has two spellings of %s", quote(folded))
		}
		seen[folded] = true
	}

	return nil
}

// isControl reports whether a header's value may not contain the character.
func isControl(r rune) bool {
	return r < ' ' && r != '\t' || r == 0x7f
}

// isToken reports whether the text is a token of RFC 9110, section 5.6.2.
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, notInToken)
}

// notInToken reports whether no token has the character.
func notInToken(r rune) bool {
	switch {
	case '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
		return false
	}

	return !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
