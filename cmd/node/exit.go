package main

// exitCode is what the process tells who started it.
type exitCode int

// The exit codes of the public contract.
const (
	exitOK         exitCode = 0
	exitFailure    exitCode = 1
	exitUsage      exitCode = 2   // of the command line or the settings
	exitLeasesLeft exitCode = 3   // the drain deadline passed
	exitForced     exitCode = 130 // a second signal
)
