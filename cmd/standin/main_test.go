package main

import (
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"standin/internal/demo"
)

// TestMain makes the test binary act as standin when it is run with a command,
// as the tests and the service's launcher do, or asked for completions.
func TestMain(m *testing.M) {
	isCommand := len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") // go test passes only flags
	if isCommand || os.Getenv("COMP_LINE") != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, func(to terminal) kong.Option {
			return demo.Option(demo.Output{Out: to.out, Err: to.err, Screen: unescaped(to.err)})
		}))
	}
	os.Exit(m.Run())
}
