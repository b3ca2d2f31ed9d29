package config

import (
	"errors"
	"os"
	"slices"
	"strings"
)

// Load reads the settings: flags, by variable name, before the environment (as
// os.Environ has it), before the defaults. A value that is empty counts as not
// set, but for the settings whose EmptyCounts is true. Its error is a Faults.
func Load(environ []string, flags map[string]string) (Config, error) {
	l := newLoader(environ, flags)
	vars := Vars()
	for _, v := range vars {
		l.read(v)
	}
	l.readSecret("LEASEHOLD_API_TOKEN", l.cfg.APITokenFile, &l.cfg.APIToken,
		checkToken, "must hold one token of printable ASCII without spaces")
	l.readSecret("LEASEHOLD_RESULT_WEBHOOK_SECRET", l.cfg.ResultWebhookSecretFile, &l.cfg.ResultWebhookSecret,
		checkSigningSecret, "must hold whsec_ and the base64 of 24 to 64 bytes")
	l.derive()
	l.relate()
	l.faults = append(l.sorted(vars), unknown(vars, l.env)...)
	if len(l.faults) > 0 {
		return Config{}, l.faults
	}
	return l.cfg, nil
}

// LoadAddress is Load for who asks a node that runs: of the settings it reads where the
// node listens, and the names of its certificate's files, and opens none of them. All was
// checked when the node was started, and what has become of a file since may trouble the
// next start, but not this node.
func LoadAddress(environ []string, flags map[string]string) (Config, error) {
	l := newLoader(environ, flags)
	vars := slices.DeleteFunc(Vars(), func(v Var) bool {
		return v.Name != "LEASEHOLD_HTTP_ADDR" && v.Name != httpCert && v.Name != httpKey
	})
	for _, v := range vars {
		l.read(v)
	}
	l.bothOrNone(httpCert, l.cfg.HTTPCertFile, httpKey, l.cfg.HTTPKeyFile)
	if len(l.faults) > 0 {
		return Config{}, l.sorted(vars)
	}
	return l.cfg, nil
}

func newLoader(environ []string, flags map[string]string) *loader {
	return &loader{
		env: parseEnviron(environ), flags: flags, bad: make(map[string]bool),
		cfg: Config{sources: make(map[string]Source)},
	}
}

// loader is one Load under way.
type loader struct {
	env   map[string]string
	flags map[string]string

	cfg    Config
	faults Faults
	bad    map[string]bool // variables with a fault
}

func parseEnviron(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	return env
}

// read takes one setting from the first source that has it.
func (l *loader) read(v Var) {
	name, value, source := l.find(v)
	l.cfg.sources[v.Name] = source
	if source == Default && value == "" {
		return
	}
	if err := v.set(&l.cfg, value); err != nil {
		l.bad[v.Name] = true
		l.faults = append(l.faults, Fault{
			Name: name, Value: maskValue(v, value), HasValue: true, Source: source, Rule: err.Error(),
		})
	}
}

// find returns the value of a setting, where it comes from, and by which name.
func (l *loader) find(v Var) (name, value string, source Source) {
	if value, ok := l.flags[v.Name]; ok && (value != "" || v.EmptyCounts) {
		return v.Name, value, Flag
	}
	if value, ok := l.env[v.Name]; ok && (value != "" || v.EmptyCounts) {
		return v.Name, value, Env
	}
	if value := l.env[v.Fallback]; v.Fallback != "" && value != "" {
		return v.Fallback, value, Env
	}
	return v.Name, v.Default, Default
}

func maskValue(v Var, value string) string {
	switch {
	case v.Secret:
		return masked
	case v.mask != nil:
		return v.mask(value)
	default:
		return value
	}
}

// readSecret takes the secret called name from the file, where one is named.
func (l *loader) readSecret(name, path string, dst *Secret, check func(string) error, rule string) {
	file := name + "_FILE"
	if path == "" {
		return
	}
	if l.cfg.sources[name] != Default {
		l.fault(file, "must not be set together with "+name)
		return
	}
	content, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		if pathErr, ok := errors.AsType[*os.PathError](err); ok {
			err = pathErr.Err
		}
		l.fault(file, "must be a readable file: "+err.Error())
		return
	}
	value := strings.TrimSpace(string(content))
	if value == "" || check(value) != nil || len(value) > 4096 {
		l.fault(file, rule)
		return
	}
	*dst = Secret(value)
}

// fault records that the value which a setting has breaks a rule.
func (l *loader) fault(name, rule string) {
	l.bad[name] = true
	f := Fault{Name: name, Source: l.cfg.sources[name], HasValue: true, Rule: rule}
	for _, v := range Vars() {
		if v.Name == name {
			f.Value = maskValue(v, v.get(&l.cfg))
		}
	}
	l.faults = append(l.faults, f)
}

// sorted returns the faults in the order of the table.
func (l *loader) sorted(vars []Var) Faults {
	var all Faults
	for _, v := range vars {
		for _, f := range l.faults {
			if f.Name == v.Name || (v.Fallback != "" && f.Name == v.Fallback) {
				all = append(all, f)
			}
		}
	}
	return all
}
