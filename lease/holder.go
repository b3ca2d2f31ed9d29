package lease

import "strings"

// ByHand is what follows an instance ID in the holder of a lease that a service took by
// hand, beside nodes that poll: it is no node's, so no heartbeat says that it lives.
const ByHand = "/manual"

// InstanceForm reports whether a holder looks like the instance ID of a node:
// {name}-{digits}-{8 hex digits}. Holders of the lease API never do.
func InstanceForm(holder string) bool {
	rest, random := cutLast(holder)
	name, boot := cutLast(rest)

	return name != "" && boot != "" && strings.Trim(boot, "0123456789") == "" &&
		len(random) == 8 && strings.Trim(random, "0123456789abcdef") == ""
}

// cutLast splits at the last dash.
func cutLast(s string) (before, after string) {
	if i := strings.LastIndexByte(s, '-'); i >= 0 {
		return s[:i], s[i+1:]
	}

	return "", s
}
