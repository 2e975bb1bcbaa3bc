package main

import (
	"os"
	"strings"
	"testing"
)

// TestMain lets the test binary stand in for standin: the tests, and the
// service when it starts bots, run it with a command's name.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") { // as go test never begins
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
