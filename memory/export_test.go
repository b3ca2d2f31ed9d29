package memory

// TendWith is Tend that gives memory back by a function of the spec's.
var TendWith = tend
