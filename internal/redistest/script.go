package redistest

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync"

	luajson "github.com/alicebob/miniredis/v2/gopher-json"
	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// scripts runs EVAL and EVALSHA as miniredis does, but in one Lua state for the life
// of the server: miniredis makes a new one, with all libraries, for each call. It
// relies on the server carrying out one command at a time.
type scripts struct {
	srv   *server.Server
	state *lua.LState
	known map[string]*lua.LFunction // by SHA

	// Of the script that runs.
	sha  string
	peer *server.Peer // what its commands are sent by
	out  *bytes.Buffer
	db   int // that peer's
}

// compiled scripts by their source, of all servers.
var compiled sync.Map

func newScripts(srv *server.Server) *scripts {
	s := &scripts{srv: srv, known: map[string]*lua.LFunction{}, out: &bytes.Buffer{}}
	s.peer = server.NewPeer(bufio.NewWriter(s.out))
	s.state = s.newState()
	return s
}

// newState returns a state with miniredis' libraries.
func (s *scripts) newState() *lua.LState {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase,
		lua.CoroutineLibName: lua.OpenCoroutine, lua.TabLibName: lua.OpenTable,
		lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath,
	} {
		call(l, l.NewFunction(open), lua.LString(name))
	}
	luajson.Preload(l)
	call(l, l.GetGlobal("require").(*lua.LFunction), lua.LString("json"))
	l.SetGlobal("cjson", l.Get(-1))
	l.SetTop(0)

	redis := l.NewTable()
	for name, f := range s.library() {
		redis.RawSetString(name, l.NewFunction(f))
	}
	for i, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		redis.RawSetString(name, lua.LNumber(i))
	}
	l.SetGlobal("redis", redis)
	l.SetGlobal("server", redis)
	l.SetGlobal("os", l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{
		"clock": func(l *lua.LState) int { l.Push(lua.LNumber(42)); return 1 },
	}))
	protect(l)
	return l
}

func call(l *lua.LState, f *lua.LFunction, arg lua.LValue) {
	if err := l.CallByParam(lua.P{Fn: f, NRet: 1, Protect: true}, arg); err != nil {
		panic(err) // the libraries of Lua
	}
}

// protect refuses globals that a script makes or that do not exist, as Redis does.
func protect(l *lua.LState) {
	refuse := func(text string) *lua.LFunction {
		return l.NewFunction(func(l *lua.LState) int {
			l.Error(lua.LString(fmt.Sprintf(text, l.Get(2).String())), 2)
			return 0
		})
	}
	meta := l.NewTable()
	meta.RawSetString("__newindex", refuse("Script attempted to create global variable '%s'"))
	meta.RawSetString("__index", refuse("Script attempted to access nonexistent global variable '%s'"))
	l.G.Global.Metatable = meta
}

// hook carries scripts out. It belongs behind all other hooks.
func (s *scripts) hook(c *server.Peer, cmd string, args ...string) bool {
	switch cmd {
	case "EVAL", "EVALSHA", "SCRIPT":
	default:
		return c == s.peer && s.refuse(cmd)
	}
	if c == s.peer {
		return s.refuse(cmd)
	}
	if db, plain := stateOf(c); plain && len(args) > 0 {
		switch cmd {
		case "SCRIPT":
			s.script(args)
		case "EVAL":
			return s.eval(c, db, args)
		case "EVALSHA":
			return s.evalSHA(c, db, args)
		}
	}
	return false
}

// refuse answers a script that asks for what no script may do.
func (s *scripts) refuse(cmd string) bool {
	switch cmd {
	case "EVAL", "EVALSHA", "SCRIPT", "MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH",
		"SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE":
		s.peer.WriteError("This Redis command is not allowed from script script: " + s.sha + ", &c")
		return true
	default:
		return false
	}
}

// stateOf reads a connection's state out of miniredis' private context, which has no
// other door: its database, and whether it is in no transaction and speaks RESP2.
func stateOf(c *server.Peer) (db int, plain bool) {
	v := reflect.ValueOf(c.Ctx)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return 0, !c.Resp3
	}
	return int(v.Elem().FieldByName("selectedDB").Int()), !c.Resp3 && v.Elem().FieldByName("transaction").IsNil()
}

// nested reports whether a command comes from a script that miniredis itself runs.
func nested(c *server.Peer) bool {
	v := reflect.ValueOf(c.Ctx)
	return v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().FieldByName("nested").Bool()
}

// script follows what miniredis is about to do with its own scripts.
func (s *scripts) script(args []string) {
	switch {
	case strings.EqualFold(args[0], "FLUSH"):
		clear(s.known)
	case strings.EqualFold(args[0], "LOAD") && len(args) == 2:
		if f, err := s.compile(args[1]); err == nil {
			s.known[shaOf(args[1])] = f
		}
	}
}

func (s *scripts) eval(c *server.Peer, db int, args []string) bool {
	f, err := s.compile(args[0])
	if err != nil || len(args) < 2 {
		return false // miniredis has the words for it
	}
	sha := shaOf(args[0])
	if _, ok := s.known[sha]; !ok {
		s.srv.Dispatch(server.NewPeer(bufio.NewWriter(io.Discard)), []string{"SCRIPT", "LOAD", args[0]})
	}
	return s.run(c, db, sha, f, args[1:])
}

func (s *scripts) evalSHA(c *server.Peer, db int, args []string) bool {
	f, ok := s.known[strings.ToLower(args[0])]
	if !ok || len(args) < 2 {
		return false
	}
	return s.run(c, db, args[0], f, args[1:])
}

func (s *scripts) compile(source string) (*lua.LFunction, error) {
	if proto, ok := compiled.Load(source); ok {
		return s.state.NewFunctionFromProto(proto.(*lua.FunctionProto)), nil
	}
	chunk, err := parse.Parse(strings.NewReader(source), "<string>")
	if err != nil {
		return nil, err
	}
	proto, err := lua.Compile(chunk, "")
	if err != nil {
		return nil, err
	}
	compiled.Store(source, proto)
	return s.state.NewFunctionFromProto(proto), nil
}

func shaOf(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}

// run runs a script on the number of its keys, them, and its arguments.
func (s *scripts) run(c *server.Peer, db int, sha string, f *lua.LFunction, args []string) bool {
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 0 || n > len(args)-1 {
		return false
	}
	if db != s.db {
		s.srv.Dispatch(s.peer, []string{"SELECT", strconv.Itoa(db)})
		s.peer.Flush()
		s.db = db
	}
	l := s.state
	s.sha = sha
	l.G.Global.RawSetString("KEYS", tableOf(l, args[1:1+n]))
	l.G.Global.RawSetString("ARGV", tableOf(l, args[1+n:]))
	l.SetTop(0)
	l.Push(f)
	if err := l.PCall(0, 1, nil); err != nil {
		c.WriteError("ERR Error compiling script (new function): " + err.Error()) // miniredis' words
		l.SetTop(0)
		return true
	}
	c.WriteRaw(string(encode(nil, l.Get(-1))))
	l.SetTop(0)
	return true
}

func tableOf(l *lua.LState, values []string) *lua.LTable {
	t := l.CreateTable(len(values), 0)
	for i, v := range values {
		t.RawSetInt(i+1, lua.LString(v))
	}
	return t
}
