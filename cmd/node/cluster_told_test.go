//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// telling is what is told of a lease or of a node that has gone.
type telling struct {
	SessionID  string `json:"session_id"`
	HolderID   string `json:"holder_id"`
	Version    int64  `json:"version"`
	InstanceID string `json:"instance_id"`
}

// tellings are what those who listen were told.
type tellings struct {
	mu  sync.Mutex
	all map[string][]telling
	raw map[string][]string
}

func (l *tellings) heard() map[string][]telling {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.all)
}

// lines returns all that one was told.
func (l *tellings) lines(who string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.raw[who])
}

func (l *tellings) read(who, line string) {
	var t telling
	_, data, _ := strings.Cut(line, "{")
	_ = json.Unmarshal([]byte("{"+data), &t)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.raw[who] = append(l.raw[who], line)
	if t != (telling{}) {
		l.all[who] = append(l.all[who], t)
	}
}

func (l *tellings) follow(who string, from io.Reader) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		l.read(who, lines.Text())
	}
}

// follows listens to the changes by the command and over HTTP.
func (o *clustered) follows(api string) *tellings {
	o.t.Helper()
	const command, notes, route = "events", "what events says of itself", "/api/v1/events"
	told := &tellings{all: map[string][]telling{command: nil, route: nil}, raw: map[string][]string{}}
	cmd := o.command("events", "-o", "jsonl", "--types", "lease.taken,node.gone")
	out, err := cmd.StdoutPipe()
	errs, err2 := cmd.StderrPipe()
	if err := errors.Join(err, err2, cmd.Start()); err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	go told.follow(command, out)
	go told.follow(notes, errs)
	resp, err := http.Get("http://" + api + route + "?types=lease,node")
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { _ = resp.Body.Close() })
	go told.follow(route, resp.Body)
	o.until("the command listens", func() bool { return slices.Contains(told.lines(notes), "leasehold: listening") })
	o.until("the route listens", func() bool { return slices.Contains(told.lines(route), `data: {"reason":"start"}`) })
	if got := told.lines(command); len(got) > 0 {
		o.t.Errorf("before anything happened events says %q", got)
	}
	if got := told.lines(notes); len(got) != 1 {
		o.t.Errorf("events says of itself %q", got)
	}
	return told
}
