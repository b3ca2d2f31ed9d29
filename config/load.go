package config

import (
	"errors"
	"os"
	"strings"
)

// Load reads the settings: flags, by variable name, before the environment (as
// os.Environ has it), before the defaults. A value that is empty counts as not
// set, but for the settings whose EmptyCounts is true. Its error is a Faults.
func Load(environ []string, flags map[string]string) (Config, error) {
	l := loader{
		env:   parseEnviron(environ),
		flags: flags,
		bad:   make(map[string]bool),
	}
	l.cfg.sources = make(map[string]Source)
	vars := Vars()
	for _, v := range vars {
		l.read(v)
	}
	l.readTokenFile()
	l.derive()
	l.relate()
	l.faults = append(l.sorted(vars), unknown(vars, l.env)...)
	if len(l.faults) > 0 {
		return Config{}, l.faults
	}
	return l.cfg, nil
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
	case v.Fallback != "": // the one setting that is a URL
		return maskURL(value)
	default:
		return value
	}
}

// readTokenFile takes the token from the file, where one is named.
func (l *loader) readTokenFile() {
	const name, file = "LEASEHOLD_API_TOKEN", "LEASEHOLD_API_TOKEN_FILE"
	path := l.cfg.APITokenFile
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
	token := strings.TrimSpace(string(content))
	if token == "" || checkToken(token) != nil || len(token) > 4096 {
		l.fault(file, "must hold one token of printable ASCII without spaces")
		return
	}
	l.cfg.APIToken = Secret(token)
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
