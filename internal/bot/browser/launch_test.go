package browser_test

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"standin/internal/bot/browser"
)

// attempt is what a program that does not start as a browser should was started with.
type attempt struct {
	err         error    // of Launch
	arguments   []string // none if it was not started
	environment map[string]string
	files       []string // of the profile, after their modes
	log         string
	profile     string
}

// brokenScript notes, beside the profile, what it got, and exits.
const brokenScript = `find "$HOME" -type f -printf '%m %P\n' > "$HOME/../files"
env > "$HOME/../environment"
printf '%s\n' "$@" > "$HOME/../arguments"
echo no display at all >&2
exit 1`

// attemptLaunch launches brokenBrowser.
func attemptLaunch(t *testing.T, options browser.Options) attempt {
	t.Helper()
	var log bytes.Buffer
	a := attempt{profile: filepath.Join(t.TempDir(), "profile"), environment: make(map[string]string)}
	if options.ProfileDir != "" {
		a.profile = options.ProfileDir
	}
	options.Executable, options.ProfileDir, options.Log = filepath.Join(programs,
		brokenBrowser), a.profile, slog.New(slog.NewTextHandler(&log, nil))
	b, err := browser.Launch(t.Context(), options)
	if err == nil {
		_ = b.Close()
		t.Fatal("Launch returned no error")
	}
	a.err, a.log = err, log.String()
	noted := func(what string) []string {
		content, err := os.ReadFile(filepath.Join(filepath.Dir(a.profile), what))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.FieldsFunc(string(content), func(r rune) bool { return r == '\n' })
	}
	a.files, a.arguments = noted("files"), noted("arguments")
	for _, variable := range noted("environment") {
		name, value, _ := strings.Cut(variable, "=")
		a.environment[name] = value
	}
	return a
}

// TestCommandLine checks the flags that isolate pages, and that the error of Launch has what
// the browser printed.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	const proxy, checks = "--proxy-server=http://127.0.0.1:9", "--enable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebRTC"
	const media, loopback, sandbox = "--webrtc-ip-handling-policy=disable_non_proxied_udp", "--allow-loopback-in-peer-connection", "--no-sandbox"
	root := os.Geteuid() == 0
	for name, c := range map[string]struct {
		options browser.Options
		want    map[string]bool
	}{
		"no proxy": {
			browser.Options{}, map[string]bool{"--headless=new": true, "--proxy-server=": false, checks: false, loopback: false, sandbox: root},
		},
		"proxy": {
			browser.Options{Proxy: "127.0.0.1:9"},
			map[string]bool{proxy: true, "--proxy-bypass-list=<-loopback>": true, "--disable-quic": true, checks: true, media: false},
		},
		"media through proxy": {
			browser.Options{Proxy: "127.0.0.1:9", MediaThroughProxy: true}, map[string]bool{proxy: true, checks: true, media: true},
		},
		"replica":    {browser.Options{Proxy: "127.0.0.1:9", LoopbackPeers: true}, map[string]bool{proxy: true, checks: false, loopback: true}},
		"no sandbox": {browser.Options{NoSandbox: true}, map[string]bool{sandbox: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := attemptLaunch(t, c.options)
			if !strings.Contains(a.err.Error(), "no display at all") {
				t.Errorf("Launch = %v, want the browser's output", a.err)
			}
			c.want["--user-data-dir="+a.profile], c.want["--disable-extensions"], c.want["--enable-automation"] = true, true, false
			for flag, want := range c.want {
				if found := slices.ContainsFunc(a.arguments, func(argument string) bool {
					return argument == flag || flag[len(flag)-1] == '=' && strings.HasPrefix(argument, flag)
				}); found != want {
					t.Errorf("%s: %v, want %v; the arguments are %q", flag, found, want, a.arguments)
				}
			}
			if warned := strings.Count(a.log, "without its own sandbox"); (warned == 1) != (c.options.NoSandbox || root) {
				t.Errorf("%d warnings: %s", warned, a.log)
			}
			requireRemoved(t, a.profile)
		})
	}
}

func TestBrowserDoesNotInheritEnvironment(t *testing.T) {
	t.Parallel()
	environment := attemptLaunch(t, browser.Options{}).environment
	if _, inherited := environment[secretVariable]; inherited || environment["PATH"] == "" {
		t.Errorf("the browser inherited %q", slices.Sorted(maps.Keys(environment)))
	}
}

func TestLaunchRejectsNonEmptyProfile(t *testing.T) {
	t.Parallel()
	profile := t.TempDir()
	if err := os.WriteFile(filepath.Join(profile, "Cookies"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if a := attemptLaunch(t, browser.Options{ProfileDir: profile}); len(a.arguments) > 0 || !strings.Contains(a.err.Error(), "is not empty") {
		t.Errorf("Launch = %v, and the browser got %q", a.err, a.arguments)
	}
	if _, err := os.Stat(filepath.Join(profile, "Cookies")); err != nil {
		t.Errorf("Launch changed the rejected profile: %v", err)
	}
}

// Only cookies and page storage of a seed profile are copied, for this user only.
func TestSeedProfile(t *testing.T) {
	t.Parallel()
	seed := t.TempDir()
	if err := os.Chmod(seed, 0o700); err != nil {
		t.Fatal(err)
	}
	wanted := []string{"Default/IndexedDB/https_teams.test_0.indexeddb.leveldb/CURRENT", "Default/Cookies", "Default/Network/Cookies"}
	for _, name := range append([]string{
		"Default/IndexedDB/https_teams.test_0.indexeddb.leveldb/LOCK", "Default/Login Data", "Default/Extensions/abc/manifest.json",
		"Default/Cache/marker", "First Run Marker",
	}, wanted...) {
		path := filepath.Join(seed, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("content"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var copied []string
	for _, file := range attemptLaunch(t, browser.Options{SeedProfile: seed}).files {
		mode, name, _ := strings.Cut(file, " ")
		if strings.Contains(name, "/") && name != "Default/Preferences" {
			copied = append(copied, name)
		}
		if mode != "600" {
			t.Errorf("%s has the mode %s", name, mode)
		}
	}
	if slices.Sort(wanted); !slices.Equal(slices.Sorted(slices.Values(copied)), wanted) {
		t.Errorf("copied %q, want %q", copied, wanted)
	}
}
