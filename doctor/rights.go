package doctor

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"leasehold/config"
	"leasehold/redisevents"
	"leasehold/rediskey"
)

// Right is one thing that the fleet's user of Redis must be allowed.
type Right struct {
	// Rule is what ACL SETUSER takes for it.
	Rule string
	// Optional says that nodes work without, at a price.
	Optional string

	// try does what needs it, and changes nothing but throwaway keys.
	try func(ctx context.Context, p *patient) error
}

// Scope is what the rules of a fleet's user depend on.
type Scope struct {
	Keys    rediskey.Keys
	Stream  string // of results; empty: none
	DB      int
	Cluster bool
}

func scopeOf(cfg config.Config) Scope {
	s := Scope{Keys: cfg.Keys, Stream: cfg.ResultStream, Cluster: len(cfg.Redis) > 1}
	if o, err := redis.ParseURL(string(cfg.Redis[0])); err == nil {
		s.DB = o.DB
	}
	return s
}

// SetUser returns the command that makes a user of all rights and no others. PASSWORD
// stands in it for the password.
func (s Scope) SetUser(name string) string {
	line := []string{"ACL SETUSER", name, "on >PASSWORD resetkeys resetchannels -@all"}
	for _, r := range s.Rights() {
		line = append(line, r.Rule)
	}
	return strings.Join(line, " ")
}

// Rights are all that a node, its API and leasemanager need where Redis' own
// configuration has notify-keyspace-events. CONFIG SET, with which nodes set it
// otherwise, is not among them: it would allow every other setting too.
func (s Scope) Rights() []Right {
	return slices.Concat(s.keyRights(), s.channelRights(), s.commandRights())
}

func (s Scope) keyRights() []Right {
	all := []Right{
		{Rule: "~" + rediskey.Glob(s.Keys.Prefix), try: func(ctx context.Context, p *patient) error {
			t := p.throwaway()
			for _, key := range []string{t.Lease("x"), p.cfg.Keys.Lease(doctorPart + p.random), p.cfg.Keys.State(doctorPart + p.random), p.cfg.Keys.Node(doctorPart + p.random)} {
				if err := errors.Join(p.do(ctx, "GET", key), p.do(ctx, "DEL", key)); err != nil {
					return err
				}
			}
			return nil
		}},
		{Rule: "%R~" + s.Keys.SessionGlob(), try: func(ctx context.Context, p *patient) error {
			return p.do(ctx, "GET", p.cfg.Keys.Session(doctorPart+p.random))
		}},
	}
	if s.Stream != "" && !strings.HasPrefix(s.Stream, s.Keys.Prefix) {
		all = append(all, Right{Rule: "~" + strings.TrimSuffix(rediskey.Glob(s.Stream), "*"), try: impossibleEntry})
	}
	return all
}

// impossibleEntry asks for an entry of the stream that no stream takes.
func impossibleEntry(ctx context.Context, p *patient) error {
	stream := p.cfg.ResultStream
	if stream == "" {
		stream = p.throwaway().Lease("stream")
	}
	return p.do(ctx, "XADD", stream, "NOMKSTREAM", "0-0", "a", "b")
}

func (s Scope) channelRights() []Right {
	const price = "nodes notice changes by the scan only"
	channels := redisevents.Channels(s.Keys, s.DB)
	all := make([]Right, len(channels))
	for i, ch := range channels {
		all[i] = Right{Rule: ch.Rule, Optional: price, try: func(ctx context.Context, p *patient) error {
			return p.subscribe(ctx, ch)
		}}
	}
	return all
}

// subscribe asks for one channel, and listens no longer than the answer takes.
func (p *patient) subscribe(ctx context.Context, ch redisevents.Channel) error {
	sub := p.rdb.Subscribe(ctx)
	defer func() { _ = sub.Close() }()
	ask := sub.Subscribe
	if ch.Pattern {
		ask = sub.PSubscribe
	}
	if err := ask(ctx, ch.Name); err != nil {
		return err
	}
	_, err := sub.Receive(ctx)
	return err
}

// do runs a command and returns only whether it was refused, or is none of this server's.
func (p *patient) do(ctx context.Context, args ...any) error {
	if err := p.rdb.Do(ctx, args...).Err(); denied(err) || absent(err) {
		return err
	}
	return nil
}

// command is a right to one command, tried with the arguments.
func command(name, optional string, args ...any) Right {
	words := strings.Fields(strings.ReplaceAll(name, "|", " "))
	return Right{Rule: "+" + name, Optional: optional, try: func(ctx context.Context, p *patient) error {
		line := make([]any, 0, len(words)+len(args))
		for _, w := range words {
			line = append(line, w)
		}
		for _, a := range args {
			if f, ok := a.(func(*patient) string); ok {
				a = f(p)
			}
			line = append(line, a)
		}
		return p.do(ctx, line...)
	}}
}

func (s Scope) commandRights() []Right {
	const (
		blind = "a restart or failover of Redis is not told from a lost connection"
		flags = "nobody sees whether notify-keyspace-events is set"
		api   = "the API can't show results as they come"
	)
	text := func(p *patient) string { return p.throwaway().Lease("text") }
	all := []Right{
		command("ping", ""), command("client|setname", "", "leasehold:doctor"), command("time", ""),
		command("info", blind, "server"), command("config|get", flags, "hz"),
		command("scan", "", "0", "MATCH", text, "COUNT", "1"), command("type", "", text), command("exists", "", text),
		command("get", "", text), command("mget", "", text),
		command("set", "", text, "1", "PX", "2000"), command("pttl", "", text),
		command("pexpire", "", text, "1000"), command("del", "", text),
		// On a text, so that nothing is left of it.
		command("hset", "", text, "a", "1"), command("hget", "", text, "a"), command("hmget", "", text, "a"),
		command("hincrby", "", text, "a", "1"), command("hdel", "", text, "a"),
		command("evalsha", "", strings.Repeat("0", 40), "0"), command("script|load", "", "return 1"),
		{Rule: "+xadd", try: impossibleEntry},
		command("xread", api, "COUNT", "1", "STREAMS", text, "$"),
		command("xrevrange", api, text, "+", "-", "COUNT", "1"),
		command("publish", "nodes can't prove that their subscription is alive", func(p *patient) string {
			all := redisevents.Channels(p.cfg.Keys, 0)
			return all[len(all)-1].Name
		}, "1"),
		{Rule: "+subscribe", try: listening(false)},
		{Rule: "+psubscribe", try: listening(true)},
	}
	if s.DB != 0 {
		all = append(all, command("select", "", s.DB))
	}
	if s.Cluster {
		all = append(all, command("cluster|slots", ""), command("command", ""), command("getrange", "", text, "0", "1"))
	}
	return all
}

// listening tries the first channel of that kind.
func listening(pattern bool) func(ctx context.Context, p *patient) error {
	return func(ctx context.Context, p *patient) error {
		for _, ch := range redisevents.Channels(p.cfg.Keys, scopeOf(p.cfg).DB) {
			if ch.Pattern == pattern {
				return p.subscribe(ctx, ch)
			}
		}
		return nil
	}
}

// lacking are the rights that something keeps from the fleet.
type lacking struct {
	needed, useful []string // by their rules
	prices         []string // of the useful ones
}

func (l *lacking) add(r Right) {
	if r.Optional == "" {
		l.needed = append(l.needed, r.Rule)
		return
	}
	l.useful = append(l.useful, r.Rule)
	if !slices.Contains(l.prices, r.Optional) {
		l.prices = append(l.prices, r.Optional)
	}
}

// findings says it of each, where fix is what allows the rules.
func (l *lacking) findings(who string, fix func(rules []string) string) []Finding {
	var found []Finding
	if len(l.needed) > 0 {
		found = append(found, unsafe(fix(l.needed), "%s lacks %s", who, strings.Join(l.needed, " ")))
	}
	if len(l.useful) > 0 {
		found = append(found, warning(fix(l.useful), "%s lacks %s: %s", who, strings.Join(l.useful, " "), strings.Join(l.prices, "; ")))
	}
	return found
}

// rights tries each, and names those that are missing: what the user may not do, and
// commands that the server was told to forget.
func rights(ctx context.Context, p *patient) []Finding {
	var user, server lacking
	all := scopeOf(p.cfg).Rights()
	for _, r := range all {
		switch err := r.try(ctx, p); {
		case absent(err) && r.Rule[0] == '+':
			server.add(r)
		case denied(err) && blames(err, r.Rule):
			user.add(r)
		}
	}
	_ = p.rdb.Del(ctx, p.throwaway().Lease("text")).Err() // it has a TTL
	found := user.findings("the user "+p.user(), func(rules []string) string {
		return "ACL SETUSER " + p.user() + " " + strings.Join(rules, " ")
	})
	found = append(found, server.findings("the server", func(rules []string) string {
		return "use a server that has " + strings.Join(commandsOf(rules), ", ") + ", or remove the rename-command of each from its configuration"
	})...)
	if len(found) == 0 {
		found = append(found, fine("the user %s has all %d", p.user(), len(all)))
	}
	return found
}

// commandsOf are the commands that the rules allow.
func commandsOf(rules []string) []string {
	var all []string
	for _, rule := range rules {
		name, _, _ := strings.Cut(strings.TrimPrefix(rule, "+"), "|")
		if name = strings.ToUpper(name); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// blames reports whether the refusal is about the kind of thing that the rule allows:
// a command that may not be run says nothing about its keys.
func blames(err error, rule string) bool {
	text := err.Error()
	about := func(word string) bool { return strings.Contains(text, word) }
	switch rule[0] {
	case '+':
		return about(" command") || about("permissions to run")
	case '&':
		return about("channel")
	default:
		return about("key") && !about("permissions to run")
	}
}

// user is the name of the user that the address has.
func (p *patient) user() string {
	if u, err := url.Parse(string(p.cfg.Redis[0])); err == nil && u.User.Username() != "" {
		return u.User.Username()
	}
	return "default"
}
