package main

import (
	"flag"
	"os"
	"strings"
	"sync"
	"testing"
)

// parallelTests is the number of tests that run at once unless the flag -parallel
// sets it. Most of their time, tests wait for a bot or a service, so that more of them
// than there are cores can run.
const parallelTests = "8"

// atExit ends what the tests share.
var atExit struct {
	sync.Mutex
	ends []func()
}

func endAtExit(end func()) {
	atExit.Lock()
	defer atExit.Unlock()
	atExit.ends = append(atExit.ends, end)
}

// TestMain makes the test binary act as standin when it is run with a command,
// as the tests and the service's launcher do.
func TestMain(m *testing.M) {
	if os.Getenv("COMP_LINE") != "" || len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") { // go test passes only flags
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	// Before the flags are parsed, so that the command line takes precedence.
	if err := flag.Set("test.parallel", parallelTests); err != nil {
		panic(err)
	}
	code := m.Run()
	for _, end := range atExit.ends {
		end()
	}
	os.Exit(code)
}
