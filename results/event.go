package results

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"leasehold/lease"
)

// Type is the type of all events, ContentType what an event is in JSON.
const (
	Type        = "leasehold.poll.result"
	ContentType = "application/cloudevents+json"
)

// Event is a result as a CloudEvent 1.0.
type Event struct {
	SpecVersion string `json:"specversion"`
	// ID is session, token and sequence with slashes between, the session
	// percent-encoded. No two results have the same.
	ID string `json:"id"`
	// Source is /sessions/ and the session, percent-encoded.
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Time            time.Time `json:"time"` // the poll's end
	DataContentType string    `json:"datacontenttype"`
	// Token and Sequence are extension attributes. Strings, since CloudEvents has
	// integers of 32 bits only.
	Token    string `json:"token"`
	Sequence string `json:"sequence"`
	Data     Data   `json:"data"`
}

// Data is what a poll brought. Times are of the Redis server's clock.
type Data struct {
	Session string `json:"session"` // as it is
	Holder  string `json:"holder"`
	// Scheduled is the slot that was served; for a first poll, which has none, Started.
	Scheduled  time.Time `json:"scheduled"`
	Started    time.Time `json:"started"`
	DelayMS    int64     `json:"delay_ms"` // from Scheduled to Started
	DurationMS int64     `json:"duration_ms"`
	OK         bool      `json:"ok"`
	Class      string    `json:"class"`
	Error      string    `json:"error,omitempty"`
	Failures   int       `json:"failures"` // in a row, this one included
	Status     int       `json:"status,omitempty"`
	Bytes      int64     `json:"bytes"`
	// Body is the beginning of the answer where the document keeps it; what is not
	// UTF-8 is in BodyBase64 instead.
	Body       string `json:"body,omitempty"`
	BodyBase64 []byte `json:"body_base64,omitempty"`
}

// Message is an event on its way.
type Message struct {
	ID, Session string
	JSON        []byte
}

// Encode makes the event of a result.
func Encode(g lease.Grant, r lease.Result) Message {
	e := event(g, r)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		// Nothing in it can fail but a year of five digits, which no clock shows.
		return Message{ID: e.ID, Session: g.Session, JSON: []byte("{}")}
	}
	return Message{ID: e.ID, Session: g.Session, JSON: bytes.TrimSuffix(b.Bytes(), []byte("\n"))}
}

func event(g lease.Grant, r lease.Result) Event {
	session := url.PathEscape(g.Session)
	token, sequence := strconv.FormatInt(int64(g.Token), 10), strconv.FormatInt(r.Sequence, 10)
	scheduled := r.Due
	if scheduled.IsZero() {
		scheduled = r.Started
	}
	e := Event{
		SpecVersion: "1.0", Type: Type, DataContentType: "application/json",
		ID: session + "/" + token + "/" + sequence, Source: "/sessions/" + session,
		Time: moment(r.Started.Add(r.Duration)), Token: token, Sequence: sequence,
		Data: Data{
			Session: g.Session, Holder: g.Holder,
			Scheduled: moment(scheduled), Started: moment(r.Started),
			DelayMS: r.Started.Sub(scheduled).Milliseconds(), DurationMS: r.Duration.Milliseconds(),
			OK: r.OK, Class: r.Class, Error: r.ErrorText(), Failures: r.Failures,
			Status: r.Status, Bytes: r.Bytes,
		},
	}
	if utf8.Valid(r.Body) {
		e.Data.Body = string(r.Body)
	} else {
		e.Data.BodyBase64 = r.Body
	}
	return e
}

// moment is a time as it is shown: UTC, milliseconds.
func moment(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
