// Package testbrowser finds the browser of tests.
package testbrowser

import (
	"os"
	"os/exec"
	"testing"

	"standin/internal/bot/browser"
)

// Full returns the path of the browser that bots use. Without one it skips the test,
// or fails it in CI.
func Full(t testing.TB) string {
	t.Helper()
	path, err := browser.Find("")
	switch {
	case err != nil && os.Getenv("CI") != "":
		t.Fatalf("this test needs a browser: %v", err)
	case err != nil:
		t.Skipf("this test needs a browser: %v", err)
	}
	t.Logf("the browser is %s", path)
	return path
}

// ForPages returns the path of a browser for a test that needs only pages: documents,
// scripts, layout, input, network and WebRTC. It is Chromium's headless shell if
// Debian's package chromium-headless-shell is installed. Otherwise, or if
// STANDIN_TEST_BROWSER is "full", it is the same as Full.
//
// The headless shell has the same engine as Chromium but not its user interface. It
// takes a third of the CPU time to start and to open a page. Bots do not use it because
// it cannot capture tabs. It also has no windows, no extensions and no headed mode.
func ForPages(t testing.TB) string {
	t.Helper()
	if os.Getenv("STANDIN_TEST_BROWSER") != "full" {
		if path, err := exec.LookPath("chromium-headless-shell"); err == nil {
			t.Logf("the browser is %s", path)
			return path
		}
	}
	return Full(t)
}
