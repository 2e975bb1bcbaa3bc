package browser_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"standin/internal/bot/browser"
)

// temporaryDir returns the directory for temporary files of a profile.
func temporaryDir(t *testing.T, profile string) string {
	t.Helper()
	temporary, err := os.Readlink(filepath.Join(profile, "tmp"))
	if err != nil {
		t.Fatal(err)
	}
	return temporary
}

// requireRemoved fails the test if the directory exists.
func requireRemoved(t *testing.T, folder string) {
	t.Helper()
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s still exists: %v", folder, err)
	}
}

func TestProfileIsNotReused(t *testing.T) {
	t.Parallel()
	site := signInSite(t)
	profile := filepath.Join(t.TempDir(), "profile")
	for _, round := range []string{"first", "second"} {
		b := launchWith(t, t.Context(), browser.Options{ProfileDir: profile})
		temporary := temporaryDir(t, profile)
		if title := titleAt(t, t.Context(), b, site.URL); title != "Sign in" {
			t.Errorf("%s browser: title %q", round, title)
		}
		if title := titleAt(t, t.Context(), b, site.URL+"/sign-in"); title != "Sign in" {
			t.Errorf("%s browser: title after sign-in response %q", round, title)
		}
		if title := titleAt(t, t.Context(), b, site.URL); title != "Welcome" {
			t.Errorf("%s browser: title after sign-in %q", round, title)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		requireRemoved(t, profile)
		requireRemoved(t, temporary)
	}
}
