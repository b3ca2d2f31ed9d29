package main

import (
	"strings"
	"testing"

	"leasehold/cli"
	"leasehold/internal/doctest"
)

func TestDocumentationOfTheCommands(t *testing.T) {
	root := (&app{stdout: &strings.Builder{}, stderr: &strings.Builder{}}).rootCommand()
	root.InitDefaultCompletionCmd()
	want, err := cli.Reference(root)
	if err != nil {
		t.Fatal(err)
	}
	doctest.File(t, "../../docs/commands.md", want)
	for _, heading := range []string{"sessions add", "leases release", "explain", "plan", "status", "config validate", "completion bash", "man", "run"} {
		if !strings.Contains(want, "\n## leasehold "+heading+"\n") {
			t.Errorf("it lacks %s", heading)
		}
	}
	if strings.Contains(want, "Auto generated") {
		t.Error("it has a date")
	}
}

func TestCommandsThatNeedARedisSaySo(t *testing.T) {
	env := []string{"LEASEHOLD_REDIS_URL=redis://u:hunter2@127.0.0.1:1/0"}
	for _, args := range []string{"status", "nodes ls", "sessions ls", "sessions rm x", "leases ls", "explain x", "plan"} {
		got := execute(env, strings.Fields(args)...)
		if got.code != exitFailure || got.stdout != "" || strings.Contains(got.stderr, "hunter2") ||
			!strings.HasPrefix(got.stderr, "leasehold: no usable Redis at redis://***@127.0.0.1:1/0") {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestGroupsOfCommandsListThem(t *testing.T) {
	for _, args := range []string{"sessions", "nodes", "leases"} {
		if got := execute(nil, args); got.code != exitOK || !strings.Contains(got.stdout, "\n  ls ") {
			t.Errorf("%s: %+v", args, got)
		}
		if got := execute(nil, args, "nope"); got.code != exitUsage || !strings.Contains(got.stderr, `unknown command "nope"`) {
			t.Errorf("%s nope: %+v", args, got)
		}
	}
}

func TestCompletionsAreMade(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := execute(nil, "completion", shell); got.code != exitOK || !strings.Contains(got.stdout, "leasehold") {
			t.Errorf("%s: %+v", shell, got)
		}
	}
	if got := execute(nil, "__complete", "sessions", "ls", "--state", ""); !strings.Contains(got.stdout, "unleased") {
		t.Errorf("%+v", got)
	}
}
