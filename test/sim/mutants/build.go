package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// builder makes a test binary of each mutant.
type builder struct{ root, dir string }

// build returns the path of the binary.
func (b builder) build(ctx context.Context, n int, m mutant) (string, error) {
	work := filepath.Join(b.dir, strconv.Itoa(n))
	if err := os.MkdirAll(work, 0o700); err != nil {
		return "", err
	}
	overlay, err := b.overlay(work, m)
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.name, err)
	}
	out := filepath.Join(work, "sim.test")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-ldflags=-s -w", "-overlay", overlay, "-o", out, "./test/sim")
	cmd.Dir = b.root
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", m.name, err, text)
	}
	return out, nil
}

// overlay writes the mutant's files, and the list of what they replace.
func (b builder) overlay(work string, m mutant) (string, error) {
	texts, err := b.broken(m)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, text := range texts {
		file := filepath.Join(work, strings.ReplaceAll(filepath.Base(path), "_test.go", "_.go"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[path] = file
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(work, "overlay.json")
	return file, os.WriteFile(file, list, 0o600)
}

// broken returns the mutant's texts by their paths.
func (b builder) broken(m mutant) (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range m.edits {
		path := filepath.Join(b.root, e.file)
		text, ok := texts[path]
		if !ok {
			read, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			text = string(read)
		}
		if n := strings.Count(text, e.from); n != 1 {
			return nil, fmt.Errorf("%s has %d times %q", e.file, n, e.from)
		}
		texts[path] = strings.Replace(text, e.from, e.to, 1)
	}
	return texts, nil
}
