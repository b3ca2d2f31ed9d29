package emulator

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

const (
	flagSetting = "notify-keyspace-events"
	knownFlags  = "KEg$lshzxetdmnA"
	coveredByA  = "g$lshzxetd"
)

// life is one run of the pretended server.
type life struct {
	runID, replID string
	started       time.Time
	flags         string
}

func newLife(flags string) life {
	return life{runID: randomID(), replID: randomID(), started: time.Now(), flags: flags}
}

func randomID() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return hex.EncodeToString(b[:])
}

// settings are what CONFIG GET tells.
func (l life) settings() map[string]string {
	return map[string]string{
		flagSetting:        l.flags,
		"maxmemory":        "0",
		"maxmemory-policy": "noeviction",
	}
}

// covers reports whether the flags announce events of the class.
func (l life) covers(class string) bool {
	return strings.Contains(l.flags, class) ||
		strings.Contains(l.flags, "A") && strings.Contains(coveredByA, class)
}

// channels lists what to publish for an event: channel and message of each.
func (l life) channels(a announcement) [][2]string {
	if class := classOf(a.name); class == "" || !l.covers(class) {
		return nil
	}
	var out [][2]string
	db := strconv.Itoa(a.db)
	if strings.Contains(l.flags, "K") {
		out = append(out, [2]string{"__keyspace@" + db + "__:" + a.key, a.name})
	}
	if strings.Contains(l.flags, "E") {
		out = append(out, [2]string{"__keyevent@" + db + "__:" + a.name, a.key})
	}
	return out
}

// info is the answer to INFO for the sections that miniredis lacks; ok is false
// for all others.
func (l life) info(section string) (text string, ok bool) {
	switch strings.ToLower(section) {
	case "server":
		return fmt.Sprintf("# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:%s\r\n"+
			"uptime_in_seconds:%d\r\n", l.runID, int64(time.Since(l.started)/time.Second)), true
	case "replication":
		return fmt.Sprintf("# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_replid:%s\r\n",
			l.replID), true
	case "memory":
		return "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n", true
	default:
		return "", false
	}
}

// answer replies to commands that miniredis does not know, and reports whether it
// did.
func (e *Emulator) answer(c *server.Peer, cmd string, args []string) bool {
	switch {
	case cmd == "INFO" && len(args) == 1:
		text, ok := e.present().info(args[0])
		if ok {
			c.WriteBulk(text)
		}
		return ok
	case cmd == "CONFIG" && len(args) == 2 && strings.EqualFold(args[0], "GET"):
		e.configGet(c, args[1])
		return true
	case cmd == "CONFIG" && len(args) == 3 && strings.EqualFold(args[0], "SET"):
		e.configSet(c, args[1], args[2])
		return true
	default:
		return false
	}
}

func (e *Emulator) configGet(c *server.Peer, name string) {
	value, ok := e.present().settings()[strings.ToLower(name)]
	c.Block(func(w *server.Writer) {
		if !ok {
			w.WriteMapLen(0)
			return
		}
		w.WriteMapLen(1)
		w.WriteBulk(strings.ToLower(name))
		w.WriteBulk(value)
	})
}

func (e *Emulator) configSet(c *server.Peer, name, value string) {
	if !strings.EqualFold(name, flagSetting) {
		c.WriteError("ERR Unknown option or number of arguments for CONFIG SET - '" + name + "'")
		return
	}
	if strings.Trim(value, knownFlags) != "" {
		c.WriteError("ERR CONFIG SET failed (possibly related to argument '" + flagSetting +
			"') - Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")
		return
	}
	e.mu.Lock()
	e.life.flags = value
	e.mu.Unlock()
	c.WriteOK()
}

// present returns the state of the pretended server.
func (e *Emulator) present() life {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.life
}
