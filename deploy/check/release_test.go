package check_test

import (
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestTheReleasePacksFilesThatExist(t *testing.T) {
	var release struct {
		Builds []struct {
			Main    string
			Ldflags []string
		}
		Nfpms []struct {
			Contents []struct{ Src, Dst string }
			Scripts  map[string]string
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "../../.goreleaser.yaml")), &release); err != nil {
		t.Fatal(err)
	}
	version := read(t, "../../cmd/node/version.go")
	for _, b := range release.Builds {
		for _, name := range []string{"linkedVersion", "linkedCommit"} {
			if !strings.Contains(b.Ldflags[0], "main."+name+"=") || !strings.Contains(version, name) {
				t.Errorf("the build does not set %s", name)
			}
		}
	}
	packed := 0
	for _, p := range release.Nfpms {
		for _, src := range p.Scripts {
			read(t, "../../"+src)
		}
		for _, c := range p.Contents {
			packed++
			if strings.HasPrefix(c.Src, "extras/") { // scripts/release-extras.sh makes them
				continue
			}
			if found, _ := filepath.Glob("../../" + c.Src); len(found) == 0 {
				t.Errorf("%s is not there", c.Src)
			}
		}
	}
	if packed == 0 {
		t.Error("nothing is packed")
	}
}
