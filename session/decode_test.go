package session_test

import (
	"errors"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/session"
)

func defaults() session.Defaults {
	return session.Defaults{Interval: 7 * time.Second, Timeout: 3 * time.Second}
}

// with is a document of kind http with further fields.
func with(fields string) string {
	return `{"url":"http://10.0.0.7:9090/status",` + fields + `}`
}

// refusal decodes a document that can't be used.
func refusal(raw string) *session.InvalidError {
	GinkgoHelper()
	_, err := session.Decode("id", []byte(raw), defaults())
	invalid, ok := errors.AsType[*session.InvalidError](err)
	Expect(ok).To(BeTrue(), "error %v", err)
	Expect(len(invalid.Error())).To(BeNumerically("<", 200))

	return invalid
}

func decoded(raw string) session.Session {
	GinkgoHelper()
	s, err := session.Decode("id", []byte(raw), defaults())
	Expect(err).NotTo(HaveOccurred())

	return s
}

var _ = Describe("a document", func() {
	It("is read with all its fields", func() {
		raw := []byte(`{"url":"http://10.0.0.7:9090/status","interval":"10s","timeout":"5s","method":"POST",
			"headers":{"Accept":"application/json"},"body":"x","expect":{"status":[200,204],"body_contains":"ok"},
			"kind":"http","paused":false,"on_failure":"release","lease_ttl":"30s","labels":{"team":"core"}}`)
		s, err := session.Decode("a:b", raw, defaults())
		Expect(err).NotTo(HaveOccurred())
		Expect(s.Fingerprint).NotTo(BeZero())
		s.Fingerprint = 0
		Expect(s).To(Equal(session.Session{
			ID: "a:b", Kind: session.HTTP,
			URL: "http://10.0.0.7:9090/status", Method: "POST", Body: "x",
			Headers:  map[string]string{"Accept": "application/json"},
			Expect:   session.Expect{Status: []int{200, 204}, BodyContains: "ok"},
			Interval: 10 * time.Second, Timeout: 5 * time.Second, LeaseTTL: 30 * time.Second,
			OnFailure: session.Release, Labels: map[string]string{"team": "core"},
		}))
	})

	It("gets the defaults for what it does not name, or names as null", func() {
		for _, raw := range []string{
			`{"url":"https://h"}`,
			`{"url":"https://h","kind":null,"interval":null,"timeout":null,"method":null,"headers":null,
				"body":null,"expect":null,"paused":null,"on_failure":null,"lease_ttl":null,"labels":null}`,
			`{"url":"https://h","kind":"","method":"","on_failure":"","headers":{},"expect":{"status":[]}}`,
		} {
			s := decoded(raw)
			Expect(s.Kind).To(Equal(session.HTTP))
			Expect(s.Method).To(Equal("GET"))
			Expect(s.Interval).To(Equal(7 * time.Second))
			Expect(s.Timeout).To(Equal(3 * time.Second))
			Expect(s.LeaseTTL).To(BeZero())
			Expect(s.OnFailure).To(Equal(session.Keep))
			Expect(s.Paused).To(BeFalse())
			Expect(s.Expect.Status).To(BeEmpty())
			Expect(s.Headers).To(BeEmpty())
		}
	})

	It("gets 10 s and 5 s where there are no defaults either", func() {
		s, err := session.Decode("id", []byte(`{"kind":"log"}`), session.Defaults{})
		Expect(err).NotTo(HaveOccurred())
		Expect(s.Interval).To(Equal(10 * time.Second))
		Expect(s.Timeout).To(Equal(5 * time.Second))
	})

	It("may hold unknown fields, and those of other spelling are unknown", func() {
		s := decoded(with(`"Interval":"50s","owner":{"deep":[1,{"x":null}]},"id":"other"`))
		Expect(s.Interval).To(Equal(7 * time.Second))
		Expect(s.ID).To(Equal("id"))
	})

	It("counts the last of a field that stands twice", func() {
		Expect(decoded(with(`"interval":"bad","interval":"2s"`)).Interval).To(Equal(2 * time.Second))
	})

	It("has the FNV-1a hash of its bytes as fingerprint", func() {
		raw := `{"kind":"log" }`
		hash := uint64(14695981039346656037)
		for i := range len(raw) {
			hash = (hash ^ uint64(raw[i])) * 1099511628211
		}
		Expect(decoded(raw).Fingerprint).To(Equal(hash))
		Expect(decoded(`{"kind":"log"}`).Fingerprint).NotTo(Equal(hash))
	})

	It("needs no url for the kinds log and external", func() {
		Expect(decoded(`{"kind":"log"}`).Kind).To(Equal(session.Log))
		Expect(decoded(`{"kind":"external","url":"rtsp://camera/1"}`).URL).To(Equal("rtsp://camera/1"))
	})

	DescribeTable("is pollable unless paused or external", func(raw string, want bool) {
		Expect(decoded(raw).Pollable()).To(Equal(want))
	},
		Entry("http", with(`"paused":false`), true),
		Entry("log", `{"kind":"log"}`, true),
		Entry("paused", with(`"paused":true`), false),
		Entry("isPaused", with(`"isPaused":true`), false),
		Entry("isPaused wins over paused", with(`"paused":false,"isPaused":true`), false),
		Entry("paused wins over isPaused", with(`"isPaused":false,"paused":true`), false),
		Entry("external", `{"kind":"external"}`, false),
	)
})

var _ = Describe("a duration in a document", func() {
	DescribeTable("is read from", func(value string, want time.Duration) {
		Expect(decoded(with(`"interval":` + value)).Interval).To(Equal(want))
	},
		Entry("a Go duration", `"1m30s"`, 90*time.Second),
		Entry("whole seconds", `15`, 15*time.Second),
		Entry("a fraction", `0.25`, 250*time.Millisecond),
		Entry("a fraction that binary can't hold", `0.1`, 100*time.Millisecond),
		Entry("an exponent", `1.5e1`, 15*time.Second),
		Entry("the least", `"100ms"`, 100*time.Millisecond),
		Entry("the most", `"8784h"`, 8784*time.Hour),
		Entry("white space around", " \n 2 \t", 2*time.Second),
	)

	DescribeTable("is refused when it is", func(field, value string) {
		Expect(refusal(with(`"` + field + `":` + value)).Field).To(Equal(field))
	},
		Entry("too short", "interval", `"99ms"`),
		Entry("a number too small", "interval", `0.0999`),
		Entry("zero", "interval", `0`),
		Entry("negative", "interval", `-5`),
		Entry("a negative duration", "interval", `"-5s"`),
		Entry("not a number", "interval", `"NaN"`),
		Entry("infinite", "interval", `"Inf"`),
		Entry("a number without unit in a string", "interval", `"10"`),
		Entry("empty", "interval", `""`),
		Entry("above a year", "interval", `"8785h"`),
		Entry("beyond 64 bits", "interval", `1e18`),
		Entry("beyond floating point", "interval", `1e400`),
		Entry("a string beyond 64 bits", "interval", `"9999999999999h"`),
		Entry("a number with a million digits", "interval", strings.Repeat("9", 1_000_000)),
		Entry("a list", "interval", `[10]`),
		Entry("an object", "interval", `{"s":10}`),
		Entry("a boolean", "interval", `true`),
		Entry("a timeout of zero", "timeout", `0`),
		Entry("a timeout below a millisecond", "timeout", `"1us"`),
		Entry("a timeout above a day", "timeout", `"25h"`),
		Entry("a lease below a second", "lease_ttl", `"999ms"`),
		Entry("a lease of zero", "lease_ttl", `0`),
		Entry("a lease above a day", "lease_ttl", `"24h1s"`),
	)

	It("may make the timeout longer than the interval", func() {
		s := decoded(with(`"interval":1,"timeout":"1h","lease_ttl":1`))
		Expect(s.Timeout).To(Equal(time.Hour))
		Expect(s.LeaseTTL).To(Equal(time.Second))
	})
})

var _ = Describe("a document that can't be used", func() {
	DescribeTable("as a whole", func(raw, reason string) {
		err := refusal(raw)
		Expect(err.Field).To(BeEmpty())
		Expect(err.Error()).To(ContainSubstring(reason))
	},
		Entry("empty", "", "is empty"),
		Entry("blank", " \n\t ", "is empty"),
		Entry("a list", "[]", "must be a JSON object, is a list"),
		Entry("null", "null", "must be a JSON object, is null"),
		Entry("a string", ` "x"`, "must be a JSON object, is a string"),
		Entry("a number", "12", "must be a JSON object, is a number"),
		Entry("true", "true", "must be a JSON object, is a boolean"),
		Entry("plain text", "hello", "is not valid JSON"),
		Entry("cut off", `{"url":"http://h"`, "is not valid JSON"),
		Entry("two objects", `{}{}`, "is not valid JSON"),
		Entry("a byte order mark", "\ufeff{}", "is not valid JSON"),
		Entry("a megabyte of a", strings.Repeat("a", 1_000_000), "is not valid JSON"),
		Entry("bytes that are no UTF-8", "{\"url\":\"http://h/\xff\"}", "is not valid UTF-8"),
		Entry("deeply nested", strings.Repeat("[", 100_000), "is not valid JSON"),
		Entry("deeply nested and closed", strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000), "is not valid JSON"),
		Entry("too large", `{"body":"`+strings.Repeat("a", session.MaxDocumentBytes)+`"}`, "more than 1048576"),
	)

	It("may still be as large as a mebibyte", func() {
		head := `{"url":"http://h","body":"`
		body := strings.Repeat("a", session.MaxDocumentBytes-len(head)-len(`"}`))
		Expect(decoded(head + body + `"}`).Body).To(Equal(body))
	})

	It("has its method in capitals, as servers want it", func() {
		Expect(decoded(with(`"method":"get"`)).Method).To(Equal("GET"))
	})

	It("may keep up to 64 KiB of the answer, and keeps nothing where it does not say so", func() {
		Expect(decoded(with(`"keep_body":65536`)).KeepBody).To(Equal(65536))
		Expect(decoded(with(`"keep_body":null`)).KeepBody).To(BeZero())
	})

	DescribeTable("for one field", func(raw, field, reason string) {
		err := refusal(raw)
		Expect(err.Field).To(Equal(field))
		Expect(err.Reason).To(ContainSubstring(reason))
	},
		Entry("no url", `{}`, "url", "missing"),
		Entry("an empty url", `{"url":""}`, "url", "missing"),
		Entry("a file", `{"url":"file:///etc/passwd"}`, "url", "http://"),
		Entry("no scheme", `{"url":"10.0.0.7/status"}`, "url", "http://"),
		Entry("no host", `{"url":"http:///x"}`, "url", "no host"),
		Entry("a port alone", `{"url":"http://:80/x"}`, "url", "no host"),
		Entry("a port out of range", `{"url":"http://h:65536/"}`, "url", "port"),
		Entry("a line break in the url", `{"url":"http://h/\n"}`, "url", "parsed"),
		Entry("a url of another type", `{"url":1}`, "url", "must be a string, is a number"),
		Entry("an unknown kind", `{"kind":"ping"}`, "kind", `is "ping"`),
		Entry("a kind of another type", `{"kind":["http"]}`, "kind", "must be a string, is a list"),
		Entry("a method with a space", with(`"method":"GET /x"`), "method", "GET /x"),
		Entry("a tunnel", with(`"method":"connect"`), "method", "CONNECT"),
		Entry("a space in the query", `{"url":"http://h/x?q=a b"}`, "url", "%20"),
		Entry("a method of another type", with(`"method":{}`), "method", "is an object"),
		Entry("a body of another type", with(`"body":{"a":1}`), "body", "is an object"),
		Entry("paused as text", with(`"paused":"yes"`), "paused", "must be a boolean, is a string"),
		Entry("isPaused as number", with(`"isPaused":1`), "isPaused", "must be a boolean, is a number"),
		Entry("unknown on_failure", with(`"on_failure":"drop"`), "on_failure", `is "drop"`),
		Entry("headers as list", with(`"headers":["A: b"]`), "headers", "is a list"),
		Entry("a header that is a number", with(`"headers":{"A":1}`), "headers", `has a number for "A", which must be a string`),
		Entry("a header that is null", with(`"headers":{"A":null}`), "headers", "null"),
		Entry("a header name with a space", with(`"headers":{"A b":"c"}`), "headers", "invalid name"),
		Entry("a header without name", with(`"headers":{"":"c"}`), "headers", "invalid name"),
		Entry("a header of two lines", with(`"headers":{"A":"b\r\nC: d"}`), "headers", "control character"),
		Entry("one header in two spellings", with(`"headers":{"A":"b","a":"c"}`), "headers", "two spellings"),
		Entry("expect as list", with(`"expect":[200]`), "expect", "is a list"),
		Entry("a status alone", with(`"expect":{"status":200}`), "expect.status", "is a number"),
		Entry("a status that is text", with(`"expect":{"status":["200"]}`), "expect.status", "whole numbers"),
		Entry("a fraction of a status", with(`"expect":{"status":[200.5]}`), "expect.status", "whole numbers"),
		Entry("a status too small", with(`"expect":{"status":[200,99]}`), "expect.status", "is 99"),
		Entry("a status too large", with(`"expect":{"status":[600]}`), "expect.status", "is 600"),
		Entry("a null status", with(`"expect":{"status":[null]}`), "expect.status", "is 0"),
		Entry("body_contains of another type", with(`"expect":{"body_contains":1}`), "expect.body_contains", "is a number"),
		Entry("keep_body as text", with(`"keep_body":"4KiB"`), "keep_body", "whole number of bytes"),
		Entry("keep_body below zero", with(`"keep_body":-1`), "keep_body", "is -1"),
		Entry("keep_body above 64 KiB", with(`"keep_body":65537`), "keep_body", "65536"),
		Entry("a label that is an object", with(`"labels":{"a":{}}`), "labels", `has an object for "a", which must be a string`),
		Entry("labels as text", with(`"labels":"a=b"`), "labels", "is a string"),
	)

	DescribeTable("names no secret", func(raw string) {
		Expect(refusal(raw).Error()).NotTo(ContainSubstring("hunter2"))
	},
		Entry("password in a url without scheme", `{"url":"me:hunter2@host/x"}`),
		Entry("password as scheme", `{"url":"hunter2:x@host/x"}`),
		Entry("password in a url with a bad port", `{"url":"http://me:hunter2@host:x/"}`),
		Entry("password in a url of another scheme", `{"url":"redis://:hunter2@host/"}`),
		Entry("token in a broken url", `{"url":"http://host/%zz?token=hunter2"}`),
		Entry("header value", with(`"headers":{"Authorization":"hunter2\n"}`)),
		Entry("header value in the name", with(`"headers":{"X-Api-Key: hunter2":""}`)),
		Entry("header value in the name, behind a space", with(`"headers":{"Authorization Basic hunter2":""}`)),
		Entry("header value in the name, without a value", with(`"headers":{"X-Api-Key: hunter2":null}`)),
		Entry("header value in the name, for another kind", `{"kind":"log","headers":{"X-Api-Key=hunter2":null}}`),
		Entry("label's value in its name", with(`"labels":{"token: hunter2":null}`)),
		Entry("body", with(`"body":["hunter2"]`)),
		Entry("text that is no JSON", `hunter2`),
	)

	DescribeTable("names the header or label at fault", func(raw, want string) {
		Expect(refusal(raw)).To(MatchError(want))
	},
		Entry("without its value", with(`"headers":{"X-Api-Key: hunter2":""}`),
			`headers has an invalid name: "X-Api-Key"..., which can't hold ':'`),
		Entry("without what is invisible", with(`"headers":{"\u200bAccept":"a"}`),
			`headers has an invalid name: ""..., which can't hold '\u200b'`),
		Entry("that has no name", with(`"headers":{"":"a"}`), `headers has an invalid name: it is empty`),
		Entry("that is null", with(`"headers":{"Accept":null}`), `headers has null for "Accept", which must be a string`),
		Entry("that is null, without its value", with(`"labels":{"team: a":null}`),
			`labels has null for "team"..., which must be a string`),
	)

	DescribeTable("says of a url without its scheme what it is, as far as that is a host, a port and a path", func(url, want string) {
		Expect(refusal(`{"url":"` + url + `"}`)).To(MatchError("url must start with http:// or https://" + want))
	},
		Entry("an address and a port", "127.0.0.1:8080/healthz", `, is "127.0.0.1:8080/healthz"`),
		Entry("an address", "10.0.0.7/status", `, is "10.0.0.7/status"`),
		Entry("an address of IPv6", "[::1]:8080/x", `, is "[::1]:8080/x"`),
		Entry("a name and a port", "web:9090", `, is "web:9090"`),
		Entry("localhost", "localhost/x", `, is "localhost/x"`),
		Entry("a name with a domain", "api.example.com/v1", `, is "api.example.com/v1"`),
		Entry("with a query", "web:9090/x?token=hunter2", `, is "web:9090/x"...`),
		Entry("with a fragment", "web:9090#hunter2", `, is "web:9090"...`),
		Entry("that is long", "web:9090/"+strings.Repeat("x", 100), `, is "web:9090/`+strings.Repeat("x", 23)+`..."`),
		Entry("a single word, which may be a secret", "hunter2", ""),
		Entry("a token with dots", "eyJhbGciOi.eyJzdWIi.SflKxwRJSM", ""),
		Entry("a user and a password", "me:hunter2", ""),
		Entry("a path with what may be more than a path", "web:9090/x=hunter2", ""),
		Entry("another scheme", "redis://host/x", ""),
		Entry("a user and a password that looks like a port", "me:12345@host/x", ""),
	)

	DescribeTable("says where it is not valid JSON", func(raw, want string) {
		Expect(refusal(raw)).To(MatchError("the document is not valid JSON" + want))
	},
		Entry("on the first line", `{"kind":log}`, " at line 1, byte 9"),
		Entry("on another line", "{\n \"kind\": \"log\",\n}", " at line 3, byte 1"),
		Entry("behind what is one", `{}{}`, " at line 1, byte 3"),
		Entry("at its end, where more should follow", `{"kind":"log"`, ": it ends too early, at line 1, byte 13"),
		Entry("at its end on another line", "{\n \"a\": 1\n", ": it ends too early, at line 2, byte 7"),
	)

	It("quotes no more than the start of a long value, without control characters", func() {
		err := refusal(with(`"kind":"\u001b[31m\u202e` + strings.Repeat("x", 10_000) + `"`))
		Expect(err.Error()).To(MatchRegexp(`^[ -~]{1,199}$`))
	})
})

var _ = Describe("an ID", func() {
	DescribeTable("is refused when it is", func(id string) {
		_, err := session.Decode(id, []byte(`{"kind":"log"}`), defaults())
		Expect(err).To(MatchError(HavePrefix("id ")))
		Expect(err.(*session.InvalidError).Field).To(Equal("id")) //nolint:errorlint // the very type is promised
	},
		Entry("empty", ""), Entry("with NUL", "a\x00b"), Entry("not UTF-8", "\xff"),
		Entry("longer than 512 bytes", strings.Repeat("é", 257)),
	)

	It("may hold colons, braces, line breaks and 512 bytes", func() {
		for _, id := range []string{"a:b", "{}", "\n", strings.Repeat("é", 256)} {
			s, err := session.Decode(id, []byte(`{"kind":"log"}`), defaults())
			Expect(err).NotTo(HaveOccurred())
			Expect(s.ID).To(Equal(id))
		}
	})

	DescribeTable("is a UUID", func(id string, want bool) {
		Expect(session.ValidUUID(id) == nil).To(Equal(want))
	},
		Entry("lower case", "123e4567-e89b-12d3-a456-426614174000", true),
		Entry("upper case", "123E4567-E89B-12D3-A456-426614174000", true),
		Entry("another letter", "123g4567-e89b-12d3-a456-426614174000", false),
		Entry("a dash astray", "123e456-7e89b-12d3-a456-426614174000", false),
		Entry("braces", "{123e4567-e89b-12d3-a456-426614174000}", false),
		Entry("too short", "123e4567", false),
		Entry("a control character", "123e4567-e89b-12d3-a456-42661417400\x01", false),
	)
})
