package redisstore

import (
	"context"
	_ "embed" // the scripts

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed scripts/prelude/foreign.lua
	prelude string
	//go:embed scripts/acquire.lua
	acquireSource string
	//go:embed scripts/renew.lua
	renewSource string
	//go:embed scripts/release.lua
	releaseSource string
	//go:embed scripts/read.lua
	readSource string
	//go:embed scripts/look.lua
	lookSource string
	//go:embed scripts/members.lua
	membersSource string
	//go:embed scripts/begin.lua
	beginSource string
	//go:embed scripts/finish.lua
	finishSource string
	//go:embed scripts/ask.lua
	askSource string
	//go:embed scripts/note.lua
	noteSource string
)

// scripts are the ones that write leases and states, and those that read much in one
// command; each file's header is its contract.
type scripts struct {
	acquire, renew, release, read, look, members, begin, finish, ask, note *redis.Script

	sources []string // of all of them
}

func newScripts() scripts {
	var sources []string
	script := func(source string) *redis.Script {
		source = prelude + source
		sources = append(sources, source)

		return redis.NewScript(source)
	}
	s := scripts{
		acquire: script(acquireSource),
		renew:   script(renewSource),
		release: script(releaseSource),
		read:    script(readSource),
		look:    script(lookSource),
		members: script(membersSource),
		begin:   script(beginSource),
		finish:  script(finishSource),
		ask:     script(askSource),
		note:    script(noteSource),
	}
	s.sources = sources

	return s
}

// load loads all of them in one round trip. A server that does not know one has been
// restarted and knows none, and the next to be missed may be one that a takeover waits for.
func (s scripts) load(ctx context.Context, server redis.Cmdable) error {
	p := server.Pipeline()
	for _, source := range s.sources {
		p.ScriptLoad(ctx, source) // Script.Load would take its hash from the reply, which is not there yet
	}
	_, err := p.Exec(ctx)

	return err
}
