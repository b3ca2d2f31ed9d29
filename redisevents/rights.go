package redisevents

import "leasehold/rediskey"

// ExpiredPattern is what PSUBSCRIBE takes to hear of keys that ran out.
const ExpiredPattern = keyevent + "*" + middle + nameExpired

// Channel is one thing that a listener subscribes to.
type Channel struct {
	// Name is for SUBSCRIBE, or for PSUBSCRIBE where Pattern is true.
	Name    string
	Pattern bool
	// Rule is what allows it in an ACL.
	Rule string
}

// Channels names all that listeners of these keys subscribe to, for canaries one of two,
// which is the last, and which they publish to as well.
func Channels(keys rediskey.Keys, db int) []Channel {
	named := channelsOf(&Config{Keys: keys, DB: db, Takings: true}, "doctor")
	all := make([]Channel, len(named))
	for i, ch := range named {
		all[i] = Channel{Name: ch.name, Pattern: ch.pattern, Rule: "&" + ch.name}
	}
	all = all[:len(all)-canaryChannels+1] // one rule is for both
	all[len(all)-1].Rule = "&" + rediskey.Glob(canaries(keys))
	return all
}
