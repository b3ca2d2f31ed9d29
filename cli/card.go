package cli

import (
	"context"
	"time"

	"leasehold/lease"
)

// cards reads what nodes say of themselves, by their instance IDs; one that says nothing,
// or nothing that can be read, is left out.
func (f *fleet) cards(ctx context.Context, ids []string) (map[string]lease.Card, error) {
	found, err := f.store.Cards(ctx, ids)
	if err != nil {
		return nil, err
	}
	cards := make(map[string]lease.Card, len(found))
	for i, card := range found {
		if card != nil {
			cards[ids[i]] = *card
		}
	}
	return cards, nil
}

// ago is how long something is over. Clocks of hosts differ: what is to come is now.
func ago(now, then time.Time) string {
	return duration(max(0, now.Sub(then)).Truncate(time.Second)) + " ago"
}
