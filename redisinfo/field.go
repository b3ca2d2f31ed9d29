// Package redisinfo reads the answer to INFO.
package redisinfo

import "strings"

// Field returns one value of an answer to INFO; empty where there is none.
func Field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
