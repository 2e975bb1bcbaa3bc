package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"standin/internal/bot/browser"
)

func TestBrowserThatIsMissing(t *testing.T) {
	t.Parallel()
	expect(t, checkBrowser(limited(t), Settings{Browser: "/no/such/browser"}), Fail, "not found", "correct STANDIN_BROWSER")
}

func TestBrowserThatDoesNotStart(t *testing.T) { // not parallel: it changes the environment
	broken := filepath.Join(t.TempDir(), "chromium")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\ntest \"$1\" = --version && echo Chromium 1.2.3 && exit\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	expect(t, checkBrowser(limited(t), Settings{Browser: broken}), Fail, "Chromium 1.2.3", "does not start", "--dump-dom")
	t.Setenv("SSL_CERT_FILE", broken)
	expect(t, checkBrowser(limited(t), Settings{Browser: broken}), Fail, "certificates of SSL_CERT_FILE: "+broken+" has none", "PEM file")
}

// TestSandboxByProcesses checks that the sandbox is detected from the processes.
func TestSandboxByProcesses(t *testing.T) {
	t.Parallel()
	machine := func(browserLine, rendererParent, seccomp string) string {
		folder := t.TempDir()
		process := func(id, parent, arguments, seccomp string) {
			files := map[string]string{
				"cmdline": arguments, "status": "Name:\tchromium\nPPid:\t" + parent + "\nSeccomp:\t" + seccomp + "\n",
				"stat": id + " (chromium) S " + parent + strings.Repeat(" 0", 48),
			}
			if err := os.Mkdir(filepath.Join(folder, id), 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(folder, id, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		process("10", "1", browserLine, "0")
		process("11", "10", "chromium\x00--type=zygote\x00", "0")
		process("12", rendererParent, "chromium --type=renderer --lang=en\x00", seccomp)
		process("20", "1", "chromium\x00--type=renderer\x00", "0") // another browser's
		return folder
	}
	for name, test := range map[string]struct {
		proc string
		on   bool
	}{
		"locked in":         {machine("chromium\x00--headless\x00", "11", "2"), true},
		"started without":   {machine("chromium\x00--no-sandbox\x00", "11", "2"), false},
		"not filtered":      {machine("chromium\x00", "11", "0"), false},
		"of another":        {machine("chromium\x00", "20", "2"), false},
		"no such processes": {t.TempDir(), false},
	} {
		if on, where := sandbox(test.proc, 10); on != test.on || where == "" {
			t.Errorf("%s: sandboxed is %t: %s", name, on, where)
		}
	}
}

// TestSandboxOfARealBrowser checks that a real browser's renderers are found.
func TestSandboxOfARealBrowser(t *testing.T) {
	t.Parallel()
	needTools(t)
	ctx := limited(t)
	running, err := browser.Launch(ctx, browser.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	page, err := running.NewPage(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	if _, renderers := renderersOf("/proc", running.PID()); len(renderers) == 0 {
		t.Error("no renderer is found among the browser's descendants")
	}
}

func TestNamespaceAdviceNamesTheSetting(t *testing.T) {
	t.Parallel()
	for setting, value := range map[string]string{
		"kernel/unprivileged_userns_clone":             "0",
		"kernel/apparmor_restrict_unprivileged_userns": "1",
		"user/max_user_namespaces":                     "0",
	} {
		machine := fstest.MapFS{"proc/sys/" + setting: {Data: []byte(value + "\n")}}
		if advice := namespaceAdvice(machine); advice != "here "+filepath.Dir(setting)+"."+filepath.Base(setting)+" is "+value+
			", which forbids it" {
			t.Errorf("%s: %s", setting, advice)
		}
	}
	free := fstest.MapFS{"proc/sys/user/max_user_namespaces": {Data: []byte("15000\n")}}
	if advice := namespaceAdvice(free); advice != namespaceAdvice(fstest.MapFS{}) {
		t.Errorf("a system that allows it gets %q", advice)
	}
}

// TestFFmpegMissingOrBroken changes PATH, so it does not run in parallel.
func TestFFmpegMissingOrBroken(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	expect(t, checkFFmpeg(limited(t)), Fail, "not found", "apt-get install ffmpeg")
	for _, tool := range []string{"ffmpeg", "ffprobe"} {
		if err := os.WriteFile(filepath.Join(folder, tool), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, checkFFmpeg(limited(t)), Fail, "of unknown version", "cannot finish a recording")
}
