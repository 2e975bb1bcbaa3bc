//go:build !unix

package recording

import "os/exec"

// ownGroup does nothing: there are no process groups here, and cancelling
// kills the tool alone.
func ownGroup(*exec.Cmd) {}
