package session

import (
	"fmt"
	"strconv"
	"strings"
)

// maxQuoted bounds how many bytes of an offending value an error quotes.
const maxQuoted = 32

// InvalidError says why a document, or a session's ID, can't be used.
type InvalidError struct {
	// Field is the name in the document, with a dot for a nested one; empty where
	// the document as a whole is at fault, "id" for the ID.
	Field string
	// Reason continues a sentence that starts with the field.
	Reason string
}

// Error returns field and reason in less than 200 bytes, without any secret.
func (e *InvalidError) Error() string {
	if e.Field == "" {
		return "the document " + e.Reason
	}

	return e.Field + " " + e.Reason
}

// invalid makes an error; the format continues the field's name.
func invalid(field, format string, args ...any) error {
	return &InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// quote shortens a value for an error and makes it safe to print.
func quote(value string) string {
	if len(value) > maxQuoted {
		value = value[:maxQuoted] + "..."
	}
	quoted := strconv.QuoteToASCII(value)
	if len(quoted) > 2*maxQuoted {
		quoted = quoted[:2*maxQuoted] + `..."`
	}

	return quoted
}

// quoteName quotes the name of a header or a label. Where it is none, only as far as it
// could be one: by a common slip a secret value stands behind the colon in it.
func quoteName(name string) string {
	if end := strings.IndexFunc(name, notInToken); end >= 0 {
		return quote(name[:end]) + "..."
	}

	return quote(name)
}
