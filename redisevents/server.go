package redisevents

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const flagSetting = "notify-keyspace-events"

// errUntold says that the server answers CONFIG GET without the setting.
var errUntold = errors.New("the server does not tell " + flagSetting)

// flagState is what is known about a server's flags.
type flagState struct {
	known   bool
	have    string // the flags as they are now
	missing string // needed and not set
	added   bool   // some were missing before and are set now
	refused error  // why they are unknown or missing
}

// ok reports whether the server announces all that the listener needs.
func (f flagState) ok() bool { return f.known && f.missing == "" }

// problem says in one line what is wrong with the flags; empty when nothing is.
func (f flagState) problem() string {
	switch {
	case f.ok():
		return ""
	case !f.known:
		return fmt.Sprintf("%s is unknown: %v", flagSetting, f.refused)
	default:
		return fmt.Sprintf("%s is %q and lacks %q, which could not be set: %v",
			flagSetting, f.have, f.missing, f.refused)
	}
}

// privateOptions are those of the caller's client, bounded and without retries,
// for a client of one connection besides its subscription.
func privateOptions(o *redis.Options, call time.Duration) *redis.Options {
	private := *o
	private.Protocol = 2 // no push messages: RESP3 had bugs that lose pub/sub messages
	private.MaxRetries = -1
	private.ContextTimeoutEnabled = true
	private.DialTimeout, private.ReadTimeout, private.WriteTimeout = call, call, call
	private.PoolTimeout = call
	private.DialerRetries = 1
	private.PoolSize, private.MaxActiveConns, private.MinIdleConns, private.MaxIdleConns = 1, 0, 0, 0
	private.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &private
}

// ensureFlags reads the server's flags and adds what is missing. A refusal is part
// of the state; the error says that the server could not be asked.
func ensureFlags(ctx context.Context, c *redis.Client) (flagState, error) {
	have, err := readFlags(ctx, c)
	if err != nil {
		if refusal(err) {
			return flagState{refused: err}, nil
		}
		return flagState{}, err
	}
	state := flagState{known: true, have: have, missing: MissingFlags(have)}
	if state.missing == "" {
		return state, nil
	}
	if err := c.ConfigSet(ctx, flagSetting, unionFlags(have)).Err(); err != nil {
		if refusal(err) {
			state.refused = err
			return state, nil
		}
		return flagState{}, err
	}
	have, err = readFlags(ctx, c)
	if err != nil {
		return flagState{}, err
	}
	return flagState{
		known: true, have: have, missing: MissingFlags(have), added: true,
		refused: errors.New("set, but not kept"),
	}, nil
}

func readFlags(ctx context.Context, c redis.Cmdable) (string, error) {
	settings, err := c.ConfigGet(ctx, flagSetting).Result()
	if err != nil {
		return "", err
	}
	flags, told := settings[flagSetting]
	if !told {
		return "", errUntold
	}
	return flags, nil
}

// identify asks the server who it is. A server that refuses to tell has an unknown
// identity; the error says that it could not be asked.
func identify(ctx context.Context, c *redis.Client) (identity, error) {
	// One after the other: a pipeline would take a connection of its own, out of
	// the library's second pool, and could meet another server.
	var text strings.Builder
	for _, section := range []string{"server", "replication"} {
		answer, err := c.Info(ctx, section).Result()
		if err != nil {
			if refusal(err) {
				return identity{}, nil
			}
			return identity{}, err
		}
		text.WriteString(answer + "\n")
	}
	return parseIdentity(text.String()), nil
}

// refusal reports whether the server answered, and the answer will be the same
// next time.
func refusal(err error) bool {
	if errors.Is(err, errUntold) {
		return true
	}
	if answer, ok := errors.AsType[redis.Error](err); !ok || errors.Is(answer, redis.Nil) {
		return false
	}
	for _, passing := range []string{
		"LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "READONLY", "OOM",
		"MISCONF", "ERR max number of clients", "max number of clients", "NOAUTH", "WRONGPASS",
	} {
		if strings.HasPrefix(err.Error(), passing) {
			return false
		}
	}
	return true
}
