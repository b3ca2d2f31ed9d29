package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// bundle is what goes into the file.
type bundle struct {
	parts    []part
	manifest strings.Builder
	missing  []string
}

type part struct {
	name string
	text []byte
}

func newBundle() *bundle {
	b := &bundle{}
	fmt.Fprintf(&b.manifest, "What leasehold support gathered at %s\n\n", time.Now().UTC().Format(time.RFC3339))
	return b
}

// add adds a part as JSON.
func (b *bundle) add(name string, get func() (any, error)) {
	b.addText(name, func(w *bytes.Buffer) error {
		v, err := get()
		if err != nil {
			return err
		}
		out := json.NewEncoder(w)
		out.SetEscapeHTML(false)
		out.SetIndent("", "  ")
		return out.Encode(v)
	})
}

// addText adds a part, or what there is of it, and says what is missing.
func (b *bundle) addText(name string, write func(*bytes.Buffer) error) {
	var text bytes.Buffer
	err := write(&text)
	if text.Len() > 0 {
		b.parts = append(b.parts, part{name, text.Bytes()})
	}
	if err != nil {
		b.failed(name, err)
		return
	}
	fmt.Fprintf(&b.manifest, "ok       %s (%d bytes)\n", name, text.Len())
}

func (b *bundle) failed(name string, err error) {
	reason := oneLine(err)
	fmt.Fprintf(&b.manifest, "partial  %s: %s\n", name, reason)
	b.missing = append(b.missing, name+" is not, or not all, in the file: "+reason)
}

// write writes the archive, MANIFEST first.
func (b *bundle) write(out *os.File) error {
	zipped := gzip.NewWriter(out)
	archive := tar.NewWriter(zipped)
	now := time.Now()
	for _, p := range append([]part{{"MANIFEST", []byte(b.manifest.String())}}, b.parts...) {
		header := &tar.Header{Name: "leasehold-support/" + p.name, Mode: 0o600, Size: int64(len(p.text)), ModTime: now}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(p.text); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), zipped.Close())
}
