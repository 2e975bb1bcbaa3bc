package browser

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
)

// Mode is whether a browser has windows.
type Mode string

const (
	// Headless is a browser without windows. Pages can tell: its user agent names
	// HeadlessChrome, and navigator.webdriver is true.
	Headless Mode = "headless"
	// Headed is an ordinary browser: its windows are on a virtual display, which
	// belongs to it alone, and it gets input at a person's pace.
	Headed Mode = "headed"
	// Auto is the default of the meeting's platform. It is a setting, not a mode of
	// a browser.
	Auto Mode = "auto"
)

// ModeSetting is the operator's setting of the mode.
const ModeSetting = "STANDIN_BROWSER_MODE"

// displayServer is the program that provides virtual displays.
const displayServer = "Xvfb"

// displayError reports that a headed browser has no display. Its text is for the
// operator: it says how to fix it.
func displayError(cause error) error {
	return fmt.Errorf("no virtual display for a headed browser: %w; install Xvfb (Debian and Ubuntu: `apt-get install xvfb`), or set %s=%s",
		cause, ModeSetting, Headless)
}

// CheckMode returns an error if this machine has no virtual display for the mode.
func CheckMode(mode Mode) error {
	if mode != Headed {
		return nil
	}
	_, err := findDisplayServer()
	return err
}

// findDisplayServer returns the path of the display server.
func findDisplayServer() (string, error) {
	if runtime.GOOS != "linux" {
		return "", displayError(errors.New("virtual displays are used on Linux only"))
	}
	path, err := exec.LookPath(displayServer)
	if err != nil {
		return "", displayError(fmt.Errorf("find %s: %w", displayServer, err))
	}
	return path, nil
}

// barsHeight is the space on the screen for the bars of a window: tabs, address, and up to
// two infobars.
const barsHeight = 240
