package target

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"time"
)

// answer plays a behavior. It returns the status that was sent, zero for none, when
// the answer is complete or the client has gone.
func answer(w http.ResponseWriter, r *http.Request, b Behavior) int {
	if b.Hang {
		<-r.Context().Done()
		return 0
	}
	if !wait(r.Context(), b.Delay) {
		return 0
	}
	status := b.Status
	if status == 0 {
		status = http.StatusOK
	}
	switch {
	case b.To != "":
		if b.Status == 0 {
			status = http.StatusFound
		}
		w.Header().Set("Location", b.To)
		w.WriteHeader(status)
	case b.Gzip > 0:
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(status)
		zeros(r.Context(), w, b.Gzip)
	case b.Endless:
		w.WriteHeader(status)
		stream(r.Context(), w, 64<<10, 0)
	case b.Trickle > 0:
		w.WriteHeader(status)
		stream(r.Context(), w, 1, b.Trickle)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if hasBody(status) {
			_, _ = io.WriteString(w, text(b))
		}
	}
	return status
}

func text(b Behavior) string {
	if b.Body != "" {
		return b.Body
	}
	return `{"ok":true}` + "\n"
}

func hasBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// wait reports whether the time passed before the client went.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// stream writes pieces until the client goes.
func stream(ctx context.Context, w http.ResponseWriter, size int, pause time.Duration) {
	piece := bytes.Repeat([]byte("x"), size)
	out := http.NewResponseController(w)
	for ctx.Err() == nil {
		if _, err := w.Write(piece); err != nil {
			return
		}
		if out.Flush() != nil || !wait(ctx, pause) {
			return
		}
	}
}

func zeros(ctx context.Context, w io.Writer, mebibytes int) {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return
	}
	// Small pieces: that the client has gone is to be noticed soon.
	piece := make([]byte, 64<<10)
	for range mebibytes * (1 << 20 / len(piece)) {
		if ctx.Err() != nil {
			return
		}
		if _, err := z.Write(piece); err != nil {
			return
		}
	}
	_ = z.Close()
}
