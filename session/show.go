package session

import "encoding/json"

// Shown returns the document for people: the fields that mean something here, with
// the secrets that they may hold masked as in logs. What else the document has is
// not shown, since it may be a secret of its own.
func Shown(raw []byte) (map[string]json.RawMessage, error) {
	doc, err := parse(raw)
	if err != nil {
		return nil, err
	}
	shown := map[string]json.RawMessage{}
	for _, name := range []string{
		"kind", "method", "expect", "keep_body", "interval", "cron", "timezone", "misfire", "timeout", "lease_ttl",
		"on_failure", "paused", "isPaused", "labels",
	} {
		if value, ok := doc[name]; ok {
			shown[name] = value
		}
	}
	for name, hide := range map[string]func(string) string{"url": RedactURL, "body": masked} {
		var text string
		if value, ok := doc[name]; ok && json.Unmarshal(value, &text) == nil {
			shown[name] = quoted(hide(text))
		}
	}
	var headers map[string]json.RawMessage
	if value, ok := doc["headers"]; ok && json.Unmarshal(value, &headers) == nil {
		for name := range headers {
			headers[name] = quoted(mask)
		}
		shown["headers"], err = json.Marshal(headers)
	}

	return shown, err
}

// masked hides a text that is not empty.
func masked(text string) string {
	if text == "" {
		return ""
	}

	return mask
}

func quoted(text string) json.RawMessage {
	value, err := json.Marshal(text)
	if err != nil { // a string: can't be
		return json.RawMessage("null")
	}

	return value
}
