package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"leasehold/cli"
)

// What the linker is told; see the Makefile.
//
//nolint:gochecknoglobals // the linker can set nothing else
var (
	linkedVersion string
	linkedCommit  string
)

// buildInfo says which program this is.
type buildInfo struct {
	version string
	commit  string
}

// build returns what the linker was told, or else what Go recorded by itself.
func build() buildInfo {
	b := buildInfo{version: linkedVersion, commit: linkedCommit}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "(devel)" {
			b.version = cmp.Or(b.version, v)
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.commit = cmp.Or(b.commit, s.Value)
			}
		}
	}
	b.version = cmp.Or(b.version, "dev")
	b.commit = cmp.Or(b.commit, "unknown")
	return b
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and Go version",
		Args:  cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := build()
			fmt.Fprintf(a.stdout, "leasehold %s\ncommit %s\n%s %s/%s\n",
				b.version, b.commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
