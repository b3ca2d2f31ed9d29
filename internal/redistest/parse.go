package redistest

import (
	"errors"
	"strconv"
	"strings"
)

var errProtocol = errors.New("not the Redis protocol")

// parseCommand reads one command and says how long it is: zero when its end is
// still missing.
func parseCommand(text string) (args []string, n int, err error) {
	count, at, err := parseHead(text, '*')
	if at == 0 || err != nil {
		return nil, 0, err
	}
	args = make([]string, 0, max(0, count))
	for range count {
		size, m, err := parseHead(text[at:], '$')
		if m == 0 || err != nil {
			return nil, 0, err
		}
		from := at + m
		at = from + size + len("\r\n")
		if size < 0 || at < from {
			return nil, 0, errProtocol
		}
		if at > len(text) {
			return nil, 0, nil
		}
		args = append(args, text[from:from+size])
	}
	return args, at, nil
}

// parseHead reads a line of a kind and a number.
func parseHead(text string, kind byte) (number, n int, err error) {
	if text == "" {
		return 0, 0, nil
	}
	if text[0] != kind {
		return 0, 0, errProtocol
	}
	end := strings.IndexByte(text, '\n')
	if end < 0 {
		return 0, 0, nil
	}
	if end < 3 {
		return 0, 0, errProtocol
	}
	number, err = strconv.Atoi(text[1 : end-1])
	return number, end + 1, err
}
