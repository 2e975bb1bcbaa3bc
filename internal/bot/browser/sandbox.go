package browser

import (
	"errors"
	"log/slog"
	"os"
	"strings"
)

// NoSandboxSetting is the operator's setting that runs Chromium without its own
// sandbox.
const NoSandboxSetting = "STANDIN_NO_SANDBOX"

// WarnNoSandbox logs that bots run Chromium without its sandbox, and why.
func WarnNoSandbox(log *slog.Logger, reason string) {
	log.Warn("bots run Chromium without its own sandbox", "reason", reason)
}

// SandboxError reports that Chromium did not start because the system provides no
// sandbox. Its text is for the operator.
type SandboxError struct {
	Cause error
}

// Error lists the ways to fix it.
func (e *SandboxError) Error() string {
	return "Chromium finds no usable sandbox on this system; to fix this, allow unprivileged user namespaces " +
		"(Debian: `sysctl kernel.unprivileged_userns_clone=1`; Ubuntu: an AppArmor profile for Chromium, or " +
		"`sysctl kernel.apparmor_restrict_unprivileged_userns=0`; Docker: a seccomp profile that allows clone and unshare), " +
		"or install the setuid helper (Debian: `apt-get install chromium-sandbox`); if the bot's own container " +
		"isolates it enough, set " + NoSandboxSetting + "=true"
}

// Unwrap returns the error with Chromium's output.
func (e *SandboxError) Unwrap() error { return e.Cause }

// asSandboxError wraps a launch error in a *SandboxError if a missing sandbox is
// the cause.
func asSandboxError(err error) error {
	for _, message := range []string{"No usable sandbox", "The SUID sandbox helper binary", "Failed to move to new namespace"} {
		if strings.Contains(err.Error(), message) {
			return &SandboxError{Cause: err}
		}
	}
	return err
}

// ErrSandboxAsRoot is returned by CheckSandbox. Its text is for the operator.
var ErrSandboxAsRoot = errors.New("the browser has no sandbox as root; run bots as another user, or set " +
	NoSandboxSetting + "=true to run it without its sandbox")

// CheckSandbox returns ErrSandboxAsRoot if Chromium would run without its sandbox
// although the operator did not allow that with NoSandboxSetting. Launch does not
// check it, for tests.
func CheckSandbox(noSandbox bool) error {
	if os.Geteuid() == 0 && !noSandbox {
		return ErrSandboxAsRoot
	}
	return nil
}

// sandboxed reports whether Chromium runs in its own sandbox. Chromium has none if
// it runs as root.
func sandboxed(options Options) bool {
	return !options.runsAsRoot && !options.NoSandbox
}
