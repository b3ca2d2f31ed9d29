package eventlog

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
)

// actorSystem is the event of the actor library's own records.
const actorSystem = "actor.system"

// SlogHandler returns a handler that writes the records of the actor library as
// lines of the event `actor.system`, in the form of all others and under the same
// limit. An attribute called message is written as msg_type, with the type alone:
// the content of a message belongs into no log. Groups are flattened. The handler
// of a nil Log discards.
func (l *Log) SlogHandler() slog.Handler {
	if l == nil {
		return slog.DiscardHandler
	}
	return &slogHandler{log: l}
}

// slogHandler does what zerolog.NewSlogHandler does, within the bounds of a line:
// that one writes a second `message`, any length, and objects in full.
type slogHandler struct {
	log   *Log
	attrs []slog.Attr
}

func (h *slogHandler) Enabled(_ context.Context, level slog.Level) bool {
	return fromSlog(level).rank() >= h.log.level.rank()
}

func (h *slogHandler) Handle(_ context.Context, r slog.Record) error {
	level, ok := h.log.admit(fromSlog(r.Level), actorSystem)
	if !ok {
		return nil
	}
	ln := h.log.begin(level, actorSystem, clip(scrub(r.Message), maxText, maxText))
	for _, a := range h.attrs {
		ln.attr(a)
	}
	r.Attrs(func(a slog.Attr) bool {
		ln.attr(a)
		return true
	})
	ln.e.Send()
	return nil
}

func (h *slogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &slogHandler{log: h.log, attrs: slices.Concat(h.attrs, attrs)}
}

func (h *slogHandler) WithGroup(string) slog.Handler { return h }

// attr writes one attribute as text, or as a number where it is one.
func (l *line) attr(a slog.Attr) {
	v := a.Value.Resolve()
	switch {
	case a.Key == "message":
		l.str("msg_type", fmt.Sprintf("%T", v.Any()))
	case v.Kind() == slog.KindInt64:
		l.num(attrKey(a.Key), v.Int64())
	case v.Kind() == slog.KindDuration:
		l.ms(attrKey(a.Key)+"_ms", v.Duration())
	default:
		l.str(attrKey(a.Key), scrub(v.String()))
	}
}

// attrKey keeps a record from writing a key that every line has already.
func attrKey(key string) string {
	switch key {
	case "time", "level", "event", "instance_id":
		return "attr_" + key
	}
	return clip(key, 64, 64)
}

// fromSlog translates a level. What the actor library calls information, such as a
// letter to an actor that has ended, says nothing to whoever runs a fleet.
func fromSlog(l slog.Level) Level {
	switch {
	case l < slog.LevelWarn:
		return Debug
	case l < slog.LevelError:
		return Warn
	default:
		return Error
	}
}
