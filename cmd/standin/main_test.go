package main

import (
	"os"
	"strings"
	"testing"

	"standin/internal/demo"
)

// TestMain makes the test binary act as standin when it is run with a command,
// as the tests and the service's launcher do.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") { // go test passes only flags
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, demo.Subcommand()))
	}
	os.Exit(m.Run())
}
