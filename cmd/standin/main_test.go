package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"standin/internal/demo"
)

// parallelTests is the number of tests that run at once unless the flag -parallel
// sets it. Most of their time, tests wait for a browser to join or for seconds of a
// recording, so that more of them than there are cores can run.
const parallelTests = "4"

// atExit ends what the tests share.
var atExit []func()

// TestMain makes the test binary act as standin when it is run with a command,
// as the tests and the service's launcher do.
func TestMain(m *testing.M) {
	if os.Getenv("COMP_LINE") != "" || len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") { // go test passes only flags
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, demo.Command()))
	}
	// Before the flags are parsed, so that the command line takes precedence.
	if err := flag.Set("test.parallel", parallelTests); err != nil {
		panic(err)
	}
	code := m.Run()
	for _, end := range atExit {
		end()
	}
	os.Exit(code)
}
