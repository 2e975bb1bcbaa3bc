package main

import (
	"os"
	"slices"
	"testing"
)

// TestMain lets the test binary stand in for standin: the tests, and the
// service when it starts bots, run it with a command's name.
func TestMain(m *testing.M) {
	commands := []string{"serve", "bot", "demo", "keys", "consumers", "jobs", "login", "logout", "version"}
	if len(os.Args) > 1 && slices.Contains(commands, os.Args[1]) {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
