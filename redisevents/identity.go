package redisevents

import "leasehold/redisinfo"

// identity tells one life of one server in one role from another.
type identity struct {
	runID, role, replID string
}

// String is what one listener says to another: only what is equal means the same.
func (i identity) String() string { return i.runID + " " + i.role + " " + i.replID }

// known reports whether the server told who it is.
func (i identity) known() bool { return i.runID != "" }

// replica reports whether the server follows another one.
func (i identity) replica() bool { return i.role == "slave" }

// changed reports whether the server is another than before. One that does not
// tell is never called another.
func (i identity) changed(before identity) bool {
	if !i.known() || !before.known() {
		return false
	}
	return i.runID != before.runID || i.role != before.role || i.replID != before.replID
}

// another reports whether it is another process than before, rather than one that changed
// its role.
func (i identity) another(before identity) bool {
	return i.known() && before.known() && i.runID != before.runID
}

// parseIdentity reads the answers to INFO server and INFO replication.
func parseIdentity(info string) identity {
	return identity{
		runID:  redisinfo.Field(info, "run_id"),
		role:   redisinfo.Field(info, "role"),
		replID: redisinfo.Field(info, "master_replid"),
	}
}
