package redisevents

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Flags asks a server for its notification flags, and says which of the needed ones it
// lacks. Nothing is changed. The error may be a refusal: many managed services don't tell.
func Flags(ctx context.Context, c *redis.Client) (have, missing string, err error) {
	have, err = readFlags(ctx, c)
	if err != nil {
		return "", "", err
	}
	return have, MissingFlags(have), nil
}
