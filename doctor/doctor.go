package doctor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/config"
	"leasehold/redisinfo"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

// callLimit bounds each check of one server.
const callLimit = 5 * time.Second

// patient is who is looked at: the settings, and one server.
type patient struct {
	cfg    config.Config
	client redis.UniversalClient // of the fleet
	rdb    *redis.Client         // of this server
	addr   string                // empty where there is one server only
	random string                // marks the throwaway keys

	info    string // the answer to INFO
	refused error  // why there is none
}

// check is one look. It returns one finding, or more where several things are wrong.
type check struct {
	name string
	run  func(ctx context.Context, p *patient) []Finding
}

// checks are what every server is looked at for, in this order.
func checks() []check {
	return []check{
		{"version", version},
		{"role", role},
		{"rights", rights},
		{"scripts", scripts},
		{"events", flags},
		{"expiry", expiry},
		{"memory", memory},
		{"persistence", persistence},
		{"hz", hz},
		{"round-trip", roundTrip},
		{"clock", clock},
		{"keys", collisions},
	}
}

// Run looks at the settings and, through the client, at each server. The client must
// not set a name for its connections: whether that is allowed is one of the questions.
func Run(ctx context.Context, client redis.UniversalClient, cfg config.Config, advice func(error) string) Report {
	r := &list{}
	servers, err := servers(ctx, client)
	if err != nil {
		r.add("contact", "", []Finding{unsafe(advice(err), "%s: %v", contact(err), err)})
		return Report{Findings: *r}
	}
	r.add("contact", "", []Finding{fine("Redis answers (servers: %d)", len(servers))})
	for _, c := range checks() {
		for _, s := range servers {
			p := &patient{cfg: cfg, client: client, rdb: s, random: random()}
			if len(servers) > 1 {
				p.addr = s.Options().Addr
			}
			r.add(c.name, p.addr, p.look(ctx, c))
		}
	}
	r.add("settings", "", settings(cfg))
	r.add("members", "", members(ctx, client, cfg))
	return Report{Findings: *r}
}

func (p *patient) look(ctx context.Context, c check) []Finding {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	p.info, p.refused = p.rdb.Info(ctx).Result()
	return c.run(ctx, p)
}

// list collects findings.
type list []Finding

func (r *list) add(name, addr string, found []Finding) {
	for _, f := range found {
		f.Check, f.Server = name, addr
		*r = append(*r, f)
	}
}

// servers returns a client of each server, or why there is no answer.
func servers(ctx context.Context, client redis.UniversalClient) ([]*redis.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	all, err := redisstore.Servers(ctx, client)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if err := s.Ping(ctx).Err(); err != nil && !answered(err) {
			return nil, err
		}
	}
	return all, nil
}

// contact says what became of the first question.
func contact(err error) string {
	if _, replied := errors.AsType[redis.Error](err); replied {
		return "Redis refuses to answer"
	}
	return "Redis does not answer"
}

// answered reports whether the server takes us, if not this command.
func answered(err error) bool { return denied(err) || absent(err) }

// absent reports whether the server has no such command: it may have been renamed.
func absent(err error) bool {
	return err != nil && (strings.HasPrefix(err.Error(), "ERR unknown command") || strings.HasPrefix(err.Error(), "ERR unknown subcommand"))
}

// denied reports whether the user lacks a right.
func denied(err error) bool {
	return err != nil && (strings.HasPrefix(err.Error(), "NOPERM") || strings.Contains(err.Error(), "ACL failure"))
}

func (p *patient) field(name string) string { return redisinfo.Field(p.info, name) }

// setting returns a setting of the server.
func (p *patient) setting(ctx context.Context, name string) (string, error) {
	all, err := p.rdb.ConfigGet(ctx, name).Result()
	if err != nil {
		return "", err
	}
	value, told := all[name]
	if !told {
		return "", fmt.Errorf("ERR unknown command: CONFIG GET does not tell %s", name)
	}
	return value, nil
}

// throwaway are the keys that may be written.
func (p *patient) throwaway() rediskey.Keys {
	prefix := p.cfg.Keys.Prefix + doctorPart + p.random + ":"
	return rediskey.Keys{Prefix: prefix, SessionPrefix: prefix + "session:"}
}

const doctorPart = "doctor:"

func random() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return hex.EncodeToString(b[:])
}

func fine(format string, args ...any) Finding {
	return Finding{Level: OK, Found: fmt.Sprintf(format, args...)}
}

func unknown(fix, format string, args ...any) Finding {
	return Finding{Level: Unknown, Found: fmt.Sprintf(format, args...), Fix: fix}
}

func warning(fix, format string, args ...any) Finding {
	return Finding{Level: Warning, Found: fmt.Sprintf(format, args...), Fix: fix}
}

func unsafe(fix, format string, args ...any) Finding {
	return Finding{Level: Unsafe, Found: fmt.Sprintf(format, args...), Fix: fix}
}
