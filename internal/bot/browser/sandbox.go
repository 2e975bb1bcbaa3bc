package browser

import (
	"os"
	"strings"
)

// NoSandboxSetting is the operator's setting that runs Chromium without its own
// sandbox.
const NoSandboxSetting = "STANDIN_NO_SANDBOX"

// SandboxError says that Chromium did not start because the system lets it have
// no sandbox. Its text is meant for the operator.
type SandboxError struct {
	Cause error
}

// Error tells how to mend it.
func (e *SandboxError) Error() string {
	return "Chromium finds no usable sandbox on this system; to mend it, allow unprivileged user namespaces " +
		"(Debian: `sysctl kernel.unprivileged_userns_clone=1`; Ubuntu: an AppArmor profile for Chromium, or " +
		"`sysctl kernel.apparmor_restrict_unprivileged_userns=0`; Docker: a seccomp profile that allows clone and unshare), " +
		"or install the setuid helper (Debian: `apt-get install chromium-sandbox`); where the bot's own container " +
		"is wall enough, set " + NoSandboxSetting + "=true"
}

// Unwrap returns what Chromium printed.
func (e *SandboxError) Unwrap() error { return e.Cause }

// sandboxComplaints are what Chromium prints before it gives up. It has no
// other way to tell.
func sandboxComplaints() []string {
	return []string{"No usable sandbox", "The SUID sandbox helper binary", "Failed to move to new namespace"}
}

// explainLaunch turns the failure of a launch into a *SandboxError when it is
// one.
func explainLaunch(err error) error {
	for _, complaint := range sandboxComplaints() {
		if strings.Contains(err.Error(), complaint) {
			return &SandboxError{Cause: err}
		}
	}
	return err
}

// sandboxed decides whether Chromium runs in its own sandbox: always, but as
// root, where it has none, and where the operator says so.
func sandboxed(options Options) bool {
	return !options.asRoot && !options.NoSandbox
}

// warnUnsandboxed tells the operator what is missing.
func warnUnsandboxed(options Options) {
	switch {
	case sandboxed(options):
	case options.asRoot:
		options.Log.Warn("Chromium runs without its own sandbox, which it cannot have as root: run bots as another user")
	default:
		options.Log.Warn("Chromium runs without its own sandbox", "setting", NoSandboxSetting)
	}
}

// asRoot reports whether this process is root.
func asRoot() bool { return os.Geteuid() == 0 }
