package eventlog

// SessionAdded says that a document has come.
type SessionAdded struct{ Session string }

func (SessionAdded) head() head { return head{Info, "session.added", "session added"} }

func (e SessionAdded) fields(l *line) { l.session(e.Session) }

// SessionChanged says that a document was edited.
type SessionChanged struct{ Session string }

func (SessionChanged) head() head { return head{Info, "session.changed", "session changed"} }

func (e SessionChanged) fields(l *line) { l.session(e.Session) }

// SessionRemoved says that a document has gone.
type SessionRemoved struct{ Session string }

func (SessionRemoved) head() head { return head{Info, "session.removed", "session removed"} }

func (e SessionRemoved) fields(l *line) { l.session(e.Session) }

// SessionInvalid says that a document can't be used and is skipped.
type SessionInvalid struct {
	Key     string
	Session string
	Reason  string
}

func (SessionInvalid) head() head {
	return head{Warn, "session.invalid", "session document can not be used and is skipped"}
}

func (e SessionInvalid) fields(l *line) {
	l.session(e.Session)
	l.reason(e.Reason)
	l.str("key", e.Key)
}

// KeyForeign says that a key under the fleet's prefixes is not the fleet's. It is
// left alone.
type KeyForeign struct {
	Key    string
	Reason string
}

func (KeyForeign) head() head {
	return head{Warn, "key.foreign", "key is not the fleet's and is left alone"}
}

func (e KeyForeign) fields(l *line) {
	l.str("key", e.Key)
	l.reason(e.Reason)
}
