package lease

import (
	"context"
	"iter"
	"slices"
)

// Placer is a Store over several servers that fail apart.
type Placer interface {
	// Place names the server that has the lease of a session, as far as is known without
	// asking: calls for leases of one place wait for no other server.
	Place(ctx context.Context, session string) string
}

// PlaceOf returns the place of a session's lease; that of a store over one server is empty.
func PlaceOf(ctx context.Context, store Store, session string) string {
	if p, ok := store.(Placer); ok {
		return p.Place(ctx, session)
	}

	return ""
}

// ByPlace yields things in batches of one place each, of size at most. It puts them in
// another order where there are several places.
func ByPlace[T any](things []T, place func(T) string, size int) iter.Seq2[string, []T] {
	return func(yield func(string, []T) bool) {
		for len(things) > 0 {
			at, n := place(things[0]), 0
			var others []T
			for _, thing := range things {
				if place(thing) != at {
					others = append(others, thing)

					continue
				}
				things[n] = thing
				n++
			}
			for batch := range slices.Chunk(things[:n:n], size) {
				if !yield(at, batch) {
					return
				}
			}
			things = others
		}
	}
}
