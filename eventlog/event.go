package eventlog

// Event is one kind of log line. Only this package has events.
//
//sumtype:decl
type Event interface {
	// head says what never depends on more than the level's choice.
	head() head
	// fields writes what this event adds to its line; the most telling first,
	// since later ones are cut where a line grows too long.
	fields(l *line)
}

// head is the fixed part of an event.
type head struct {
	level Level
	name  string
	text  string
}

// Level says how much a line matters.
type Level string

// The levels, least first.
const (
	Debug Level = "debug"
	Info  Level = "info"
	Warn  Level = "warn"
	Error Level = "error"
)

// levels is how many there are.
const levels = 4

// Levels returns all of them, least first.
func Levels() []Level { return []Level{Debug, Info, Warn, Error} }

// rank orders levels. What is no level counts as Info.
func (l Level) rank() int {
	switch l {
	case Debug:
		return 0
	case Info:
		return 1
	case Warn:
		return 2
	case Error:
		return 3
	default:
		return 1
	}
}

// Describe returns the name of the event, the level of this very value, and the
// sentence that its line carries as `message`.
func Describe(e Event) (name string, level Level, message string) {
	h := e.head()
	return h.name, h.level, h.text
}
