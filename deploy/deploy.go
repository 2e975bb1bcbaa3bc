// Package deploy embeds the files of this directory that the binary needs.
package deploy

import _ "embed"

//go:embed seccomp.json
var seccompProfile string

// SeccompProfile returns the seccomp profile of bots in containers, as JSON. It
// allows Chromium's sandbox and forbids what no bot needs.
func SeccompProfile() string { return seccompProfile }
