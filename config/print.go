package config

import (
	"fmt"
	"slices"
	"strings"
)

// Setting is one effective value, as it may be shown.
type Setting struct {
	Name   string
	Value  string // secrets masked
	Source Source
}

// Settings returns all effective values, in the order of Vars.
func (c Config) Settings() []Setting {
	vars := Vars()
	all := make([]Setting, len(vars))
	for i, v := range vars {
		show := v.get
		if v.show != nil {
			show = v.show
		}
		all[i] = Setting{Name: v.Name, Value: show(&c), Source: c.Source(v.Name)}
	}
	return all
}

// Shown returns the effective values by name, secrets masked and empty ones left
// out: what a node's first log line says.
func (c Config) Shown() map[string]string {
	all := make(map[string]string)
	for _, s := range c.Settings() {
		if s.Value != "" {
			all[s.Name] = s.Value
		}
	}
	return all
}

// MarkdownTable returns the table of the settings for docs/configuration.md.
func MarkdownTable() string {
	var b strings.Builder
	b.WriteString("| variable | default | meaning |\n|---|---|---|\n")
	for _, v := range Vars() {
		if v.Beside != "" {
			continue // one row for both
		}
		name, def := "`"+v.Name+"`", v.ShownDefault()
		if v.Fallback != "" {
			name += " (falls back to `" + v.Fallback + "`)"
		}
		if other, ok := beside(v.Name); ok {
			name += ", `" + other.Name + "`"
			v.Meaning += "; " + other.Meaning
		}
		switch {
		case def == "":
			def = "none"
		case v.DefaultText == "":
			def = "`" + def + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, def, v.Meaning)
	}
	return b.String()
}

// beside returns the setting that shares a row with another.
func beside(name string) (Var, bool) {
	all := Vars()
	i := slices.IndexFunc(all, func(v Var) bool { return v.Beside == name })
	if i < 0 {
		return Var{}, false
	}
	return all[i], true
}

// Help returns the settings for a terminal.
func Help() string {
	var b strings.Builder
	b.WriteString("Settings (environment variables; `run` has a flag for each but secrets):\n")
	for _, v := range Vars() {
		fmt.Fprintf(&b, "  %s", v.Name)
		if v.Fallback != "" {
			fmt.Fprintf(&b, " (falls back to %s)", v.Fallback)
		}
		if def := v.ShownDefault(); def != "" {
			fmt.Fprintf(&b, " [%s]", def)
		}
		fmt.Fprintf(&b, "\n      %s\n", strings.ReplaceAll(v.Meaning, "`", ""))
	}
	return b.String()
}
