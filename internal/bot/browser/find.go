package browser

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
)

// NotFoundError reports that no usable browser was found. Its text is for the
// operator.
type NotFoundError struct {
	// Configured is the configured executable, or empty if the usual names were
	// tried.
	Configured string
	// Tried lists the candidates, in order.
	Tried []string
}

// Error says what to correct, or lists the candidates and what to install on this operating system.
func (e *NotFoundError) Error() string {
	if e.Configured != "" {
		return fmt.Sprintf("the configured browser %q is not an executable file; "+
			"correct STANDIN_BROWSER, or leave it unset to use the installed Chromium or Google Chrome", e.Configured)
	}
	advice := "install Chromium or Google Chrome and name its executable in the configuration"
	switch runtime.GOOS {
	case "linux":
		advice = "install it: on Debian with `apt-get install chromium`; on Ubuntu with `apt-get install chromium-browser` " +
			"(a snap) or Google Chrome's own .deb package; on Fedora with `dnf install chromium`; " +
			"on Arch with `pacman -S chromium`; on Alpine with `apk add chromium`"
	case "darwin":
		advice = "install it with `brew install --cask chromium`, or install Google Chrome"
	}
	return fmt.Sprintf("no Chromium or Chrome found (looked for %s); %s", strings.Join(e.Tried, ", "), advice)
}

// Find returns the path of the browser to start: the configured executable (a path or
// a name on PATH) or, if it is empty, the first Chromium or Google Chrome in its usual
// places. The error is a *NotFoundError.
func Find(configured string) (string, error) {
	// headless_shell is not included because it has no tab capture.
	candidates := []string{
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "/opt/google/chrome/chrome",
	}
	switch {
	case configured != "":
		candidates = []string{configured}
	case runtime.GOOS == "darwin":
		candidates = []string{
			"/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "chromium",
		}
	}
	for _, candidate := range candidates {
		if path, err := exec.LookPath(candidate); err == nil {
			return path, nil
		}
	}
	return "", &NotFoundError{Configured: configured, Tried: candidates}
}
