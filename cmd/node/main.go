package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // zones of tasks, also where the system has none
)

func main() {
	// Room for two, so that none is lost while the first is acted upon.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	a := &app{
		environ: os.Environ(),
		stdin:   os.Stdin,
		stdout:  os.Stdout,
		stderr:  os.Stderr,
		signals: signals,
		started: time.Now(),
		runNode: runNode,
	}
	os.Exit(int(a.run(os.Args[1:])))
}
