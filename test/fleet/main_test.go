package fleet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9/logging"
)

// binary is the program under trial, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	logging.Disable() // a Redis that a trial stops is no news
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "leasehold")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "leasehold/cmd/node")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the node: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
