package fleet

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"leasehold/rediskey"
)

// command is one that MONITOR showed.
type command struct {
	at   time.Time
	lua  bool
	args []string
}

// monitor shows all commands of a server from now on.
func (f *fleet) monitor() func() []command {
	f.t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(f.t.Context(), "tcp", f.redis.Addr())
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "MONITOR\r\n"); err != nil {
		f.t.Fatal(err)
	}
	lines := bufio.NewReader(conn)
	if ok, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(ok, "+OK") {
		f.t.Fatalf("MONITOR: %q, %v", ok, err)
	}
	var mu sync.Mutex
	var all []command
	var running sync.WaitGroup
	running.Go(func() {
		for {
			text, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if c, ok := parseMonitor(text); ok {
				mu.Lock()
				all = append(all, c)
				mu.Unlock()
			}
		}
	})
	f.t.Cleanup(func() { _ = conn.Close(); running.Wait() })
	return func() []command {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// parseMonitor reads a line such as +1700000000.123456 [0 lua] "PEXPIRE" "k" "1".
func parseMonitor(text string) (command, bool) {
	m := regexp.MustCompile(`^\+(\d+)\.(\d{6}) \[\d+ (\S+)\] (.*)\r\n$`).FindStringSubmatch(text)
	if m == nil {
		return command{}, false
	}
	seconds, _ := strconv.ParseInt(m[1], 10, 64)
	micros, _ := strconv.ParseInt(m[2], 10, 64)
	c := command{at: time.Unix(seconds, micros*1000), lua: m[3] == "lua"}
	for _, quoted := range regexp.MustCompile(`"(?:[^"\\]|\\.)*"`).FindAllString(m[4], -1) {
		arg, err := strconv.Unquote(quoted)
		if err != nil {
			arg = strings.Trim(quoted, `"`)
		}
		c.args = append(c.args, arg)
	}
	return c, len(c.args) > 0
}

// strangers finds commands by which one node's script extended or deleted a lease that
// another had, as the order of the commands shows.
func (f *fleet) strangers(commands []command, nodes []*node) []string {
	var found []string
	caller := ""
	owner, sets := map[string]string{}, 0
	for _, c := range commands {
		name := strings.ToUpper(c.args[0])
		if !c.lua {
			caller = callerOf(c, nodes)
		}
		if len(c.args) < 2 || !strings.HasPrefix(c.args[1], f.keys.Lease("")) {
			continue
		}
		key := c.args[1]
		switch name {
		case "SET":
			owner[key] = c.args[2]
			sets++
		case "DEL", "UNLINK", "PEXPIRE", "EXPIRE", "PERSIST", "PEXPIREAT", "EXPIREAT", "GETDEL":
			if who, known := owner[key]; !c.lua || known && who != caller {
				found = append(found, fmt.Sprintf("%s: %s %s of %s by %s", c.at.Format("15:04:05.000"), name, key, who, caller))
			}
			if name != "PEXPIRE" {
				delete(owner, key)
			}
		}
	}
	if sets == 0 {
		found = append(found, "no lease was seen to be taken")
	}
	return found
}

// callerOf is the node whose script a command runs: each script names its caller before
// any other.
func callerOf(c command, nodes []*node) string {
	for _, arg := range c.args {
		for _, n := range nodes {
			if arg == n.id {
				return n.id
			}
		}
	}
	return ""
}

func TestStrangersAreFoundInWhatMonitorShows(t *testing.T) {
	f := &fleet{keys: rediskey.Default()}
	nodes := []*node{{id: "a-1"}, {id: "b-1"}}
	show := func(lines ...string) (all []command) {
		for _, l := range lines {
			c, ok := parseMonitor("+1700000000.123456 " + l + "\r\n")
			if !ok {
				t.Fatalf("not understood: %s", l)
			}
			all = append(all, c)
		}
		return all
	}
	call := func(who string) string {
		return `[0 127.0.0.1:1] "evalsha" "ff" "1" "poll:lease:s" "6000" "` + who + `"`
	}
	taken := []string{call("b-1"), `[0 lua] "SET" "poll:lease:s" "b-1" "NX" "PX" "6000"`}
	for what, c := range map[string]struct {
		more []string
		bad  bool
	}{
		"its own renewal":        {[]string{call("b-1"), `[0 lua] "PEXPIRE" "poll:lease:s" "6000"`}, false},
		"another's renewal":      {[]string{call("a-1"), `[0 lua] "PEXPIRE" "poll:lease:s" "6000"`}, true},
		"another's release":      {[]string{call("a-1"), `[0 lua] "DEL" "poll:lease:s"`}, true},
		"no script at all":       {[]string{`[0 127.0.0.1:2] "del" "poll:lease:s"`}, true},
		"another's look":         {[]string{call("a-1"), `[0 lua] "GET" "poll:lease:s"`}, false},
		"a release and a taking": {[]string{call("b-1"), `[0 lua] "DEL" "poll:lease:s"`, call("a-1"), `[0 lua] "SET" "poll:lease:s" "a-1"`}, false},
	} {
		if found := f.strangers(show(append(slices.Clone(taken), c.more...)...), nodes); (len(found) > 0) != c.bad {
			t.Errorf("%s: %v", what, found)
		}
	}
}
