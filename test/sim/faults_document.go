package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

// Bounds of the sessions in a fleet, so that an hour stays comparable.
const (
	fewest    = 5
	crowd     = 220
	thousands = 2000
)

// documentKinds are edits by the fleet's user.
func documentKinds() []kind {
	return []kind{
		{"documents added", 2, many, func(w *world, f Fault) (string, func()) {
			if len(w.docs)+f.Count > crowd {
				return "", nil
			}
			for range f.Count {
				w.addDocument()
			}
			return strconv.Itoa(f.Count), nil
		}},
		{"documents removed", 2, many, func(w *world, f Fault) (string, func()) {
			n := min(f.Count, len(w.docs)-fewest)
			for range n {
				w.removeDocument(w.document(f))
			}
			if n <= 0 {
				return "", nil
			}
			return strconv.Itoa(n), nil
		}},
		{"document edited", 4, nil, func(w *world, f Fault) (string, func()) {
			d := w.document(f)
			if d == nil {
				return "", nil
			}
			d.redraw(rand.New(rand.NewPCG(uint64(f.Which), 0)), w.scenario.Timings)
			w.fleet.Target.Set(d.ID, d.Usual)
			w.put(d)
			return d.ID, nil
		}},
		onDocument("document paused", 2, func(d *document, on bool) { d.Paused = on }),
		onDocument("document broken", 1, func(d *document, on bool) { d.Broken = on }),
		{"document replaced", 1, nil, func(w *world, f Fault) (string, func()) { // deleted, and back later
			d := w.document(f)
			if d == nil || len(w.docs) <= fewest {
				return "", nil
			}
			w.removeDocument(d)
			return d.ID, func() {
				w.docs = append(w.docs, d)
				w.put(d)
			}
		}},
	}
}

// onDocument changes one document for a while.
func onDocument(name string, weight int, set func(d *document, on bool)) kind {
	return kind{name, weight, nil, func(w *world, f Fault) (string, func()) {
		d := w.document(f)
		if d == nil {
			return "", nil
		}
		set(d, true)
		w.put(d)
		return d.ID, func() {
			set(d, false)
			if w.exists(d) {
				w.put(d)
			}
		}
	}}
}

func (w *world) exists(d *document) bool { return slices.Contains(w.docs, d) }

// crowded is a rare flood of documents that goes away again.
func crowded() kind {
	return kind{"thousands at once", 1, func(rnd *rand.Rand, _ Timings, f *Fault) {
		f.Count = skewed(rnd, 300, thousands)
	}, func(w *world, f Fault) (string, func()) {
		if len(w.docs) > crowd {
			return "", nil
		}
		came := make([]*document, f.Count)
		for i := range came {
			came[i] = w.addDocument()
		}
		return strconv.Itoa(f.Count), func() {
			for _, d := range came {
				if w.exists(d) {
					w.removeDocument(d)
				}
			}
		}
	}}
}
