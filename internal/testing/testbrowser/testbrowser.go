// Package testbrowser finds the browser of tests. Tests that need one are long: they
// are skipped with -short, except for the visits of package session.
package testbrowser

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"standin/internal/bot/browser"
)

// Visit returns the path of the browser that bots use, also with -short. It is only for
// the few visits of package session that show joining, recording, speaking and leaving
// on each platform. Without a browser it skips the test, or fails it in CI.
func Visit(t testing.TB) string {
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

// VisitForPages is Visit for a visit that does not record. It returns the same browser
// as ForPages, also with -short.
func VisitForPages(t testing.TB) string {
	t.Helper()
	if os.Getenv("STANDIN_TEST_BROWSER") != "full" {
		if path, err := exec.LookPath("chromium-headless-shell"); err == nil {
			t.Logf("the browser is %s", path)
			return path
		}
	}
	return Visit(t)
}

// Full returns the path of the browser that bots use. It skips the test with -short.
// Without a browser it skips the test, or fails it in CI.
func Full(t testing.TB) string {
	t.Helper()
	skipShort(t)
	return Visit(t)
}

// ForPages returns the path of a browser for a test that needs only pages: documents,
// scripts, layout, input, network and WebRTC. It is Chromium's headless shell if
// Debian's package chromium-headless-shell is installed. Otherwise, or if
// STANDIN_TEST_BROWSER is "full", it is the same as Full. It skips the test with -short.
//
// The headless shell has the same engine as Chromium but not its user interface. It
// takes a third of the CPU time to start and to open a page. Bots do not use it because
// it cannot capture tabs. It also has no windows, no extensions and no headed mode.
func ForPages(t testing.TB) string {
	t.Helper()
	skipShort(t)
	return VisitForPages(t)
}

// Launch starts the browser of ForPages, which is closed with the test.
func Launch(t testing.TB, options browser.Options) *browser.Browser {
	t.Helper()
	options.Executable, options.ProfileDir, options.LoopbackPeers = ForPages(t), filepath.Join(t.TempDir(), "profile"), true
	running, err := browser.Launch(t.Context(), options)
	if err != nil {
		t.Fatalf("launching the browser: %v", err)
	}
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
	})
	return running
}

func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("long: make check-long")
	}
}
