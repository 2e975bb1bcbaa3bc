// Package chaos tests services under faults. Its tests run several nodes on one
// database, create load as consumers and bots do, and meanwhile kill, stop and
// disconnect nodes. Afterwards a checker reads the whole history (make chaos). The
// package contains only tests.
package chaos
