package httppoll

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

const bufferSize = 16 << 10

// errWire says that an answer is too large before decompression: a stream that grows
// for ever and decompresses to nothing.
var errWire = errors.New("too many compressed bytes")

// read reads the answer up to the bound, counts its bytes after decompression and
// searches it for want. The bound is reached without holding the answer in memory.
func (c *Client) read(resp *http.Response, want string, kept *head) (n int64, found bool, err error) {
	limit := c.cfg.MaxBody
	zipped := isZipped(resp)
	if !zipped && resp.ContentLength > limit {
		return 0, false, tooLarge(limit)
	}
	body, err := plain(resp.Body, zipped, limit)
	if err == nil {
		n, found, err = c.scan(io.TeeReader(io.LimitReader(body, limit+1), kept), want)
	}
	kept.cut = kept.cut || err != nil || n > limit
	switch {
	case n > limit || errors.Is(err, errWire):
		return min(n, limit), false, tooLarge(limit)
	case err != nil:
		return n, false, &brokenBody{bytes: n, err: err}
	}
	return n, found, nil
}

func isZipped(resp *http.Response) bool {
	return strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip")
}

// head keeps the first bytes of what is written to it.
type head struct {
	room  int // how many more
	bytes []byte
	cut   bool // the answer is longer, or may be
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.room)
	h.bytes = append(h.bytes, p[:n]...)
	h.room -= n
	h.cut = h.cut || n < len(p)
	return len(p), nil
}

// body is what was kept, of a text without the part of a character that the cut left at
// its end. What was not cut is left as it is: it may be binary, and only look so.
func (h *head) body() []byte {
	if !h.cut {
		return h.bytes
	}
	for n := 1; n < utf8.UTFMax && n <= len(h.bytes); n++ {
		text, tail := h.bytes[:len(h.bytes)-n], h.bytes[len(h.bytes)-n:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) && utf8.Valid(text) {
				return text
			}
			break
		}
	}
	return h.bytes
}

func tooLarge(limit int64) error {
	return fail(ClassTooLarge, "the answer is larger than %d bytes", limit)
}

// plain returns the body's decompressed bytes.
func plain(body io.Reader, zipped bool, limit int64) (io.Reader, error) {
	if !zipped {
		return body, nil
	}
	// What does not compress grows by far less than this.
	z, err := gzip.NewReader(&wire{from: body, left: limit + limit/16 + bufferSize})
	if errors.Is(err, io.EOF) {
		return strings.NewReader(""), nil
	}
	return z, err
}

// wire bounds the bytes before decompression.
type wire struct {
	from io.Reader
	left int64
}

func (w *wire) Read(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, errWire
	}
	p = p[:min(int64(len(p)), w.left)]
	n, err := w.from.Read(p)
	w.left -= int64(n)
	return n, err
}

// scan reads to the end. A match may lie across two reads, so the last bytes of one
// are kept in front of the next.
func (c *Client) scan(from io.Reader, want string) (n int64, found bool, err error) {
	pooled := c.buffers.Get().(*[]byte)
	defer c.buffers.Put(pooled)
	buf := *pooled
	if len(buf) < 2*len(want) {
		buf = make([]byte, 2*len(want))
	}
	found = want == ""
	kept := 0
	for {
		k, err := from.Read(buf[kept:])
		n += int64(k)
		if !found {
			seen := buf[:kept+k]
			found = bytes.Contains(seen, []byte(want))
			kept = copy(buf, seen[max(0, len(seen)-len(want)+1):])
		}
		if found {
			kept = 0
		}
		if errors.Is(err, io.EOF) {
			return n, found, nil
		}
		if err != nil {
			return n, found, err
		}
	}
}
