//go:build !unix

package recording

import "os/exec"

// setProcessGroup does nothing: without process groups, only the tool itself is
// killed.
func setProcessGroup(*exec.Cmd) {}

// killedByLimit is always false: there are no resource limits.
func killedByLimit(error) bool { return false }
