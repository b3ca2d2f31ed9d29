package config

import "leasehold/session"

// Defaults are for documents that name no interval or timeout.
func (c Config) Defaults() session.Defaults {
	return session.Defaults{Interval: c.PollInterval, Timeout: c.PollTimeout}
}

// CheckID refuses IDs that are not of the form wanted; nil: any will do.
func (c Config) CheckID() func(id string) error {
	if c.SessionIDFormat == UUIDID {
		return session.ValidUUID
	}
	return nil
}
