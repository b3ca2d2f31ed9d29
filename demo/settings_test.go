package demo

import (
	"maps"
	"strings"
	"testing"

	"leasehold/config"
	"leasehold/rediskey"
)

// Who types what the demo shows has the settings that nodes must share.
func TestTheFleetIsLookedAtWithTheNodesSettings(t *testing.T) {
	b := &backend{url: "redis://127.0.0.1:1234/0", keys: rediskey.Default(), own: true}
	text := look("bin/leasehold", b)
	if !strings.Contains(text, "LEASEHOLD_REDIS_URL=redis://127.0.0.1:1234/0 bin/leasehold status\n") {
		t.Error(text)
	}
	var typed []string
	for word := range strings.FieldsSeq(text) {
		if strings.HasPrefix(word, "LEASEHOLD_") {
			typed = append(typed, word)
		}
	}
	mine, err := config.Load(typed, nil)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := config.Load(nodeEnviron(nil, b, "node-1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(mine.Shared(), theirs.Shared()) {
		t.Errorf("%v, and the nodes have %v", mine.Shared(), theirs.Shared())
	}
	b.own, b.url = false, "redis://:hunter2@10.0.0.7:6379/0"
	if text := look("bin/leasehold", b); text != "" {
		t.Errorf("a Redis of the user's: %s", text)
	}
}
