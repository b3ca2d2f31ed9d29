package session

import "time"

// readKind reads who works on the session.
func readKind(doc fields, s *Session, _ Defaults) error {
	var kind string
	if err := doc.text("kind", "", &kind); err != nil {
		return err
	}
	switch s.Kind = Kind(kind); s.Kind {
	case "":
		s.Kind = HTTP
	case HTTP, Log, External:
	default:
		return invalid("kind", "must be http, log or external, is %s", quote(kind))
	}

	return nil
}

// readRhythm reads the durations, and what follows a failure.
func readRhythm(doc fields, s *Session, d Defaults) error {
	s.Interval, s.Timeout = orElse(d.Interval, defaultInterval), orElse(d.Timeout, defaultTimeout)
	for _, one := range []struct {
		name     string
		dst      *time.Duration
		low, top time.Duration
	}{
		{"interval", &s.Interval, minInterval, maxInterval},
		{"timeout", &s.Timeout, minTimeout, maxTimeout},
		{"lease_ttl", &s.LeaseTTL, minLeaseTTL, maxLeaseTTL},
	} {
		if err := doc.duration(one.name, one.dst, one.low, one.top); err != nil {
			return err
		}
	}

	var onFailure string
	if err := doc.text("on_failure", "", &onFailure); err != nil {
		return err
	}
	switch s.OnFailure = OnFailure(onFailure); s.OnFailure {
	case "":
		s.OnFailure = Keep
	case Keep, Release:
	default:
		return invalid("on_failure", "must be keep or release, is %s", quote(onFailure))
	}

	return nil
}

// readPaused reads both spellings; either pauses.
func readPaused(doc fields, s *Session, _ Defaults) error {
	for _, name := range []string{"paused", "isPaused"} {
		var paused bool
		if err := doc.read(name, "", "a boolean", &paused); err != nil {
			return err
		}
		s.Paused = s.Paused || paused
	}

	return nil
}

func readLabels(doc fields, s *Session, _ Defaults) (err error) {
	s.Labels, err = doc.texts("labels")

	return err
}

// readExpect reads which answers count as success.
func readExpect(doc fields, s *Session, _ Defaults) error {
	var expect fields
	if err := doc.read("expect", "", "an object", &expect); err != nil {
		return err
	}
	if err := expect.read("status", "expect.", "a list of whole numbers", &s.Expect.Status); err != nil {
		return err
	}
	for _, status := range s.Expect.Status {
		if status < 100 || status > 599 {
			return invalid("expect.status", "must be from 100 to 599, is %d", status)
		}
	}

	return expect.text("body_contains", "expect.", &s.Expect.BodyContains)
}

func readKeepBody(doc fields, s *Session, _ Defaults) error {
	const field = "keep_body"
	if err := doc.read(field, "", "a whole number of bytes", &s.KeepBody); err != nil {
		return err
	}
	if s.KeepBody < 0 || s.KeepBody > maxKeepBody {
		return invalid(field, "must be from 0 to %d bytes, is %d", maxKeepBody, s.KeepBody)
	}

	return nil
}

// orElse returns the duration, or the other one where it is zero.
func orElse(d, other time.Duration) time.Duration {
	if d == 0 {
		return other
	}

	return d
}
