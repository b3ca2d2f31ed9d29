package lease_test

import (
	"slices"
	"testing"

	"leasehold/lease"
)

func TestNodesWithOtherSettingsAreTold(t *testing.T) {
	mine := lease.Card{Instance: "a", Shared: map[string]string{"TTL": "30s", "MARGIN": "2s", "NEW": "1"}}
	other := lease.Card{Instance: "b", Shared: map[string]string{"TTL": "6s", "MARGIN": "2s", "OLD": "1"}}
	got := lease.Differences(mine, other)
	want := []lease.Difference{{Setting: "TTL", Mine: "30s", Other: "b", Theirs: "6s"}}
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if text := got[0].String(); text != "TTL is 30s here and 6s on b: it must be the same on all nodes" {
		t.Error(text)
	}
}
