package session

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// duration reads a Go duration or a number of seconds within the bounds.
func (f fields) duration(name string, dst *time.Duration, low, top time.Duration) error {
	raw, found := f[name]
	if !found || isNull(raw) {
		return nil
	}
	seconds, shown, err := parseSeconds(name, raw)
	if err != nil {
		return err
	}
	switch {
	case seconds < low.Seconds():
		return invalid(name, "must be at least %v, is %s", low, shown)
	case seconds > top.Seconds():
		return invalid(name, "must be at most %v, is %s", top, shown)
	}
	*dst = time.Duration(math.Round(seconds * float64(time.Second)))

	return nil
}

// parseSeconds returns the duration, infinite where it is too large to count, and
// how errors show it.
func parseSeconds(name string, raw json.RawMessage) (seconds float64, shown string, err error) {
	const want = "a duration like 10s, or a number of seconds"
	var text string
	switch typeOf(raw) {
	case "a number":
		// The one error left is the range, where the result is infinite.
		seconds, _ = strconv.ParseFloat(string(raw), 64)

		return seconds, quote(string(raw)), nil
	case "a string":
		if err := json.Unmarshal(raw, &text); err != nil {
			return 0, "", invalid(name, "must be %s", want)
		}
	default:
		return 0, "", invalid(name, "must be %s, is %s", want, typeOf(raw))
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, "", invalid(name, "must be %s, is %s", want, quote(text))
	}

	return d.Seconds(), quote(text), nil
}
