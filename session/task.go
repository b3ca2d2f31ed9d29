package session

import "leasehold/schedule"

// readTask reads what makes the session a task.
func readTask(doc fields, s *Session, _ Defaults) error {
	var misfire, expression, zone string
	for _, one := range []struct {
		name string
		dst  *string
	}{{"misfire", &misfire}, {"cron", &expression}, {"timezone", &zone}} {
		if err := doc.text(one.name, "", one.dst); err != nil {
			return err
		}
	}
	switch s.Misfire = Misfire(misfire); s.Misfire {
	case "", Once, Skip:
	default:
		return invalid("misfire", "must be once or skip, is %s", quote(misfire))
	}
	if expression == "" {
		return nil
	}
	if raw, found := doc["interval"]; found && !isNull(raw) {
		return invalid("cron", "can't be used together with interval")
	}
	calendar, err := schedule.ParseCalendar(expression, zone)
	if err != nil {
		return invalid("cron", "is %s, but %s", quote(expression), err)
	}
	s.Calendar, s.Interval = calendar, calendar.Shortest()
	if s.Misfire == "" {
		s.Misfire = Once
	}

	return nil
}
