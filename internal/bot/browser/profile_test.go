package browser_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"standin/internal/bot/browser"
)

// temporaryOf returns the folder for temporary files that belongs to a profile.
func temporaryOf(t *testing.T, profile string) string {
	t.Helper()
	temporary, err := os.Readlink(filepath.Join(profile, "tmp"))
	if err != nil {
		t.Fatal(err)
	}
	return temporary
}

// gone fails the test for a folder that is still there.
func gone(t *testing.T, folder string) {
	t.Helper()
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", folder, err)
	}
}

func TestCrashedBrowsersProfileIsWiped(t *testing.T) {
	t.Parallel()
	ctx, b, profile := launch(t)
	openPage(t, ctx, b, "<title>x</title>")
	temporary := temporaryOf(t, profile)
	process, err := os.FindProcess(b.PID())
	if err = errors.Join(err, process.Kill()); err != nil {
		t.Fatal(err)
	}
	<-b.Done()
	if err := b.Close(); err != nil {
		t.Errorf("closing a browser that crashed: %v", err)
	}
	gone(t, profile)
	gone(t, temporary)
}

func TestEachBrowserStartsAfresh(t *testing.T) {
	t.Parallel()
	wall := signInWall(t)
	profile := filepath.Join(t.TempDir(), "profile")
	for _, visit := range []string{"first", "second"} {
		b := launchWith(t, t.Context(), browser.Options{ProfileDir: profile})
		temporary := temporaryOf(t, profile)
		if title := titleAt(t, t.Context(), b, wall.URL); title != "Sign in" {
			t.Errorf("at the %s visit the page is called %q", visit, title)
		}
		if title := titleAt(t, t.Context(), b, wall.URL+"/sign-in"); title != "Sign in" {
			t.Errorf("signing in at the %s visit brings %q", visit, title)
		}
		if title := titleAt(t, t.Context(), b, wall.URL); title != "Welcome" {
			t.Errorf("signed in at the %s visit, the page is called %q", visit, title)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		gone(t, profile)
		gone(t, temporary)
	}
}
