package httppoll_test

import (
	"io"
	"log"
)

// quiet keeps the handshakes that fail on purpose out of the tests' output.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
