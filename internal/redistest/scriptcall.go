package redistest

import (
	"fmt"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// library is the table redis of a script.
func (s *scripts) library() map[string]lua.LGFunction {
	nothing := func(*lua.LState) int { return 0 }
	return map[string]lua.LGFunction{
		"call":               func(l *lua.LState) int { return s.call(l, true) },
		"pcall":              func(l *lua.LState) int { return s.call(l, false) },
		"log":                nothing,
		"set_repl":           nothing,
		"setresp":            nothing,
		"replicate_commands": func(l *lua.LState) int { l.Push(lua.LTrue); return 1 },
		"sha1hex":            func(l *lua.LState) int { l.Push(lua.LString(shaOf(l.CheckString(1)))); return 1 },
		"status_reply":       func(l *lua.LState) int { l.Push(reply("ok", l.CheckString(1))); return 1 },
		"error_reply": func(l *lua.LState) int {
			text := strings.TrimPrefix(l.CheckString(1), "-")
			if !strings.Contains(text, " ") {
				text = "ERR " + text
			}
			l.Push(reply("err", text))
			return 1
		},
	}
}

func reply(kind, text string) *lua.LTable {
	t := &lua.LTable{}
	t.RawSetString(kind, lua.LString(text))
	return t
}

// call is redis.call, which raises errors, and redis.pcall, which returns them.
func (s *scripts) call(l *lua.LState, raise bool) int {
	args := make([]string, l.GetTop())
	for i := range args {
		switch a := l.Get(i + 1).(type) {
		case lua.LNumber:
			args[i] = a.String()
		case lua.LString:
			args[i] = string(a)
		default:
			l.Error(lua.LString("Lua redis lib command arguments must be strings or integers script: "+s.sha+", &c."), 1)
			return 0
		}
	}
	if len(args) == 0 {
		l.Error(lua.LString("Please specify at least one argument for this redis lib call script: "+s.sha+", &c."), 1)
		return 0
	}
	s.out.Reset()
	s.srv.Dispatch(s.peer, args)
	s.peer.Flush()
	value, failure, _, err := decode(l, s.out.String())
	switch {
	case err != nil:
		l.Error(lua.LString(err.Error()), 1)
	case failure == "":
		l.Push(value)
	case raise && strings.Contains(failure, "ERR unknown command"):
		l.Error(lua.LString("Unknown Redis command called from script script: "+s.sha+", &c."), 1)
	case raise:
		l.Error(lua.LString(failure), 1)
	case strings.Contains(failure, "ERR unknown command"):
		l.Push(reply("err", "ERR Unknown Redis command called from script"))
	default:
		l.Push(reply("err", failure))
	}
	return 1
}

// decode reads one reply as a script sees it, and says how long it is. failure is
// the text of an error reply.
func decode(l *lua.LState, text string) (value lua.LValue, failure string, n int, err error) {
	end := strings.Index(text, "\r\n")
	if end < 1 {
		return nil, "", 0, errProtocol
	}
	line, n := text[1:end], end+2
	switch text[0] {
	case '+':
		return reply("ok", line), "", n, nil
	case '-':
		return nil, line, n, nil
	case ':', '$', '*':
	default:
		return nil, "", 0, errProtocol
	}
	number, err := strconv.Atoi(line)
	switch {
	case err != nil:
		return nil, "", 0, errProtocol
	case text[0] == ':':
		return lua.LNumber(number), "", n, nil
	case number < 0:
		return lua.LFalse, "", n, nil
	case text[0] == '$':
		if len(text) < n+number+2 {
			return nil, "", 0, errProtocol
		}
		return lua.LString(text[n : n+number]), "", n + number + 2, nil
	}
	t := l.CreateTable(number, 0)
	for i := range number {
		v, failure, m, err := decode(l, text[n:])
		if err != nil {
			return nil, "", 0, err
		}
		if failure != "" {
			v = reply("err", failure)
		}
		t.RawSetInt(i+1, v)
		n += m
	}
	return t, "", n, nil
}

// encode appends what a script returned, as the protocol has it.
func encode(b []byte, value lua.LValue) []byte {
	switch v := value.(type) {
	case lua.LBool:
		if v {
			return append(b, ":1\r\n"...)
		}
		return append(b, "$-1\r\n"...)
	case lua.LNumber:
		return fmt.Appendf(b, ":%d\r\n", int64(v))
	case lua.LString:
		b = append(b, '$')
		b = strconv.AppendInt(b, int64(len(v)), 10)
		b = append(b, "\r\n"...)
		b = append(b, v...)
		return append(b, "\r\n"...)
	case *lua.LTable:
		return encodeTable(b, v)
	default:
		return append(b, "$-1\r\n"...)
	}
}

func encodeTable(b []byte, t *lua.LTable) []byte {
	line := strings.NewReplacer("\r", " ", "\n", " ")
	if text := t.RawGetString("err"); text != lua.LNil {
		return append(b, "-"+line.Replace(text.String())+"\r\n"...)
	}
	if text := t.RawGetString("ok"); text != lua.LNil {
		return append(b, "+"+line.Replace(text.String())+"\r\n"...)
	}
	n := 0
	for t.RawGetInt(n+1) != lua.LNil {
		n++
	}
	b = append(b, '*')
	b = strconv.AppendInt(b, int64(n), 10)
	b = append(b, "\r\n"...)
	for i := range n {
		b = encode(b, t.RawGetInt(i+1))
	}
	return b
}
