package memory

// TendWith is Tend that gives memory back by a function of the spec's.
var TendWith = tend

// Filling is what tells when a heap is full.
type Filling struct{ f filling }

// Full is told what is live, once a pace.
func (f *Filling) Full(live uint64) bool { return f.f.full(live) }
