package check_test

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const base = "../kubernetes/base"

// fleet is what the base makes, every field of it known to its type.
type fleet struct {
	deployment apps.Deployment
	service    core.Service
	config     core.ConfigMap
	account    core.ServiceAccount
	budget     policy.PodDisruptionBudget
	network    networking.NetworkPolicy
	monitor    monitoring.ServiceMonitor
	rules      monitoring.PrometheusRule
}

func render(t *testing.T) fleet {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), base)
	if err != nil {
		t.Fatal(err)
	}
	var f fleet
	into := map[string]any{
		"Deployment": &f.deployment, "Service": &f.service, "ConfigMap": &f.config, "ServiceAccount": &f.account,
		"PodDisruptionBudget": &f.budget, "NetworkPolicy": &f.network,
		"ServiceMonitor": &f.monitor, "PrometheusRule": &f.rules,
	}
	for _, r := range made.Resources() {
		target, ok := into[r.GetKind()]
		if !ok {
			t.Fatalf("an unexpected %s", r.GetKind())
		}
		delete(into, r.GetKind())
		if err := yaml.UnmarshalStrict([]byte(r.MustYaml()), target); err != nil {
			t.Errorf("%s: %v", r.GetKind(), err)
		}
	}
	if len(into) > 0 {
		t.Fatalf("no %v", slices.Collect(maps.Keys(into)))
	}
	return f
}

func TestEverySelectorFindsTheNodes(t *testing.T) {
	f := render(t)
	labels := f.deployment.Spec.Template.Labels
	for what, selector := range map[string]map[string]string{
		"deployment": f.deployment.Spec.Selector.MatchLabels, "service": f.service.Spec.Selector,
		"budget": f.budget.Spec.Selector.MatchLabels, "network": f.network.Spec.PodSelector.MatchLabels,
	} {
		if len(selector) == 0 {
			t.Errorf("%s selects everything", what)
		}
		for k, v := range selector {
			if labels[k] != v {
				t.Errorf("%s wants %s=%s, the nodes have %v", what, k, v, labels)
			}
		}
	}
	for k, v := range f.monitor.Spec.Selector.MatchLabels {
		if f.service.Labels[k] != v {
			t.Errorf("the monitor wants %s=%s, the service has %v", k, v, f.service.Labels)
		}
	}
}

func TestPortsHaveTheNamesThatOthersUse(t *testing.T) {
	f := render(t)
	node := f.deployment.Spec.Template.Spec.Containers[0]
	names := map[string]bool{}
	for _, p := range node.Ports {
		names[p.Name] = true
	}
	used := []string{
		node.StartupProbe.HTTPGet.Port.StrVal, node.ReadinessProbe.HTTPGet.Port.StrVal, node.LivenessProbe.HTTPGet.Port.StrVal,
		f.service.Spec.Ports[0].TargetPort.StrVal, f.network.Spec.Ingress[0].Ports[0].Port.StrVal,
	}
	for _, name := range used {
		if !names[name] {
			t.Errorf("no port is called %q", name)
		}
	}
	if f.monitor.Spec.Endpoints[0].Port != f.service.Spec.Ports[0].Name {
		t.Errorf("the monitor asks port %q", f.monitor.Spec.Endpoints[0].Port)
	}
}

func TestANodeHasTimeToDrain(t *testing.T) {
	f := render(t)
	const drain = 25 // LEASEHOLD_DRAIN_TIMEOUT's default
	if got := *f.deployment.Spec.Template.Spec.TerminationGracePeriodSeconds; got <= drain {
		t.Errorf("%d s of grace for a drain of %d s", got, drain)
	}
	if f.deployment.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 0 {
		t.Error("an update takes a node away before another has come")
	}
}

func TestNodesRunWithoutPrivileges(t *testing.T) {
	pod := render(t).deployment.Spec.Template.Spec
	node := pod.Containers[0]
	if !*pod.SecurityContext.RunAsNonRoot || *node.SecurityContext.AllowPrivilegeEscalation ||
		!*node.SecurityContext.ReadOnlyRootFilesystem || node.SecurityContext.Capabilities.Drop[0] != "ALL" {
		t.Errorf("%+v", node.SecurityContext)
	}
	if *pod.AutomountServiceAccountToken {
		t.Error("nodes have no use for a token")
	}
	if *pod.EnableServiceLinks {
		t.Error("the variables of services would be taken for settings")
	}
}

func TestManifestsNameSettingsThatExist(t *testing.T) {
	f := render(t)
	known := settings(t)
	for _, e := range f.deployment.Spec.Template.Spec.Containers[0].Env {
		if !known[e.Name] {
			t.Errorf("%s is no setting", e.Name)
		}
	}
	for name := range f.config.Data {
		if !known[name] {
			t.Errorf("%s is no setting", name)
		}
	}
}

// rulesHead is before the groups of the rules.
const rulesHead = `# Made from deploy/prometheus/rules.yml by "make docs".
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: leasehold
spec:
`

func TestDocumentationOfTheRulesIsThatOfPrometheus(t *testing.T) {
	text := []byte(read(t, "../prometheus/rules.yml"))
	if os.Getenv("WRITE_DOCS") != "" {
		_, groups, _ := strings.Cut(string(text), "\ngroups:\n")
		groups = regexp.MustCompile("(?m)^(.)").ReplaceAllString(groups, "  $1")
		made := rulesHead + "  groups:\n" + strings.TrimRight(groups, "\n")
		if err := os.WriteFile(base+"/prometheusrule.yaml", []byte(made+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var want monitoring.PrometheusRuleSpec
	if err := yaml.UnmarshalStrict(text, &want); err != nil {
		t.Fatal(err)
	}
	if got := render(t).rules.Spec; !reflect.DeepEqual(got, want) || len(want.Groups) == 0 {
		t.Error("prometheusrule.yaml is not rules.yml: run `make docs`")
	}
}
