package httppoll

import (
	"context"
	"fmt"
	"net/netip"
	"syscall"
)

// denied is an address that no poll may connect to.
type denied struct {
	addr netip.Addr
	rule netip.Prefix
}

func (e *denied) Error() string {
	return fmt.Sprintf("the target's address %s is denied: LEASEHOLD_DENY_TARGETS has %s", e.addr, e.rule)
}

// deny returns the check of a dialer. It sees each address that is about to be
// connected to, after names were resolved: what a name means when somebody looks is
// no promise of what it means later.
func deny(rules []netip.Prefix) func(ctx context.Context, network, address string, _ syscall.RawConn) error {
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil { // can't be: it was resolved
			return fmt.Errorf("no address of a target: %w", err)
		}
		if rule, found := match(rules, ap.Addr()); found {
			return &denied{addr: ap.Addr(), rule: rule}
		}
		return nil
	}
}

// match finds the rule that an address falls under, whatever it is wrapped in.
func match(rules []netip.Prefix, addr netip.Addr) (netip.Prefix, bool) {
	for _, a := range meanings(addr.WithZone("")) {
		for _, rule := range rules {
			if rule.Contains(a) {
				return rule, true
			}
		}
	}
	return netip.Prefix{}, false
}

// meanings are the addresses where a connection to addr can arrive: IPv4 stands in
// IPv6 in several ways, and no address at all means this machine.
func meanings(addr netip.Addr) []netip.Addr {
	all := []netip.Addr{addr}
	if addr.Is6() {
		b := addr.As16()
		switch {
		case addr.Is4In6():
			all = append(all, addr.Unmap())
		case netip.MustParsePrefix("64:ff9b::/96").Contains(addr), // NAT64
			netip.MustParsePrefix("::ffff:0:0:0/96").Contains(addr),     // translated without state (SIIT)
			netip.MustParsePrefix("::/96").Contains(addr) && b[12] != 0: // the oldest form
			all = append(all, netip.AddrFrom4([4]byte(b[12:])))
		case netip.MustParsePrefix("2002::/16").Contains(addr): // 6to4
			all = append(all, netip.AddrFrom4([4]byte(b[2:6])))
		}
	}
	if addr.Unmap().IsUnspecified() {
		all = append(all, netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback())
	}
	return all
}
