package browser_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"standin/internal/bot/browser"
)

// signedInProfile returns a user data directory with a session cookie.
func signedInProfile(t *testing.T, ctx context.Context, address string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "operators")
	arguments := []string{"--headless=new", "--password-store=basic", "--user-data-dir=" + folder, "--no-first-run", "--dump-dom", address}
	if os.Geteuid() == 0 {
		arguments = append(arguments, "--no-sandbox")
	}
	command := exec.CommandContext(ctx, executable(t), arguments...)
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("run the browser: %v\n%s", err, output)
	}
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

// A browser with a copy of a profile is signed in. Close removes the copy and all processes.
func TestSeedProfileIsSignedIn(t *testing.T) {
	t.Parallel()
	ctx := limited(t)
	site := signInSite(t)
	seed := signedInProfile(t, ctx, site.URL+"/sign-in")
	profile := filepath.Join(t.TempDir(), "profile")
	before := listing(t, seed)
	b := launchWith(t, ctx, browser.Options{SeedProfile: seed, ProfileDir: profile})
	temporary := temporaryDir(t, profile)
	p := openAt(t, ctx, b, site.URL)
	if title, err := p.Title(ctx); err != nil || title != "Welcome" {
		t.Errorf("title with the profile: %q, %v", title, err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if left := processesIn(t, profile); left != 0 {
		t.Errorf("%d processes left", left)
	}
	requireRemoved(t, profile)
	requireRemoved(t, temporary)
	var gone *browser.GoneError
	if err := p.EvalInPage(ctx, "1", nil); !errors.As(err, &gone) || !errors.Is(err, browser.ErrClosed) {
		t.Errorf("Eval after Close = %v, want a GoneError with ErrClosed", err)
	}
	if after := listing(t, seed); after != before {
		t.Errorf("the source profile changed from\n%s\nto\n%s", before, after)
	}
}

// listing returns the files of a directory with modes and times.
func listing(t *testing.T, folder string) string {
	t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			list.WriteString(path + " " + info.Mode().String() + " " + info.ModTime().String() + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.String()
}

func TestLaunchRejectsInvalidSeedProfile(t *testing.T) {
	t.Parallel()
	cookies := filepath.Join("Default", "Cookies")
	tests := map[string]struct {
		make func(seed string) error
		want string
	}{
		"nothing there":  {func(seed string) error { return os.Remove(seed) }, "no such file"},
		"empty":          {func(string) error { return nil }, "--password-store=basic"},
		"a file":         {func(seed string) error { return errors.Join(os.Remove(seed), os.WriteFile(seed, nil, 0o600)) }, "not a directory"},
		"open to others": {func(seed string) error { return os.Chmod(seed, 0o750) }, "chmod 700"},
		"in use": {func(seed string) error {
			return errors.Join(os.Mkdir(filepath.Join(seed, "Default"), 0o700), os.WriteFile(filepath.Join(seed, cookies), nil, 0o600),
				os.Symlink("host-123", filepath.Join(seed, "SingletonLock")))
		}, "close that browser"},
		"a link for a file": {func(seed string) error {
			return errors.Join(os.Mkdir(filepath.Join(seed, "Default"), 0o700), os.Symlink("/etc/passwd", filepath.Join(seed, cookies)))
		}, "Cookies in it is not a regular file"},
		"a link for a folder": {func(seed string) error {
			return errors.Join(os.Mkdir(filepath.Join(seed, "Default"), 0o700), os.Symlink("/etc", filepath.Join(seed, "Default", "IndexedDB")))
		}, "IndexedDB in it is not a regular file"},
		"too large": {func(seed string) error {
			return errors.Join(os.Mkdir(filepath.Join(seed, "Default"), 0o700), os.WriteFile(filepath.Join(seed, cookies), nil, 0o600),
				os.Truncate(filepath.Join(seed, cookies), 513<<20))
		}, "larger than 512 MiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := filepath.Join(t.TempDir(), "seed")
			if err := errors.Join(os.Mkdir(seed, 0o700), test.make(seed)); err != nil {
				t.Fatal(err)
			}
			a := attemptLaunch(t, browser.Options{SeedProfile: seed})
			if len(a.arguments) > 0 || !strings.Contains(a.err.Error(), test.want) || !strings.Contains(a.err.Error(), seed) {
				t.Errorf("Launch = %v, want it to include the path and %q", a.err, test.want)
			}
			requireRemoved(t, a.profile)
		})
	}
}
