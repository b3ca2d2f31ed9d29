package cli_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leasehold/lease"
	"leasehold/results"
)

// unpack reads what is in a support file.
func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	zipped, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(zipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		text, readErr := io.ReadAll(archive)
		if err != nil || readErr != nil {
			t.Fatal(err, readErr)
		}
		files[strings.TrimPrefix(header.Name, "leasehold-support/")] = string(text)
	}
}

// marked is a secret wherever it stands.
const marked = "s3cr3t"

func TestASupportFileHasAllButSecrets(t *testing.T) {
	b := newBench(t)
	b.rdb.Do(t.Context(), "ACL", "SETUSER", "user", "on", ">"+marked+"pw", "~*", "&*", "+@all")
	b.env = []string{
		strings.Replace(b.env[0], "redis://", "redis://user:"+marked+"pw@", 1),
		"LEASEHOLD_RESULT_SINKS=webhook", "LEASEHOLD_RESULT_WEBHOOK_URL=http://u:" + marked + "@h/hook?token=" + marked,
		"LEASEHOLD_RESULT_WEBHOOK_SECRET=whsec_" + strings.Repeat(marked, 6),
	}
	holder := b.node("a")
	b.put("web", `{"url":"http://me:`+marked+`@h/p?api_key=`+marked+`#`+marked+`","method":"POST","body":"`+marked+`",
		"headers":{"Authorization":"Bearer `+marked+`"},"note":"`+marked+`","labels":{"team":"core"}}`)
	b.rdb.ConfigSet(t.Context(), "slowlog-log-slower-than", "0")
	b.put("bad", `{"url":"http://me:`+marked+`@h:port/"}`)
	b.put("worse", `{"headers":{"X":"`+marked)
	grant := b.lease(holder, "web")[0]
	if err := b.store.Publish(t.Context(), lease.Card{Instance: holder, Version: "v9"}, 1e12); err != nil {
		t.Fatal(err)
	}
	m := results.Encode(grant, lease.Result{Class: "http_error", Status: 503, Sequence: 1, Body: []byte(marked)})
	b.rdb.XAdd(t.Context(), streamArgs("web", string(m.JSON)))
	b.rdb.ConfigSet(t.Context(), "slowlog-log-slower-than", "-1") // what was slow stays in the log
	path := filepath.Join(t.TempDir(), "s.tar.gz")
	got := b.run("support", "-f", path)
	if got.code != 0 || got.stdout != path+"\n" || got.stderr != "" {
		t.Fatalf("%+v", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	files := unpack(t, path)
	for name, want := range map[string]string{
		"MANIFEST": "ok       status.json", "version.json": `"version"`, "config.json": "LEASEHOLD_RESULT_WEBHOOK_SECRET",
		"doctor.json": `"findings"`, "status.json": `"sessions": 3`, "nodes.json": holder, "cards.json": `"v9"`,
		"sessions.jsonl": `"session_id":"web"`, "results.json": `"http_error": 1`, "redis/server.txt": "redis_version:",
		"redis/memory.txt": "used_memory:", "redis/stats.txt": "total_commands_processed:", "redis/replication.txt": "role:master",
		"redis/clients.txt": "connected_clients:", "redis/slowlog.json": `"command": "SET"`,
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s lacks %q: %s", name, want, files[name])
		}
		if !strings.Contains(files["MANIFEST"], name) && name != "MANIFEST" {
			t.Errorf("the MANIFEST lacks %s", name)
		}
	}
	for name, text := range files {
		if strings.Contains(text, marked) {
			t.Errorf("a secret is in %s: %s", name, text)
		}
		if strings.HasSuffix(name, ".json") && !json.Valid([]byte(text)) {
			t.Errorf("%s is no JSON", name)
		}
	}
	if strings.Count(files["sessions.jsonl"], "\n") != 3 || !strings.Contains(files["sessions.jsonl"], `"team":"core"`) {
		t.Error(files["sessions.jsonl"])
	}
	before, _ := os.ReadFile(path)
	b.fails(1, "exists", "support", "-f", path)
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("it was written to")
	}
	b.ok("support", "-f", path+"2", "--no-documents")
	if text := unpack(t, path+"2")["sessions.jsonl"]; strings.Contains(text, "core") || strings.Contains(text, `"document"`) || !strings.Contains(text, `"web"`) {
		t.Error(text)
	}
}

func TestASupportFileOfWhatCanBeRead(t *testing.T) {
	b := newBench(t)
	b.rdb.Do(t.Context(), "ACL", "SETUSER", "user", "on", ">"+marked, "~*", "&*", "+@all", "-slowlog", "-info")
	b.env = []string{strings.Replace(b.env[0], "redis://", "redis://user:"+marked+"@", 1)}
	path := filepath.Join(t.TempDir(), "s.tar.gz")
	got := b.run("support", "-f", path)
	files := unpack(t, path)
	for _, name := range []string{"redis/slowlog.json", "redis/server.txt"} {
		if !strings.Contains(files["MANIFEST"], "partial  "+name) || !strings.Contains(got.stderr, name+" is not, or not all") {
			t.Errorf("%s: %s, %+v", name, files["MANIFEST"], got)
		}
	}
	if got.code != 0 || files["status.json"] == "" || strings.Contains(files["MANIFEST"]+got.stderr, marked) {
		t.Errorf("%+v: %s", got, files["MANIFEST"])
	}
	b.env = []string{"LEASEHOLD_REDIS_URL=redis://user:" + marked + "@127.0.0.1:1/0"}
	got = b.run("support", "-f", path+"2")
	files = unpack(t, path+"2")
	if got.code != 0 || !strings.Contains(files["MANIFEST"], "partial  all that Redis has: ") || len(files) != 3 || files["config.json"] == "" ||
		strings.Contains(files["MANIFEST"]+files["config.json"]+got.stderr, marked) {
		t.Errorf("%+v: %v", got, files)
	}
	b.fails(2, "negative", "support", "-f", path+"3", "--results", "-1")
}
