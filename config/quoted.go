package config

import "strings"

// Quoted is a value as files of variables, and shells, take it: nothing in it is expanded.
func Quoted(value string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:/.,@%"
	if strings.Trim(value, plain) == "" {
		return value
	}

	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}
