package config

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
)

// linkLocal stands in lists of targets for addresses that only this machine's network
// card knows, and where clouds keep the credentials of the machine.
const linkLocal = "link-local"

func linkLocals() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("fd00:ec2::254/128"),
	}
}

// targetsVar is the list of what must not be polled.
func targetsVar() Var {
	return Var{
		Name: "LEASEHOLD_DENY_TARGETS", Default: linkLocal, EmptyCounts: true,
		Meaning: "addresses that no poll connects to: CIDRs with commas between, and `link-local` (169.254.0.0/16, fe80::/10, fd00:ec2::254); `none` or set but empty: all are allowed",
		set: func(c *Config, s string) error {
			var err error
			c.DenyTargets, err = parseTargets(s)
			return err
		},
		get: func(c *Config) string {
			texts := make([]string, len(c.DenyTargets))
			for i, p := range c.DenyTargets {
				texts[i] = p.String()
			}
			return strings.Join(texts, ",")
		},
	}
}

// parseTargets reads a list of networks and single addresses. An IPv4 network may be
// written as IPv6 has it.
func parseTargets(s string) ([]netip.Prefix, error) {
	if s = strings.TrimSpace(s); s == "" || s == "none" {
		return nil, nil
	}
	var all []netip.Prefix
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == linkLocal {
			all = append(all, linkLocals()...)
			continue
		}
		p, err := netip.ParsePrefix(part)
		if a, e := netip.ParseAddr(part); e == nil && a.Zone() == "" {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil {
			return nil, errors.New("must be none, or link-local and networks such as 10.0.0.0/8 with commas between")
		}
		if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		all = append(all, p.Masked())
	}
	// Each once, in the order given.
	var once []netip.Prefix
	for _, p := range all {
		if !slices.Contains(once, p) {
			once = append(once, p)
		}
	}
	return once, nil
}
