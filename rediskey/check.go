package rediskey

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"leasehold/session"
)

// ValidID says why a session ID can't be used, or nil: it has 1 to 512 bytes of
// valid UTF-8 without NUL. It is [session.ValidID], for who deals with keys alone.
func ValidID(id string) error {
	return session.ValidID(id)
}

// maxPrefixBytes bounds prefixes, so that a slip is told instead of paid for in
// every key.
const maxPrefixBytes = 512

// Validate says why the prefixes can't be used, or nil: all that each check of them says.
func (k Keys) Validate() error {
	if err := errors.Join(k.ValidatePrefix(), k.ValidateSessionPrefix()); err != nil {
		return err
	}

	return k.apart()
}

// ValidatePrefix says why Prefix can't be used, whatever the other one is, or nil.
func (k Keys) ValidatePrefix() error {
	if err := validPrefix("key prefix", k.Prefix); err != nil {
		return err
	}
	// An open brace would take the hash tag of the state key for itself.
	if _, tagged := hashTag(k.Prefix); !tagged && strings.Contains(k.Prefix, "{") {
		return fmt.Errorf("key prefix %q has a brace but no complete hash tag", k.Prefix)
	}

	return nil
}

// ValidateSessionPrefix says why SessionPrefix can't be used, whatever the other one is,
// or nil.
func (k Keys) ValidateSessionPrefix() error { return validPrefix("session prefix", k.SessionPrefix) }

// validPrefix checks one prefix by itself.
func validPrefix(name, prefix string) error {
	switch {
	case prefix == "":
		return fmt.Errorf("%s is empty", name)
	case len(prefix) > maxPrefixBytes:
		return fmt.Errorf("%s has %d bytes, more than %d", name, len(prefix), maxPrefixBytes)
	case !utf8.ValidString(prefix):
		return fmt.Errorf("%s is not valid UTF-8", name)
	case strings.ContainsRune(prefix, 0):
		return fmt.Errorf("%s contains a NUL", name)
	}

	return nil
}

// apart checks that no key can be both a document and one of the fleet's.
func (k Keys) apart() error {
	rest, nested := strings.CutPrefix(k.SessionPrefix, k.Prefix)
	if !nested {
		return nil
	}
	for _, part := range []string{leasePart, nodePart, statePart, cordonPart, cardPart} {
		if strings.HasPrefix(rest, part) || strings.HasPrefix(part, rest) {
			return fmt.Errorf("session prefix %q collides with the fleet's keys %q",
				k.SessionPrefix, k.Prefix+part)
		}
	}

	return nil
}
