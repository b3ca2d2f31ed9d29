package lease

import "time"

// Cordon is what an operator wants of one instance.
type Cordon string

// The cordons, the loosest first.
const (
	// Open takes sessions as the plan gives them.
	Open Cordon = ""
	// Cordoned keeps what it has and takes nothing.
	Cordoned Cordon = "cordoned"
	// Drained gives up what others can take, and takes nothing.
	Drained Cordon = "drained"
)

// CordonTTL is how long a cordon outlives its node. A node that lives keeps it.
const CordonTTL = 7 * 24 * time.Hour

// CordonOf reads a cordon as it is stored. A word that is not known counts as
// Cordoned: somebody wants the node to take nothing.
func CordonOf(stored string) Cordon {
	if c := Cordon(stored); c == Open || c == Drained {
		return c
	}

	return Cordoned
}

// Most returns how many sessions a node with the cordon may have that has so many, and
// whether there is a limit.
func (c Cordon) Most(has int) (most int, limited bool) {
	switch c {
	case Cordoned:
		return has, true
	case Drained:
		return 0, true
	case Open:
	}

	return 0, false
}
