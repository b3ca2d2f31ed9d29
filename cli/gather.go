package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/doctor"
	"leasehold/fleetview"
	"leasehold/redisstore"
	"leasehold/session"
)

// gather reads all that can be read.
func (f *fleet) gather(ctx context.Context, b *bundle, how gathering) {
	b.add("version.json", func() (any, error) {
		return map[string]string{"version": f.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH}, nil
	})
	b.add("config.json", func() (any, error) { return f.settings(), nil })
	err := f.connected(ctx, func() error {
		f.gatherFleet(ctx, b, how)
		f.gatherRedis(ctx, b)
		return nil
	})
	if err != nil {
		b.failed("all that Redis has", err)
	}
}

func (f *fleet) settings() []settingRow {
	var rows []settingRow
	for _, s := range f.cfg.Settings() {
		rows = append(rows, settingRow{Name: s.Name, Value: s.Value, Source: s.Source})
	}
	return rows
}

// gatherFleet reads what the fleet has in Redis.
func (f *fleet) gatherFleet(ctx context.Context, b *bundle, how gathering) {
	b.add("doctor.json", func() (any, error) {
		return doctor.Run(ctx, f.client, f.cfg, func(error) string { return "" }), nil
	})
	b.add("status.json", func() (any, error) {
		sum, err := f.summary(ctx)
		if err != nil {
			return nil, err
		}
		return f.statusView(ctx, sum), nil
	})
	b.add("nodes.json", func() (any, error) {
		rows, _, err := f.nodeRows(ctx)
		return rows, err
	})
	b.add("cards.json", func() (any, error) {
		return f.store.LiveCards(ctx)
	})
	b.addText("sessions.jsonl", func(w *bytes.Buffer) error { return f.gatherSessions(ctx, w, how.noDocuments) })
	b.add("results.json", func() (any, error) { return f.gatherResults(ctx, how.results) })
}

// gatherSessions writes what is known of each session, a line each.
func (f *fleet) gatherSessions(ctx context.Context, w *bytes.Buffer, noDocuments bool) error {
	nodes, err := f.nodes(ctx)
	if err != nil {
		return err
	}
	now, err := f.clock(ctx)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	return f.readAll(ctx, nodes, func(some []fleetview.Session) error {
		for _, s := range some {
			row := newSessionRow(s, nodes, now())
			if noDocuments {
				row.Labels = nil
			} else if s.Problem == "" {
				row.Document, _ = session.Shown(s.Raw) // it was read already
			}
			if err := lines.Encode(row); err != nil {
				return err
			}
		}
		return nil
	})
}

// gatheredResult is what is told of one result: not what the target answered.
type gatheredResult struct {
	SessionID  string          `json:"session_id"`
	HolderID   string          `json:"holder_id"`
	Time       fleetview.Stamp `json:"time"`
	Class      string          `json:"class"`
	Status     int             `json:"status,omitempty"`
	DurationMS int64           `json:"duration_ms"`
	DelayMS    int64           `json:"delay_ms"`
	Token      string          `json:"token"`
	Sequence   string          `json:"sequence"`
}

// latestResults is how many results are in the file one by one.
const latestResults = 1000

// gatheredResults are the latest ones.
type gatheredResults struct {
	Classes map[string]int   `json:"classes"` // of all that were looked at
	Latest  []gatheredResult `json:"latest"`
}

// errNoStream says why there are no results.
var errNoStream = errors.New("there is no stream of results: LEASEHOLD_RESULT_STREAM is empty")

func (f *fleet) gatherResults(ctx context.Context, within int) (any, error) {
	if !f.store.HasResults() {
		return nil, errNoStream
	}
	all := gatheredResults{Classes: map[string]int{}, Latest: []gatheredResult{}}
	err := f.backwards(ctx, within, func(entry redisstore.ResultEntry) (bool, error) {
		e, ok := resultOf(entry)
		if !ok {
			return true, nil
		}
		all.Classes[e.Data.Class]++
		if len(all.Latest) < latestResults {
			all.Latest = append(all.Latest, gatheredResult{
				SessionID: e.Data.Session, HolderID: e.Data.Holder, Time: fleetview.Stamp(e.Time), Class: e.Data.Class,
				Status: e.Data.Status, DurationMS: e.Data.DurationMS, DelayMS: e.Data.DelayMS, Token: e.Token, Sequence: e.Sequence,
			})
		}
		return true, nil
	})
	return all, err
}

// gatherRedis reads what the server tells of itself, in a cluster each master.
func (f *fleet) gatherRedis(ctx context.Context, b *bundle) {
	servers, err := redisstore.Servers(ctx, f.client)
	if err != nil {
		b.failed("redis", err)
	}
	for _, s := range servers {
		folder := "redis/"
		if len(servers) > 1 {
			folder += folderName(s.Options().Addr) + "/"
		}
		for _, section := range []string{"server", "memory", "stats", "replication", "clients"} {
			b.addText(folder+section+".txt", func(w *bytes.Buffer) error {
				info, err := s.Info(ctx, section).Result()
				w.WriteString(info)
				return err
			})
		}
		b.add(folder+"slowlog.json", func() (any, error) { return slowlog(ctx, s) })
	}
}

// folderName is an address that every system takes as the name of a folder.
func folderName(addr string) string {
	return strings.NewReplacer(":", "-", "[", "", "]", "").Replace(addr)
}

// slowCommand is one entry of SLOWLOG. Arguments are documents, and passwords.
type slowCommand struct {
	Time      time.Time `json:"time"`
	TookUS    int64     `json:"took_us"`
	Command   string    `json:"command"`
	Arguments int       `json:"arguments"`
}

func slowlog(ctx context.Context, server *redis.Client) ([]slowCommand, error) {
	found, err := server.SlowLogGet(ctx, 128).Result()
	all := make([]slowCommand, 0, len(found))
	for _, entry := range found {
		if len(entry.Args) == 0 {
			continue
		}
		all = append(all, slowCommand{
			Time: entry.Time.UTC(), TookUS: entry.Duration.Microseconds(),
			Command: commandName(entry.Args[0]), Arguments: len(entry.Args) - 1,
		})
	}
	return all, err
}

// commandName is the name of a command, and nothing that is none.
func commandName(arg string) string {
	name := strings.ToUpper(arg)
	if len(name) > 20 || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_.") != "" {
		return "?"
	}
	return name
}
