package redistest_test

import (
	"context"
	"net"
	"regexp"
	"strings"

	"github.com/alicebob/miniredis/v2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
)

// cases are scripts whose answers are those of miniredis.
var cases = map[string]string{
	"nil":              `return nil`,
	"true and false":   `return {true, false, 1}`,
	"numbers":          `return {1, 2.9, -3}`,
	"a list that ends": `return {1, nil, 3}`,
	"nested":           `return {{'a', {KEYS[1]}}, ARGV[1], ARGV[2]}`,
	"ok":               `return redis.call('SET', KEYS[1], 'v')`,
	"status":           `return redis.status_reply('FINE')`,
	"error":            `return redis.error_reply('WRONG it is')`,
	"short error":      `return redis.error_reply('wrong')`,
	"error's text":     `return redis.pcall('HGET', 'text', 'f').err`,
	"raised":           `return redis.call('HGET', 'text', 'f')`,
	"type error":       `return nil .. 'x'`,
	"syntax error":     `return return`,
	"unknown":          `return redis.pcall('NOSUCH').err`,
	"unknown, raised":  `return redis.call('NOSUCH')`,
	"missing":          `return {redis.call('GET', 'nothing'), redis.call('HMGET', 'h', 'a', 'b')}`,
	"hash":             `redis.call('HSET', 'h', 'a', 1, 'b', 'two') return redis.call('HGETALL', 'h')`,
	"a number as key":  `redis.call('SET', 7, 1.5) return redis.call('GET', '7')`,
	"of scripts":       `return redis.pcall('EVAL', 'return 1', 0).err`,
	"bad argument":     `return redis.call('SET', {}, 1)`,
	"global":           `x = 1`,
	"no such global":   `return y`,
	"sha1hex":          `return redis.sha1hex('')`,
	"json":             `return cjson.encode({a = 1})`,
	"binary":           "return '\\0\\r\\n\\255' .. ARGV[1]",
	"strings":          `return string.format('%.0f %s', 2^53, string.sub(KEYS[1], 2))`,
}

// line is where an error was: miniredis names lines of its own.
var line = regexp.MustCompile(`:\d+:`)

var _ = Describe("scripts", func() {
	ctx := context.Background()
	for name, script := range cases {
		It("answers as miniredis does: "+name, func() {
			inBubble(func(g Gomega, _ *redistest.Mini, l *redistest.Link) {
				plain := miniredis.NewMiniRedis()
				defer plain.Close()
				o := redistest.Options("127.0.0.1:6379")
				o.Dialer = func(context.Context, string, string) (net.Conn, error) { return plain.Dial() }
				theirs, ours := redis.NewClient(o), l.Client()
				defer func() { _, _ = theirs.Close(), ours.Close() }()
				run := func(c *redis.Client) (any, string) {
					g.Expect(c.Set(ctx, "text", "v", 0).Err()).To(Succeed())
					v, err := c.Eval(ctx, script, []string{"key"}, "1", "").Result()
					if err != nil {
						text, _, _ := strings.Cut(err.Error(), "stack traceback")
						return nil, line.ReplaceAllString(text, ":n:")
					}
					return v, ""
				}
				value, failure := run(theirs)
				got, gotFailure := run(ours)
				if value == nil {
					g.Expect(got).To(BeNil())
				} else {
					g.Expect(got).To(Equal(value))
				}
				g.Expect(gotFailure).To(Equal(failure))
				g.Expect(ours.Ping(ctx).Err()).To(Succeed())
			})
		})
	}

	It("are known by their SHA once loaded or run, until they are flushed", func() {
		inBubble(func(g Gomega, _ *redistest.Mini, l *redistest.Link) {
			c := l.Client()
			defer func() { _ = c.Close() }()
			sha := c.ScriptLoad(ctx, "return KEYS[1]").Val()
			g.Expect(c.EvalSha(ctx, sha, []string{"k"}).Val()).To(Equal("k"))
			ran := redis.NewScript("return 2")
			g.Expect(c.EvalSha(ctx, ran.Hash(), nil).Err()).To(MatchError(ContainSubstring("NOSCRIPT")))
			g.Expect(c.Eval(ctx, "return 2", nil).Val()).To(Equal(int64(2)))
			g.Expect(c.EvalSha(ctx, ran.Hash(), nil).Val()).To(Equal(int64(2)))
			g.Expect(c.ScriptExists(ctx, sha, ran.Hash()).Val()).To(Equal([]bool{true, true}))
			g.Expect(c.ScriptFlush(ctx).Err()).To(Succeed())
			g.Expect(c.EvalSha(ctx, sha, nil).Err()).To(MatchError(ContainSubstring("NOSCRIPT")))
			g.Expect(c.ScriptExists(ctx, sha).Val()).To(Equal([]bool{false}))
		})
	})

	It("work on the database of their client, and in transactions", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c := l.Client(func(o *redis.Options) { o.DB = 3 })
			defer func() { _ = c.Close() }()
			const script = "return redis.call('INCR', KEYS[1])"
			g.Expect(c.Eval(ctx, script, []string{"k"}).Val()).To(Equal(int64(1)))
			cmds, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Eval(ctx, script, []string{"k"})
				p.EvalSha(ctx, redis.NewScript(script).Hash(), []string{"k"})
				return nil
			})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(cmds[1].(*redis.Cmd).Val()).To(Equal(int64(3)))
			g.Expect(m.DB(3).Get("k")).To(Equal("3"))
			g.Expect(m.DB(0).Exists("k")).To(BeFalse())
		})
	})
})
