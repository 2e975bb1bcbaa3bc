// Package gobuild tells tests how to build programs.
package gobuild

import (
	"os"
	"strings"
)

// Flags returns the flags of go build: the lines of STANDIN_TEST_BUILD_FLAGS, or
// none. scripts/test.sh sets it to the flags of the tests, so that a package that
// both need is compiled once.
func Flags() []string {
	return strings.FieldsFunc(os.Getenv("STANDIN_TEST_BUILD_FLAGS"), func(r rune) bool { return r == '\n' })
}
