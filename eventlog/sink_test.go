package eventlog_test

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"leasehold/eventlog"
)

// deserted is a pipe whose reader comes and goes.
type deserted struct {
	bytes.Buffer

	read bool
}

func (d *deserted) Write(p []byte) (int, error) {
	if !d.read {
		return 0, syscall.EPIPE
	}
	return d.Buffer.Write(p)
}

func TestLinesThatNobodyReadsAreCountedAndTheNextReaderIsTold(t *testing.T) {
	for _, format := range []eventlog.Format{eventlog.JSON, eventlog.Console} {
		synctest.Test(t, func(t *testing.T) {
			w := &deserted{}
			log := eventlog.New(w, eventlog.Options{Format: format})
			for range 3 {
				log.Emit(eventlog.RedisUp{})
				synctest.Wait()
			}
			if got := log.Lost(); got != 3 {
				t.Errorf("%s: %d lines count as lost, want 3", format, got)
			}
			w.read = true
			log.Emit(eventlog.RedisUp{})
			synctest.Wait()
			log.Emit(eventlog.RedisUp{})
			log.Close()
			if told := w.String(); strings.Count(told, "count") != 1 || !strings.Contains(strings.ReplaceAll(told, `"count":3`, "count=3"), "count=3") ||
				strings.Count(told, "Redis answers again") != 2 {
				t.Errorf("%s: the next reader reads\n%s", format, told)
			}
			if got := log.Lost(); got != 3 {
				t.Errorf("%s: %d lines count as lost in the end, want 3", format, got)
			}
		})
	}
}
