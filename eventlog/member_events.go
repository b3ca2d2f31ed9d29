package eventlog

// MemberJoined says that this node sees another one for the first time.
type MemberJoined struct {
	Member string
	// Members counts the live nodes after the change, this one included.
	Members int
}

func (MemberJoined) head() head { return head{Info, "member.joined", "a node joined the fleet"} }

func (e MemberJoined) fields(l *line) { member(l, e.Member, e.Members) }

// MemberLeft says that a node took its heartbeat away.
type MemberLeft struct {
	Member  string
	Members int
}

func (MemberLeft) head() head { return head{Info, "member.left", "a node left the fleet"} }

func (e MemberLeft) fields(l *line) { member(l, e.Member, e.Members) }

// MemberExpired says that a node's heartbeat ran out.
type MemberExpired struct {
	Member  string
	Members int
}

func (MemberExpired) head() head {
	return head{Warn, "member.expired", "a node's heartbeat ran out"}
}

func (e MemberExpired) fields(l *line) { member(l, e.Member, e.Members) }

func member(l *line, name string, members int) {
	l.str("member", name)
	l.num("members", int64(members))
}
