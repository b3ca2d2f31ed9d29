package check_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

func load(t *testing.T) *types.Project {
	t.Helper()
	o, err := cli.NewProjectOptions([]string{"../compose.yaml"}, cli.WithProfiles([]string{"observe"}))
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestComposeRunsThreeNodesOnARedisThatTellsAndKeeps(t *testing.T) {
	p := load(t)
	node, redis := p.Services["node"], p.Services["redis"]
	if n := *node.Deploy.Replicas; n != 3 {
		t.Errorf("%d nodes", n)
	}
	command := strings.Join(redis.Command, " ")
	for _, want := range []string{"--notify-keyspace-events KEgx$e", "--maxmemory-policy noeviction", "--appendonly yes"} {
		if !strings.Contains(command, want) {
			t.Errorf("no %q in %q", want, command)
		}
	}
	if grace := time.Duration(*node.StopGracePeriod); grace <= 25*time.Second {
		t.Errorf("%s of grace", grace)
	}
	known := settings(t)
	for name := range node.Environment {
		if !known[name] {
			t.Errorf("%s is no setting", name)
		}
	}
}

func TestOnlyTheProfileHasPrometheusAndGrafana(t *testing.T) {
	p := load(t)
	for name, s := range p.Services {
		observes := slices.Contains(s.Profiles, "observe")
		if want := name == "prometheus" || name == "grafana"; observes != want {
			t.Errorf("%s has the profiles %v", name, s.Profiles)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes %s to everybody", name, port.Published)
			}
		}
	}
}
