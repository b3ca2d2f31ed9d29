package config_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"leasehold/config"
)

// Whatever is written there: what is accepted covers each address that it names, is shown
// so that it can be read again, and what is not is told by the variable's name.
func FuzzDenyTargets(f *testing.F) {
	for _, list := range []string{
		"", "none", "link-local", "link-local,10.0.0.0/8", " 10.1.2.3/8 , ::1 ", "::ffff:10.0.0.0/104", "::ffff:10.0.0.1", "::ffff:0:0/95",
		"fe80::1%eth0", "0.0.0.0/0,::/0", "10.0.0.0/33", "10.0.0.1,10.0.0.1/32", ",", "none,none", "1.2.3.04", "a/b",
	} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		cfg, err := config.Load([]string{"LEASEHOLD_DENY_TARGETS=" + list}, nil)
		if err != nil {
			var faults config.Faults
			if !errors.As(err, &faults) || len(faults) != 1 || faults[0].Name != "LEASEHOLD_DENY_TARGETS" {
				t.Fatalf("%q: %v", list, err)
			}
			return
		}
		for i, p := range cfg.DenyTargets {
			if !p.IsValid() || p != p.Masked() || p.Addr().Zone() != "" || slices.Index(cfg.DenyTargets, p) != i {
				t.Errorf("%q: %v", list, cfg.DenyTargets)
			}
		}
		for part := range strings.SplitSeq(list, ",") {
			for _, a := range named(strings.TrimSpace(part)) {
				if !slices.ContainsFunc(cfg.DenyTargets, func(p netip.Prefix) bool { return p.Contains(a) }) {
					t.Errorf("%q does not cover %s: %v", list, a, cfg.DenyTargets)
				}
			}
		}
		again, err := config.Load([]string{"LEASEHOLD_DENY_TARGETS=" + cfg.Shown()["LEASEHOLD_DENY_TARGETS"]}, nil)
		if err != nil || !slices.Equal(again.DenyTargets, cfg.DenyTargets) {
			t.Errorf("%q is shown as %q, which is %v, %v", list, cfg.Shown()["LEASEHOLD_DENY_TARGETS"], again.DenyTargets, err)
		}
	})
}

// named returns the address that a part of the list is, or that its network begins with,
// as it is when a poll connects to it.
func named(part string) []netip.Addr {
	a, err := netip.ParseAddr(part)
	if p, e := netip.ParsePrefix(part); e == nil {
		a, err = p.Addr(), nil
		if a.Is4In6() && p.Bits() < 96 { // a network of IPv6 that holds more than IPv4
			return []netip.Addr{a}
		}
	}
	if err != nil {
		return nil
	}
	return []netip.Addr{a.Unmap()}
}
