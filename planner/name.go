package planner

import (
	"cmp"
	"hash/fnv"
	"slices"
)

// Name is the ID of a session or node with its hash. Make it once with NewName and
// keep it.
type Name struct {
	id   string
	hash uint64
}

// NewName hashes an ID.
func NewName(id string) Name {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails, says hash.Hash

	return Name{id: id, hash: mix(h.Sum64())}
}

// String returns the ID.
func (n Name) String() string {
	return n.id
}

// Weight returns how much node and session prefer each other.
func Weight(node, session Name) uint64 {
	return mix(node.hash ^ session.hash)
}

// Rank returns the indices of the nodes by falling weight for the session, ties by
// name: the node that would own the session were there no quotas comes first.
func Rank(session Name, nodes []Name) []int {
	return order(nodes, func(node Name) uint64 { return Weight(node, session) })
}

// order returns the indices of the names by falling weight, ties by name.
func order(names []Name, weight func(Name) uint64) []int {
	type entry struct {
		weight uint64
		index  int
	}
	entries := make([]entry, len(names))
	for i, name := range names {
		entries[i] = entry{weight(name), i}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(names[a.index].id, names[b.index].id))
	})
	indices := make([]int, len(names))
	for i, e := range entries {
		indices[i] = e.index
	}

	return indices
}

// mix is the 64-bit finaliser of MurmurHash3: bijective, and each bit of the
// argument changes each bit of the result with a chance of nearly one half.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53

	return h ^ h>>33
}
