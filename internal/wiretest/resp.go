package wiretest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ReplyError is an error that the server answered with.
type ReplyError string

func (e ReplyError) Error() string { return string(e) }

var errProtocol = errors.New("no RESP2")

// readCommand reads one command as a client sends it, and the bytes that it was.
func readCommand(in *bufio.Reader) (args []string, raw []byte, err error) {
	v, raw, err := readReply(in)
	if err != nil {
		return nil, raw, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, raw, fmt.Errorf("%w: a command is %T", errProtocol, v)
	}
	args = make([]string, len(list))
	for i, a := range list {
		args[i], _ = a.(string)
	}

	return args, raw, nil
}

// readReply reads one reply of RESP2, and the bytes that it was: a string, an int64,
// nil, a [ReplyError] or a list of such.
func readReply(in *bufio.Reader) (reply any, raw []byte, err error) {
	var seen bytes.Buffer
	reply, err = readValue(in, &seen)

	return reply, seen.Bytes(), err
}

func readValue(in *bufio.Reader, seen *bytes.Buffer) (any, error) {
	line, err := in.ReadBytes('\n')
	seen.Write(line)
	if err != nil {
		return nil, err
	}
	if len(line) < 3 {
		return nil, fmt.Errorf("%w: %q", errProtocol, line)
	}
	text := string(line[1 : len(line)-2])
	switch line[0] {
	case '+':
		return text, nil
	case '-':
		return ReplyError(text), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%w: %q", errProtocol, line)
	}
	switch line[0] {
	case ':':
		return n, nil
	case '$':
		return readBulk(in, seen, n)
	case '*':
		return readList(in, seen, n)
	}

	return nil, fmt.Errorf("%w: %q", errProtocol, line)
}

func readBulk(in *bufio.Reader, seen *bytes.Buffer, n int64) (any, error) {
	if n < 0 {
		return nil, nil
	}
	b := make([]byte, n+2)
	read, err := io.ReadFull(in, b)
	seen.Write(b[:read])

	return string(b[:max(0, read-2)]), err
}

func readList(in *bufio.Reader, seen *bytes.Buffer, n int64) (any, error) {
	if n < 0 {
		return nil, nil
	}
	list := make([]any, n)
	for i := range list {
		v, err := readValue(in, seen)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}

	return list, nil
}
