package redisevents

import (
	"strconv"
	"strings"
	"time"
)

// identity tells one life of one server in one role from another.
type identity struct {
	runID, role, replID string
	uptime              time.Duration
}

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

// parseIdentity reads the answers to INFO server and INFO replication. Lines that
// it does not understand are skipped.
func parseIdentity(info string) identity {
	var id identity
	for line := range strings.Lines(info) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		switch name {
		case "run_id":
			id.runID = value
		case "role":
			id.role = value
		case "master_replid":
			id.replID = value
		case "uptime_in_seconds":
			id.uptime = parseSeconds(value)
		}
	}
	return id
}

// parseSeconds answers zero for what is no sensible number of seconds.
func parseSeconds(s string) time.Duration {
	const most = 1 << 32 // seconds; far below the overflow of a Duration
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0
	}
	return time.Duration(n) * time.Second
}
