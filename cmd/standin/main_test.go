package main

import (
	"flag"
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
	flag.Parse()
	// Most of these tests wait for meetings in real time.
	if err := flag.Set("test.parallel", "3"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
