package sim

import "math/rand/v2"

// kind is one sort of trouble.
type kind struct {
	name   string
	weight int // how often, beside the others
	// draw fills in what is special to it; nil: nothing is.
	draw func(rnd *rand.Rand, t Timings, f *Fault)
	// do lets it come. It returns what it hit, empty if there is nothing to hit, and
	// how to end it, nil if it needs no end.
	do func(w *world, f Fault) (hit string, ended func())
}

// rare is by how much what is dear comes less often.
const rare = 40

// kinds are all sorts of trouble.
func kinds() []kind {
	var all []kind
	all = append(all, nodeKinds()...)
	all = append(all, lesseeKinds()...)
	all = append(all, peopleKinds()...)
	all = append(all, linkKinds()...)
	all = append(all, eventKinds()...)
	all = append(all, redisKinds()...)
	all = append(all, keyKinds()...)
	all = append(all, documentKinds()...)
	all = append(all, targetKinds()...)
	all = append(all, taskKinds()...)
	for i := range all {
		all[i].weight *= rare
	}
	return append(all, crowded())
}

func kindOf(name string) (kind, bool) {
	for _, k := range kinds() {
		if k.name == name {
			return k, true
		}
	}
	return kind{}, false
}
