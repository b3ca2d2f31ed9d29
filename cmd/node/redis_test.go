package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"leasehold/config"
	"leasehold/eventlog"
	"leasehold/internal/redistest"
)

func settings(t *testing.T, environ ...string) config.Config {
	t.Helper()
	cfg, err := config.Load(environ, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// contact runs the real node against an address until it says that it can't, or
// is stopped.
func contact(t *testing.T, stopAfterContact bool, environ ...string) (exitCode, string) {
	t.Helper()
	var stderr bytes.Buffer
	log := eventlog.New(&stderr, eventlog.Options{Level: eventlog.Error})
	stop := make(chan string)
	if stopAfterContact {
		time.AfterFunc(200*time.Millisecond, func() { close(stop) })
	}
	code := runNode(t.Context(), stop, nodeSpec{cfg: settings(t, environ...), instance: "n-1-00000001", log: log})
	log.Close()
	return code, stderr.String()
}

func TestNoRedisIsExplained(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	code, text := contact(t, false, "LEASEHOLD_REDIS_URL=redis://u:hunter2@"+addr)
	if code != exitFailure || time.Since(before) > 2*time.Second {
		t.Errorf("exit %d after %s", code, time.Since(before))
	}
	for _, want := range []string{"redis://***@" + addr, "LEASEHOLD_REDIS_URL", "leasehold demo", "refused"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	if strings.Contains(text, "hunter2") {
		t.Errorf("the password is in %q", text)
	}
}

func TestARefusedPasswordIsSaidToBeOne(t *testing.T) {
	m := miniredis.RunT(t)
	m.RequireUserAuth("u", "right")
	for _, user := range []string{"", "u:wrong@"} {
		code, text := contact(t, false, "LEASEHOLD_REDIS_URL=redis://"+user+m.Addr())
		if code != exitFailure || !strings.Contains(text, "refuses the user name or password") ||
			!strings.Contains(text, "LEASEHOLD_REDIS_URL") || strings.Contains(text, ":wrong") {
			t.Errorf("%s: exit %d: %s", user, code, text)
		}
	}
	if code, text := contact(t, true, "LEASEHOLD_REDIS_URL=redis://u:right@"+m.Addr()); code != exitOK || text != "" {
		t.Errorf("the right password: exit %d: %s", code, text)
	}
}

// What a server refuses for another reason has another remedy.
func TestTheRemedyFitsTheRefusal(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errReply("ERR DB index is out of range"), "the number at the end of LEASEHOLD_REDIS_URL"},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}}, "Renew the server's certificate"},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "Set LEASEHOLD_REDIS_CA_FILE"},
	} {
		if got := advice(settings(t), c.err); !strings.Contains(got, c.want) {
			t.Errorf("%v: %s", c.err, got)
		}
	}
}

// errReply is an error that a server answered with.
type errReply string

func (e errReply) Error() string { return string(e) }
func (errReply) RedisError()     {}

func TestTheDefaultAddressIsSaidToBeOne(t *testing.T) {
	text := explainNoContact(settings(t), errors.New("refused"))
	want := "no usable Redis at redis://127.0.0.1:6379/0 (the default; LEASEHOLD_REDIS_URL is not set): refused.\n"
	if !strings.Contains(text, want) {
		t.Errorf("%q lacks %q", text, want)
	}
}

// piped returns a client of a server that answers every command with reply, or
// reads and never answers where reply is empty.
func piped(reply string) *redis.Client {
	o := redistest.Options("127.0.0.1:6379")
	o.Dialer = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go serve(server, reply)
		return client, nil
	}
	return redis.NewClient(o)
}

func serve(conn net.Conn, reply string) {
	defer func() { _ = conn.Close() }()
	r := bufio.NewReader(conn)
	for {
		header, err := r.ReadString('\n')
		if err != nil {
			return
		}
		words, _ := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(header, "*")))
		for range 2 * words { // a length and a word each
			if _, err := r.ReadString('\n'); err != nil {
				return
			}
		}
		if reply == "" {
			continue
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

func TestAHungServerIsGivenUpAfterTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := piped("")
		defer func() { _ = client.Close() }()
		before := time.Now()
		err := firstContact(t.Context(), nil, client)
		if err == nil || time.Since(before) > 2*time.Second {
			t.Errorf("%v after %s", err, time.Since(before))
		}
	})
}

func TestAStopEndsTheWaitForRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := piped("")
		defer func() { _ = client.Close() }()
		stop := make(chan string)
		close(stop)
		before := time.Now()
		if err := firstContact(t.Context(), stop, client); !errors.Is(err, stoppedError{}) || time.Since(before) > 0 {
			t.Errorf("%v after %s", err, time.Since(before))
		}
	})
}

// What a server says that is there but not ready must not end the process.
func TestWhichAnswersCountAsContact(t *testing.T) {
	for reply, want := range map[string]bool{
		"-LOADING Redis is loading the dataset in memory":                          true,
		"-BUSY Redis is busy running a script":                                     true,
		"-MISCONF Redis is configured to save RDB snapshots, but it's unable to":   true,
		"-MASTERDOWN Link with MASTER is down":                                     true,
		"-CLUSTERDOWN The cluster is down":                                         true,
		"-NOPERM this user has no permissions to run the 'ping' command":           true,
		"-NOAUTH Authentication required.":                                         false,
		"-WRONGPASS invalid username-password pair":                                false,
		"-ERR DB index is out of range":                                            false,
		"-ERR max number of clients reached":                                       false,
		"-DENIED Redis is running in protected mode because protected mode is on.": false,
	} {
		synctest.Test(t, func(t *testing.T) {
			client := piped(reply + "\r\n")
			defer func() { _ = client.Close() }()
			if err := firstContact(t.Context(), nil, client); (err == nil) != want {
				t.Errorf("%s gives %v", reply, err)
			}
		})
	}
}

func TestSeveralAddressesMakeAClusterClient(t *testing.T) {
	client, err := newRedis(settings(t, "LEASEHOLD_REDIS_URL=rediss://u:p@a:1,b:2", "LEASEHOLD_REDIS_TIMEOUT=1s"), "n-1-2", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		t.Fatalf("it is a %T", client)
	}
	o := cluster.Options()
	if strings.Join(o.Addrs, " ") != "a:1 b:2" || o.Username != "u" || o.Password != "p" || o.TLSConfig == nil || o.TLSConfig.ServerName != "" ||
		!o.ContextTimeoutEnabled || o.ReadTimeout != time.Second {
		t.Errorf("options %+v", o)
	}
}

func TestOneAddressIsAServerWithItsDatabase(t *testing.T) {
	client, err := newRedis(settings(t, "LEASEHOLD_REDIS_URL=redis://h:1/7"), "n-1-2", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	single, ok := client.(*redis.Client)
	if !ok {
		t.Fatalf("it is a %T", client)
	}
	if o := single.Options(); o.Addr != "h:1" || o.DB != 7 || !o.ContextTimeoutEnabled || o.MaxRetries > 0 {
		t.Errorf("options %+v", o)
	}
}
