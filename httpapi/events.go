package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// mostListening is how many may follow the changes, mostBehind how many messages
	// one may be behind: what comes beyond is dropped, and counted.
	mostListening = 100
	mostBehind    = 1000
	// beat is how often something is written, so that neither side waits for a dead
	// connection.
	beat = 15 * time.Second
)

// The kinds of messages in the stream of changes.
const (
	leaseChange = "lease"
	nodeChange  = "node"
	pollChange  = "poll"
	gapChange   = "gap" // changes may have been missed before this
	dropped     = "dropped"
)

// message is one server-sent event.
type message struct {
	kind string
	data []byte
}

// listener is who follows the changes.
type listener struct {
	kinds   []string
	queue   chan message
	dropped atomic.Int64
}

// offer puts a message into the queue, if it is of interest and there is room.
func (l *listener) offer(m message) {
	if m.kind != gapChange && !slices.Contains(l.kinds, m.kind) {
		return
	}
	select {
	case l.queue <- m:
	default:
		l.dropped.Add(1)
	}
}

// events answers with the changes as they come, until somebody has enough.
func (a *api) events(c *call) answer {
	l, p := readListener(c)
	if p != nil {
		return refuse(p)
	}
	if stopped(a.Stop) {
		return refuse(stopping())
	}
	s := &stream{writer: c.writer, control: http.NewResponseController(c.writer)}
	if c.headOnly() {
		s.header()

		return answer{written: true}
	}
	if !a.changes.join(c.Context(), l) {
		return refuse(busy())
	}
	defer a.changes.leave(l)
	s.begin()
	defer s.bound() // the end of the answer is written too
	pulse := time.NewTicker(beat)
	defer pulse.Stop()
	for s.err == nil {
		select {
		case m := <-l.queue:
			s.write(m)
		case <-pulse.C:
			s.comment()
		case <-c.Context().Done():
			return answer{written: true}
		case <-a.Stop:
			return answer{written: true}
		}
		s.tell(l.dropped.Swap(0))
		if len(l.queue) == 0 {
			s.flush()
		}
	}

	return answer{written: true}
}

func readListener(c *call) (*listener, *problem) {
	query, err := url.ParseQuery(c.URL.RawQuery)
	if err != nil {
		return nil, badQuery(err)
	}
	l := &listener{kinds: []string{leaseChange, nodeChange, pollChange}, queue: make(chan message, mostBehind)}
	if !query.Has("types") {
		return l, nil
	}
	all := l.kinds
	l.kinds = strings.Split(query.Get("types"), ",")
	for _, kind := range l.kinds {
		if !slices.Contains(all, kind) {
			return nil, unprocessable("types must be some of " + strings.Join(all, ","))
		}
	}

	return l, nil
}

// stream writes server-sent events. After an error it does nothing more.
//
// Its deadline is there only while something is written: in HTTP/2 it is a timer, which
// resets the stream also where nothing is, and the server has set one by itself.
type stream struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	err     error
}

func (s *stream) begin() {
	s.header()
	s.flush()
}

func (s *stream) header() {
	h := s.writer.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no") // proxies shall pass on what comes
	s.writer.WriteHeader(http.StatusOK)
}

func (s *stream) write(m message) {
	s.print("event: " + m.kind + "\ndata: " + string(m.data) + "\n\n")
}

// comment is what no client sees.
func (s *stream) comment() { s.print(":\n\n") }

// tell says how many messages did not get through.
func (s *stream) tell(n int64) {
	if n > 0 {
		s.write(message{kind: dropped, data: fmt.Appendf(nil, `{"count":%d}`, n)})
	}
}

func (s *stream) print(text string) {
	if s.err == nil {
		s.bound()
		_, s.err = s.writer.Write([]byte(text))
	}
}

func (s *stream) flush() {
	if s.err == nil {
		s.err = s.control.Flush()
	}
	if s.err == nil {
		_ = s.control.SetWriteDeadline(time.Time{}) // writers that have none never end it
	}
}

// bound limits what is written from now on.
func (s *stream) bound() { _ = s.control.SetWriteDeadline(time.Now().Add(answerLimit)) }

// stopped reports whether the channel is closed.
func stopped(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
