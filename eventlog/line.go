package eventlog

import (
	"maps"
	"slices"
	"time"

	"github.com/rs/zerolog"
)

// Sizes in bytes. PIPE_BUF of Linux is 4096: a write up to it is never torn.
const (
	maxLine   = 4000
	maxText   = 1024 // an error, a reason
	maxID     = 512  // what a session ID may have
	perNumber = 24   // digits, sign and punctuation of a number
)

// line writes the fields of one line and keeps it within maxLine.
type line struct {
	e *zerolog.Event
	// left is what the line may still grow, in encoded bytes.
	left int
}

// raw writes a string whole, whatever room there is.
func (l *line) raw(key, value string) {
	l.e.Str(key, value)
	l.left -= fieldSize(key) + encodedLen(value)
}

// str writes a string, cut to what a text may have and the line still holds.
func (l *line) str(key, value string) {
	room := l.left - fieldSize(key)
	if room < len(ellipsis) {
		return
	}
	l.raw(key, clip(value, maxText, room))
}

// opt is str for a value that is left out when empty.
func (l *line) opt(key, value string) {
	if value != "" {
		l.str(key, value)
	}
}

func (l *line) num(key string, n int64) {
	l.e.Int64(key, n)
	l.left -= fieldSize(key) + perNumber
}

// ms writes a duration in milliseconds with microseconds behind the point.
func (l *line) ms(key string, d time.Duration) {
	l.e.Float64(key, float64(d.Microseconds())/1000)
	l.left -= fieldSize(key) + perNumber
}

// session writes the ID whole; only what can be no ID is cut.
func (l *line) session(id string) {
	if id != "" {
		l.raw("endpoint_id", clip(id, maxID, 6*maxID))
	}
}

func (l *line) grant(session string, version int64) {
	l.session(session)
	l.num("version", version)
}

// held writes for how long a lease was held, where that is known.
func (l *line) held(d time.Duration) {
	if d > 0 {
		l.ms("held_ms", d)
	}
}

func (l *line) reason(reason string) { l.opt("reason", scrub(reason)) }

func (l *line) err(err error) {
	if err != nil {
		l.str("error", scrub(err.Error()))
	}
}

// dict writes a map in the order of its keys, up to where the line is full.
func (l *line) dict(key string, values map[string]string) {
	inner := line{e: l.e.CreateDict(), left: l.left - fieldSize(key)}
	for _, k := range slices.Sorted(maps.Keys(values)) {
		inner.str(k, scrub(values[k]))
	}
	l.e.Dict(key, inner.e)
	l.left = inner.left
}

// fieldSize is what a field costs besides its value: quotes, colon and comma.
func fieldSize(key string) int { return len(key) + len(`"":"",`) }
