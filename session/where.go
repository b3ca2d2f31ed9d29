package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// WhereNotJSON says where a text is no JSON, in words that follow "is not valid JSON".
// Its first line has the number that is given. Of the text it quotes nothing.
func WhereNotJSON(text []byte, line int) string {
	text = bytes.TrimRight(text, " \t\r\n")
	var value json.RawMessage
	syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(text, &value))
	if !ok {
		return ""
	}
	at := min(int(syntax.Offset), len(text)) // the bytes up to the one that is wrong
	before := text[:max(0, at-1)]
	line += bytes.Count(before, []byte("\n"))
	column := at - 1 - bytes.LastIndexByte(before, '\n')
	// A text that is cut off has no byte that is wrong: more would have made it right.
	if at == len(text) && cutOff(text) {
		return fmt.Sprintf(": it ends too early, at line %d, byte %d", line, column)
	}

	return fmt.Sprintf(" at line %d, byte %d", line, column)
}

// cutOff reports whether a text is the beginning of something that is JSON: then what
// follows is where it is wrong first.
func cutOff(text []byte) bool {
	var value json.RawMessage
	longer, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(append(bytes.Clone(text), 0), &value))

	return ok && longer.Offset > int64(len(text))
}
