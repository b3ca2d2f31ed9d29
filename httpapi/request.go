package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"leasehold/lease"
)

const (
	bodyLimit  = 64 << 10
	batchLimit = 1 << 20
	// maxHolder is how many characters a holder may have.
	maxHolder = 128
)

// claim is what a request says of who it is from.
type claim struct {
	HolderID string `json:"holder_id" minLength:"1" maxLength:"128" description:"1 to 128 printable characters, not of the form of an instance ID."`
	Version  *int64 `json:"version,omitempty" description:"The fencing token of the lease that is meant; none: the present one."`
}

// check returns why the claim can't be used, or nil.
func (c claim) check() *problem {
	if reason := badHolder(c.HolderID); reason != "" {
		return unprocessable("holder_id " + reason)
	}

	return nil
}

// badHolder says why a holder can't be used; empty when it can. The form of an
// instance ID is the nodes' own, also as that of a lease by hand: nobody else may renew
// or release in their name.
func badHolder(holder string) string {
	switch n := utf8.RuneCountInString(holder); {
	case holder == "":
		return "is missing"
	case !utf8.ValidString(holder):
		return "is not valid UTF-8"
	case n > maxHolder:
		return fmt.Sprintf("has %d characters, more than %d", n, maxHolder)
	case lease.InstanceForm(strings.TrimSuffix(holder, lease.ByHand)):
		return "has the form of a node's instance ID"
	}
	for _, r := range holder {
		// Package json has put the replacement for what is no character.
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return "has characters that can't be printed"
		}
	}

	return ""
}

// readClaim reads a claim from the body.
func readClaim(r *http.Request) (claim, *problem) {
	var c claim
	if p := readBody(r, bodyLimit, &c); p != nil {
		return c, p
	}

	return c, c.check()
}

// readRelease reads a claim from the body, if there is one, and what it does not
// name from the query: some clients send no body with DELETE.
func readRelease(r *http.Request) (claim, *problem) {
	var c claim
	text, p := readAll(r, bodyLimit)
	if p != nil {
		return c, p
	}
	if len(bytes.TrimSpace(text)) > 0 {
		if p := decode(text, &c); p != nil {
			return c, p
		}
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return c, badQuery(err)
	}
	if c.HolderID == "" {
		c.HolderID = query.Get("holder_id")
	}
	if text := query.Get("version"); c.Version == nil && text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return c, unprocessable("version must be a whole number")
		}
		c.Version = &n
	}

	return c, c.check()
}

func badQuery(err error) *problem {
	return newProblem(http.StatusBadRequest, "the query can't be read", err.Error())
}

func readBody(r *http.Request, limit int64, into any) *problem {
	text, p := readAll(r, limit)
	if p != nil {
		return p
	}

	return decode(text, into)
}

func readAll(r *http.Request, limit int64) ([]byte, *problem) {
	text, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, newProblem(http.StatusRequestEntityTooLarge, "the body is too large", fmt.Sprintf("it may have %d bytes", limit))
	case err != nil:
		return nil, newProblem(http.StatusBadRequest, "the body can't be read", "it did not come whole, or not in time")
	}

	return text, nil
}

// decode reads one JSON object. Fields that are not known are ignored.
func decode(text []byte, into any) *problem {
	if !utf8.Valid(text) { // package json would replace what is not
		return newProblem(http.StatusBadRequest, "the body can't be read", "it is not valid UTF-8")
	}
	if trimmed := bytes.TrimSpace(text); len(trimmed) == 0 || trimmed[0] != '{' {
		return newProblem(http.StatusBadRequest, "the body can't be read", "it must be a JSON object")
	}
	err := json.Unmarshal(text, into)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return unprocessable(kind.Field + " can't be " + kind.Value)
	case err != nil:
		return newProblem(http.StatusBadRequest, "the body can't be read", "it is not valid JSON")
	}

	return nil
}
