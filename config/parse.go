package config

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// longest bounds all durations, so that no sum of them overflows.
const longest = 365 * 24 * time.Hour

func duration(v Var, least time.Duration, field func(*Config) *time.Duration) Var {
	rule := fmt.Errorf("must be a duration such as 10s, from %s to %s", least, short(longest))
	v.set = func(c *Config, s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < least || d > longest {
			return rule
		}
		*field(c) = d
		return nil
	}
	v.get = func(c *Config) string { return short(*field(c)) }
	return v
}

func number[N int | int64](v Var, least, most N, field func(*Config) *N) Var {
	rule := fmt.Errorf("must be a whole number from %d to %d", least, most)
	v.set = func(c *Config, s string) error {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < int64(least) || n > int64(most) {
			return rule
		}
		*field(c) = N(n)
		return nil
	}
	v.get = func(c *Config) string { return strconv.FormatInt(int64(*field(c)), 10) }
	return v
}

func text[S ~string](v Var, field func(*Config) *S, check func(string) error) Var {
	v.set = func(c *Config, s string) error {
		if err := check(s); err != nil {
			return err
		}
		*field(c) = S(s)
		return nil
	}
	v.get = func(c *Config) string { return string(*field(c)) }
	return v
}

func boolean(v Var, field func(*Config) *bool) Var {
	v.set = func(c *Config, s string) error {
		b, err := strconv.ParseBool(s)
		if err != nil {
			return errors.New("must be true or false")
		}
		*field(c) = b
		return nil
	}
	v.get = func(c *Config) string { return strconv.FormatBool(*field(c)) }
	return v
}

// secret is a text that is never shown.
func secret(v Var, field func(*Config) *Secret, check func(string) error) Var {
	v.Secret = true
	v = text(v, field, check)
	v.show = func(c *Config) string { return field(c).String() }
	return v
}

func choice[S ~string](v Var, field func(*Config) *S, allowed ...S) Var {
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	rule := errors.New("must be one of " + strings.Join(names, ", "))
	return text(v, field, func(s string) error {
		if !slices.Contains(names, s) {
			return rule
		}
		return nil
	})
}

const maxBody = 1 << 30

// size reads a number of bytes with an optional unit.
func size(v Var, field func(*Config) *int64) Var {
	rule := errors.New("must be a size such as 512KiB or 1MiB, from 1 byte to 1GiB")
	v.set = func(c *Config, s string) error {
		digits := strings.TrimRight(s, "KMGiB")
		factor, ok := unit(s[len(digits):])
		n, err := strconv.ParseInt(digits, 10, 64)
		if !ok || err != nil || n < 1 || n > maxBody/factor {
			return rule
		}
		*field(c) = n * factor
		return nil
	}
	v.get = func(c *Config) string { return showSize(*field(c)) }
	return v
}

func unit(s string) (int64, bool) {
	switch s {
	case "", "B":
		return 1, true
	case "KB":
		return 1000, true
	case "MB":
		return 1000 * 1000, true
	case "GB":
		return 1000 * 1000 * 1000, true
	case "KiB":
		return 1 << 10, true
	case "MiB":
		return 1 << 20, true
	case "GiB":
		return 1 << 30, true
	default:
		return 0, false
	}
}

func showSize(n int64) string {
	for _, u := range []string{"GiB", "MiB", "KiB"} {
		if factor, _ := unit(u); n%factor == 0 && n > 0 {
			return strconv.FormatInt(n/factor, 10) + u
		}
	}
	return strconv.FormatInt(n, 10)
}

// checkName is the rule for instance names: they stand in keys, headers and logs.
func checkName(s string) error {
	if len(s) > 128 || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}) {
		return errors.New("must be 1 to 128 bytes of printable characters without spaces")
	}
	return nil
}

// checkAddr allows no host, which is every interface, and no address at all.
func checkAddr(s string) error {
	if s == "" {
		return nil
	}
	rule := errors.New("must be host:port with a port from 0 to 65535, or empty for no HTTP server")
	host, port, err := net.SplitHostPort(s)
	if err != nil || strings.ContainsFunc(host, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '/' }) {
		return rule
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return rule
	}
	return nil
}

// checkToken is what an Authorization header can carry.
func checkToken(s string) error {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errors.New("must be printable ASCII without spaces")
	}
	return nil
}

// checkResource keeps the second name of the lease routes a clean path segment
// whose singular makes a field name.
func checkResource(s string) error {
	bad := func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' }
	if len(s) < 2 || len(s) > 64 || strings.ContainsFunc(s, bad) || !strings.HasSuffix(s, "s") {
		return errors.New("must be a plural of lower-case letters that ends with s, such as scenes")
	}
	if slices.Contains([]string{"sessions", "nodes", "leases", "events", "status"}, s) {
		return errors.New("must be none of the API's own names")
	}
	return nil
}

func anything(s string) error {
	if len(s) > 4096 || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return errors.New("must be UTF-8 without NUL, at most 4096 bytes")
	}
	return nil
}

// short writes a duration without the zero units that time.Duration appends.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}
