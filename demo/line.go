package demo

import (
	"encoding/json"
	"time"
)

// line is one line of a node's log, as far as the demo reads it.
type line struct {
	Time     time.Time `json:"time"`
	Event    string    `json:"event"`
	Message  string    `json:"message"`
	Instance string    `json:"instance_id"`
	Session  string    `json:"endpoint_id"`
	Version  int64     `json:"version"`
	Member   string    `json:"member"`
	Reason   string    `json:"reason"`
	Error    string    `json:"error"`
	HTTPAddr string    `json:"http_addr"`
	Count    int       `json:"count"` // of lines that were held back
	Takeover *float64  `json:"takeover_ms"`
	Duration float64   `json:"duration_ms"`
}

// parseLine reports false for what is no line of the log, such as a crash.
func parseLine(text []byte) (line, bool) {
	var l line
	err := json.Unmarshal(text, &l)
	return l, err == nil && l.Event != ""
}

func milliseconds(ms float64) time.Duration {
	return time.Duration(ms * float64(time.Millisecond))
}
