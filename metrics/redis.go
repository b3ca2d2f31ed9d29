package metrics

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// pipeline stands for several commands that went out together.
const pipeline = "pipeline"

// commands returns those that the program sends.
func commands() []string {
	return []string{
		"evalsha", "script", "get", "mget", "set", "del", "exists", "pttl", "pexpire", "scan", "publish", "ping", "info", "config",
		"time", "xadd", "xread", "xrevrange", "hset", "hget", "cluster", "command", "hello", "client", "auth", "select",
	}
}

// command is what is counted of one.
type command struct {
	calls, failures prometheus.Counter
}

// redisHook counts what goes through a client. It is on the way of every poll.
type redisHook struct {
	by       map[string]*command
	rest     *command
	single   prometheus.Observer
	together prometheus.Observer
}

// Redis returns a hook that counts a client's commands; nil where there are no metrics.
// Call it once.
func (m *Metrics) Redis() redis.Hook {
	if m == nil {
		return nil
	}
	mk := maker{registry: m.registry}
	calls := mk.counterVec("redis_commands_total", "Commands sent to Redis, the event subscription's aside.", "command")
	failures := mk.counterVec("redis_command_errors_total", "Commands that Redis refused or did not answer.", "command")
	took := mk.histograms("redis_call_seconds", "How long single commands took, and pipelines of several as a whole.",
		[]float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}, "call", "single", pipeline)
	h := &redisHook{by: make(map[string]*command), single: took.of("single"), together: took.of(pipeline)}
	of := func(name string) *command {
		return &command{calls: calls.WithLabelValues(name), failures: failures.WithLabelValues(name)}
	}
	for _, name := range commands() {
		h.by[name] = of(name)
	}
	h.rest = of(other)
	return h
}

// DialHook implements [redis.Hook].
func (*redisHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (h *redisHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmd)
		h.single.Observe(time.Since(began).Seconds())
		h.count(cmd, err)
		return err
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (h *redisHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmds)
		h.together.Observe(time.Since(began).Seconds())
		for _, cmd := range cmds {
			h.count(cmd, cmd.Err())
		}
		return err
	}
}

func (h *redisHook) count(cmd redis.Cmder, err error) {
	c, ok := h.by[cmd.Name()]
	if !ok {
		c = h.rest
	}
	c.calls.Inc()
	if err != nil && !errors.Is(err, redis.Nil) {
		c.failures.Inc()
	}
}
