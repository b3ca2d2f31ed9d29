package target

import (
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// Behavior says how a poll is answered. Its zero value answers 200 at once. In a query
// the fields have the names given; an unknown one is an error.
type Behavior struct {
	Delay   time.Duration // delay: milliseconds before the answer begins
	Status  int           // status
	Hang    bool          // hang=1: no answer at all
	Trickle time.Duration // trickle: an endless body, one byte each so many milliseconds; 1: each 5 s
	Endless bool          // endless=1: an endless body, as fast as it is read
	Gzip    int           // gzip: so many MiB of zeros, compressed
	To      string        // to: a redirect with this location
	Body    string        // body: instead of {"ok":true}
}

// defaultTrickle is what trickle=1 means.
const defaultTrickle = 5 * time.Second

const (
	maxMillis = int((24 * time.Hour) / time.Millisecond)
	maxGzip   = 100 << 10
)

// ParseBehavior reads a query. An empty value is the same as none.
func ParseBehavior(q url.Values) (Behavior, error) {
	var b Behavior
	for name := range q {
		if err := b.set(name, q.Get(name)); err != nil {
			return Behavior{}, err
		}
	}
	return b, nil
}

func (b *Behavior) set(name, value string) (err error) {
	var n int
	switch name {
	case "delay":
		n, err = number(name, value, 0, maxMillis)
		b.Delay = time.Duration(n) * time.Millisecond
	case "status":
		b.Status, err = number(name, value, 200, 999)
	case "hang":
		n, err = number(name, value, 0, 1)
		b.Hang = n == 1
	case "trickle":
		n, err = number(name, value, 0, maxMillis)
		b.Trickle = time.Duration(n) * time.Millisecond
		if n == 1 {
			b.Trickle = defaultTrickle
		}
	case "endless":
		n, err = number(name, value, 0, 1)
		b.Endless = n == 1
	case "gzip":
		b.Gzip, err = number(name, value, 0, maxGzip)
	case "to":
		b.To = value
	case "body":
		b.Body = value
	default:
		err = fmt.Errorf("unknown parameter %q", name)
	}
	return err
}

func number(name, value string, low, high int) (int, error) {
	if value == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("parameter %q: %q is not a number from %d to %d", name, value, low, high)
	}
	return n, nil
}
