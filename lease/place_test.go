package lease_test

import (
	"reflect"
	"testing"

	"leasehold/lease"
)

func TestThingsOfOnePlaceComeInBatchesInTheirOrder(t *testing.T) {
	letter := func(s string) string { return s[:1] }
	for _, c := range []struct {
		things []string
		want   [][]string
	}{
		{},
		{[]string{"a1"}, [][]string{{"a1"}}},
		{[]string{"a1", "a2", "a3"}, [][]string{{"a1", "a2"}, {"a3"}}},
		{[]string{"a1", "b1", "a2", "c1", "b2", "a3"}, [][]string{{"a1", "a2"}, {"a3"}, {"b1", "b2"}, {"c1"}}},
	} {
		var got [][]string
		for place, batch := range lease.ByPlace(c.things, letter, 2) {
			if place != letter(batch[0]) {
				t.Errorf("%v are of %q", batch, place)
			}
			got = append(got, batch)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}
