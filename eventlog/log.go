package eventlog

import (
	"io"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Format says what a line looks like.
type Format string

// The formats.
const (
	JSON    Format = "json"
	Console Format = "console" // for people
)

// timeLayout is RFC 3339 with milliseconds; times are UTC.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// Options say what a Log writes. The zero value is JSON at info.
type Options struct {
	Level  Level
	Format Format
	// InstanceID is on every line, unless it is empty.
	InstanceID string
	// Observe hears of every event, also of those that the level keeps from being
	// written. It must not block, and may be called from any goroutine. It may be nil.
	Observe func(Event)
}

// Log writes events. All methods may be called from any goroutine; those of a nil
// Log do nothing.
type Log struct {
	// Set once.
	level    Level
	instance string
	json     zerolog.Logger
	observe  func(Event)

	// Shared, safe.
	limit *limiter
	sink  *sink
	lines [levels]atomic.Uint64 // begun, by the rank of their level
}

// New returns a Log that writes to w. Only one goroutine at a time writes to w,
// and with writes of whole lines. Close it to flush what is queued.
func New(w io.Writer, o Options) *Log {
	if o.Format == Console {
		w = console(w)
	}
	out := &sink{w: w, perLine: o.Format == Console}
	l := &Log{
		level:    o.Level,
		instance: o.InstanceID,
		json:     zerolog.New(out),
		observe:  o.Observe,
		sink:     out,
	}
	l.limit = newLimiter(l.summarize)
	out.onDropped = l.dropped
	return l
}

// Emit writes the event, if the level admits it. It never waits for the writer.
func (l *Log) Emit(e Event) {
	if l == nil {
		return
	}
	if l.observe != nil {
		l.observe(e)
	}
	h := e.head()
	level, ok := l.admit(h.level, h.name)
	if !ok {
		return
	}
	ln := l.begin(level, h.name, h.text)
	e.fields(&ln)
	ln.e.Send()
}

// Lines returns how many lines were written at that level, or were lost: see
// [Log.Lost].
func (l *Log) Lines(level Level) uint64 {
	if l == nil {
		return 0
	}
	return l.lines[level.rank()].Load()
}

// Lost returns how many lines did not reach the reader of the log, who was too slow or gone.
func (l *Log) Lost() uint64 {
	if l == nil {
		return 0
	}
	return l.sink.lost.Load()
}

// Close writes the summaries that are due and waits until all that is queued has
// been written, at most one second. Events that come later are written without
// limit.
func (l *Log) Close() {
	if l == nil {
		return
	}
	l.Settle()
	l.sink.flush(time.Second)
}

// Settle tells at once how many lines were kept back, and keeps back none from then on.
func (l *Log) Settle() { l.limit.close() }

// admit returns the level at which a line of that event goes out, and whether the
// log writes it. Lines above the limit fall to debug.
func (l *Log) admit(level Level, name string) (Level, bool) {
	if level.rank() < l.level.rank() {
		return level, false
	}
	if level != Debug && !l.limit.allow(name) {
		level = Debug
	}
	return level, level.rank() >= l.level.rank()
}

// begin starts a line with what every line has.
func (l *Log) begin(level Level, name, text string) line {
	l.lines[level.rank()].Add(1)
	//nolint:zerologlint // whoever began the line sends it
	ln := line{e: l.json.Log(), left: maxLine - len("{}\n")}
	ln.raw("time", time.Now().UTC().Format(timeLayout))
	ln.raw("level", string(level))
	ln.raw("event", name)
	ln.raw("message", text)
	if l.instance != "" {
		ln.raw("instance_id", clip(l.instance, maxID, maxID))
	}
	return ln
}

// summarize counts the lines of one event that the limit held back. It is at info,
// as a fact about the log, and goes out wherever the lines themselves would have.
func (l *Log) summarize(name string, span time.Duration, count int) {
	ln := l.begin(Info, name, "more of this event in "+span.String()+"; the single lines are at debug")
	ln.num("count", int64(count))
	ln.e.Send()
}

// dropped returns the line that owns up to lost ones.
func (l *Log) dropped(count int) []byte {
	var buf lineBuffer
	quiet := &Log{instance: l.instance, json: zerolog.New(&buf)}
	ln := quiet.begin(Warn, "log.dropped", "the reader of the log was too slow or gone, lines are missing")
	ln.num("count", int64(count))
	ln.e.Send()
	return buf
}

type lineBuffer []byte

func (b *lineBuffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

// console turns JSON lines into lines for people, with control characters escaped.
func console(w io.Writer) io.Writer {
	return zerolog.ConsoleWriter{
		Out:        w,
		NoColor:    true,
		TimeFormat: "15:04:05.000",
		PartsOrder: []string{zerolog.TimestampFieldName, zerolog.LevelFieldName, "event", zerolog.MessageFieldName},
		// One process, one instance: its first line says which.
		FieldsExclude: []string{"event", "instance_id"},
	}
}
