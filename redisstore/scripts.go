package redisstore

import (
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
}

func newScripts() scripts {
	script := func(source string) *redis.Script { return redis.NewScript(prelude + source) }
	return scripts{
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
}
