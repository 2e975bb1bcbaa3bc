package browser_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/testing/await"
	"standin/internal/testing/testbrowser"
)

// testTimeout limits all browser calls of a test.
const testTimeout = 2 * time.Minute

// limited returns a context that ends after testTimeout.
func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// executable returns the path of the browser that bots use, because it differs from the
// headless shell in what these tests check: flags, windows, permissions, isolation and
// profiles.
func executable(t *testing.T) string {
	t.Helper()
	return testbrowser.Full(t)
}

// sharedBrowser is a browser for all tests that ask about pages and not about the launch:
// a launch takes more CPU time than most of them.
type sharedBrowser struct {
	once    sync.Once
	browser *browser.Browser
	folder  string // contains the profile
	err     error
}

var shared sharedBrowser

// profile returns the profile directory.
func (s *sharedBrowser) profile() string { return filepath.Join(s.folder, "profile") }

// use starts the browser on the first call.
func (s *sharedBrowser) use(t *testing.T) *browser.Browser {
	t.Helper()
	path := executable(t)
	s.once.Do(func() {
		if s.folder, s.err = os.MkdirTemp("", "standin-test-"); s.err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		s.browser, s.err = browser.Launch(ctx, browser.Options{Executable: path, ProfileDir: s.profile()})
	})
	if s.err != nil {
		t.Fatalf("launch: %v", s.err)
	}
	return s.browser
}

// close stops the browser and removes its files.
func (s *sharedBrowser) close() {
	if s.browser != nil {
		if err := s.browser.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "close the browser:", err)
		}
	}
	if s.folder != "" {
		os.RemoveAll(s.folder)
	}
}

// openPage opens a page with the document.
func openPage(t *testing.T, ctx context.Context, b *browser.Browser, document string) (*browser.Page, string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><meta charset=utf-8><meta name=languages content=%q>%s", r.Header.Get("Accept-Language"), document)
	}))
	t.Cleanup(server.Close)
	p, err := b.NewPage(ctx)
	if err != nil {
		t.Fatalf("open a page: %v", err)
	}
	t.Cleanup(p.Close)
	if err := p.Navigate(ctx, server.URL+"/"); err != nil {
		t.Fatalf("navigate: %v", err)
	}
	return p, server.URL
}

// processesIn counts the processes with the directory in their command line.
func processesIn(t *testing.T, directory string) int {
	t.Helper()
	return len(processIDsIn(t, directory))
}

// processIDsIn returns the processes with the path in their command line.
func processIDsIn(t *testing.T, path string) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var ids []int
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(content), path) {
			continue
		}
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func TestPage(t *testing.T) {
	t.Parallel()
	ctx := limited(t)
	b := shared.use(t)
	p, address := openPage(t, ctx, b, `<title>First</title>
		<button id=hidden class=go style="display:none">no</button>
		<div style="height:3000px"></div>
		<button class=go onclick="window.clicked = event.isTrusted">go</button>
		<input id=name value="old" onkeydown="window.keys = (window.keys || 0) + event.isTrusted">
		<iframe id=inner srcdoc="<body style='margin:40px'><button onclick='parent.inner = event.isTrusted'>in</button>"></iframe>`)

	t.Run("language", func(t *testing.T) {
		var languages string
		if err := p.EvalInPage(ctx, "navigator.language + ' ' + document.querySelector('[name=languages]').content", &languages); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(languages, "en-US en-US") {
			t.Errorf("languages = %q, want en-US in the page and in Accept-Language", languages)
		}
	})
	t.Run("click on the first visible match", func(t *testing.T) {
		if err := p.ClickElement(ctx, `document.querySelectorAll(".go")`); err != nil {
			t.Fatal(err)
		}
		var clicked bool
		if err := p.EvalInPage(ctx, "window.clicked", &clicked); err != nil || !clicked {
			t.Errorf("trusted click = %v, %v", clicked, err)
		}
	})
	t.Run("click in a frame", func(t *testing.T) {
		if err := p.ClickElement(ctx, "document.querySelector('#inner').contentDocument.querySelector('button')"); err != nil {
			t.Fatal(err)
		}
		var clicked bool
		if err := p.EvalInPage(ctx, "window.inner", &clicked); err != nil || !clicked {
			t.Errorf("trusted click in the frame = %v, %v", clicked, err)
		}
	})
	t.Run("elements that cannot be clicked", func(t *testing.T) {
		for selector, hidden := range map[string]bool{"#hidden": true, "#nowhere": false} {
			var element *browser.ElementError
			if err := p.ClickElement(ctx, `document.querySelectorAll("`+selector+`")`); !errors.As(err, &element) || element.Hidden != hidden {
				t.Errorf("click on %s: %v, want an ElementError with Hidden %v", selector, err, hidden)
			}
		}
	})
	t.Run("typing replaces the text", func(t *testing.T) {
		const text = "Zoë's Bot 漢 (1)"
		if err := p.TypeInto(ctx, `document.querySelector("#name")`, "#name", text); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Value string
			Keys  int
		}
		if err := p.EvalInPage(ctx, "({Value: document.querySelector('#name').value, Keys: window.keys})", &got); err != nil {
			t.Fatal(err)
		}
		if got.Value != text || got.Keys < len([]rune(text)) {
			t.Errorf("typed %q with %d trusted key events, want %q", got.Value, got.Keys, text)
		}
	})
	t.Run("promises and exceptions", func(t *testing.T) {
		var answer int
		if err := p.EvalInPage(ctx, "Promise.resolve(42)", &answer); err != nil || answer != 42 {
			t.Errorf("promise = %d, %v", answer, err)
		}
		var script *browser.ScriptError
		if err := p.EvalInPage(ctx, "Promise.reject(new Error('no'))", nil); !errors.As(err, &script) ||
			!strings.Contains(script.Description, "no") {
			t.Errorf("rejection = %v, want a ScriptError", err)
		}
	})
	t.Run("microphone and camera", func(t *testing.T) {
		if err := b.GrantMicrophoneAndCamera(ctx, address); err != nil {
			t.Fatal(err)
		}
		var kinds []string
		err := p.EvalInPage(ctx, `navigator.mediaDevices.getUserMedia({audio: true, video: true}).then(s => s.getTracks().map(t => t.kind).sort())`, &kinds)
		if err != nil || fmt.Sprint(kinds) != "[audio video]" {
			t.Errorf("tracks = %v, %v", kinds, err)
		}
	})
	t.Run("dialogs do not block", func(t *testing.T) {
		if err := p.EvalInPage(ctx, "alert('wait'), confirm('sure')", nil); err != nil {
			t.Error(err)
		}
	})
	t.Run("a page that cannot be loaded", func(t *testing.T) {
		var failed *browser.NavigationError
		if err := p.Navigate(ctx, "http://127.0.0.1:1/"); !errors.As(err, &failed) {
			t.Errorf("Navigate = %v, want a NavigationError", err)
		}
	})
	t.Run("calls end with their context", func(t *testing.T) {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		if err := p.EvalInPage(short, "new Promise(() => {})", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Eval = %v, want the deadline", err)
		}
	})
}

// A browser that is killed is gone with all its processes. A script with another name
// starts it, as it does Google Chrome.
func TestKilledBrowser(t *testing.T) {
	t.Parallel()
	executable(t)
	found, err := browser.Find(filepath.Join(programs, wrapper))
	if err != nil {
		t.Fatal(err)
	}
	profile := filepath.Join(t.TempDir(), "profile")
	ctx, b := launchIn(t, browser.Options{Executable: found, ProfileDir: profile})
	p, _ := openPage(t, ctx, b, "<title>x</title>")
	temporary := temporaryDir(t, profile)

	waiting := make(chan error, 1)
	go func() { waiting <- p.EvalInPage(ctx, "new Promise(() => {})", nil) }()
	if err := p.EvalInPage(ctx, "1", nil); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	process, err := os.FindProcess(b.PID())
	if err = errors.Join(err, process.Kill()); err != nil {
		t.Fatal(err)
	}
	var gone *browser.GoneError
	select {
	case err := <-waiting:
		if !errors.As(err, &gone) {
			t.Errorf("pending Eval = %v, want a GoneError", err)
		}
	case <-ctx.Done():
		t.Fatal("a pending call does not return after the browser was killed")
	}
	<-b.Done()
	if took := time.Since(killed); took > 20*time.Second {
		t.Errorf("Done closed %v after the kill", took)
	}
	if left := processesIn(t, profile); left != 0 {
		t.Errorf("%d processes left", left)
	}
	if err := b.Err(); !errors.As(err, &gone) || !strings.Contains(err.Error(), "killed") {
		t.Errorf("Err = %v, want the signal", err)
	}
	if _, err := b.NewPage(ctx); !errors.As(err, &gone) {
		t.Errorf("NewPage = %v, want a GoneError", err)
	}
	t.Run("close removes the profile", func(t *testing.T) {
		if err := b.Close(); err != nil {
			t.Errorf("close a killed browser: %v", err)
		}
		requireRemoved(t, profile)
		requireRemoved(t, temporary)
	})
}

func TestCrashedPage(t *testing.T) {
	t.Parallel()
	ctx := limited(t)
	b := shared.use(t)
	p, _ := openPage(t, ctx, b, "<title>x</title>")
	other, _ := openPage(t, ctx, b, "<title>y</title>")

	waiting := make(chan error, 1)
	go func() { waiting <- p.Crash(ctx) }()
	select {
	case <-p.Crashed():
	case <-ctx.Done():
		t.Fatal("Crashed was not closed")
	}
	if err := <-waiting; !errors.Is(err, browser.ErrPageCrashed) {
		t.Errorf("pending call = %v, want ErrPageCrashed", err)
	}
	if err := p.EvalInPage(ctx, "1", nil); !errors.Is(err, browser.ErrPageCrashed) {
		t.Errorf("Eval = %v, want ErrPageCrashed", err)
	}
	if err := other.EvalInPage(ctx, "1", nil); err != nil {
		t.Errorf("Eval on another page: %v", err)
	}
	other.Close()
	if err := other.EvalInPage(ctx, "1", nil); !errors.Is(err, browser.ErrPageClosed) {
		t.Errorf("Eval on a closed page = %v, want ErrPageClosed", err)
	}
}

// secretVariable is in the environment of the tests. TestBrowserDoesNotInheritEnvironment
// checks that browsers do not get it.
const secretVariable = "STANDIN_TEST_TOKEN"

// botProfileVariable makes the test binary run botProcess.
const botProfileVariable = "STANDIN_TEST_BOT_PROFILE"

func TestMain(m *testing.M) {
	if profile := os.Getenv(botProfileVariable); profile != "" {
		os.Exit(botProcess(profile))
	}
	if profile := os.Getenv(sandboxRoleVariable); profile != "" {
		os.Exit(sandboxProcess(profile))
	}
	if err := os.Setenv(secretVariable, "secret"); err != nil {
		panic(err)
	}
	if err := writePrograms(); err != nil {
		panic(err)
	}
	code := m.Run()
	shared.close()
	os.RemoveAll(programs)
	os.Exit(code)
}

// programs is the folder of brokenBrowser and wrapper. They are written before any test
// starts a process, which would inherit the open file: an open program cannot be executed.
var programs string

const (
	brokenBrowser = "broken-browser"
	wrapper       = "google-chrome" // starts the browser, if there is one
)

func writePrograms() (err error) {
	if programs, err = os.MkdirTemp("", "standin-test-"); err != nil {
		return err
	}
	found, _ := browser.Find("")
	for name, script := range map[string]string{brokenBrowser: brokenScript, wrapper: "exec '" + found + "' \"$@\""} {
		err = errors.Join(err, os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	return err
}

// botProcess launches a browser with two pages, prints "ready", and waits to be
// killed.
func botProcess(profile string) int {
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	mode := browser.Headed
	if browser.CheckMode(mode) != nil {
		mode = browser.Headless
	}
	b, err := browser.Launch(ctx, browser.Options{ProfileDir: profile, Mode: mode})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for range 2 {
		if _, err := b.NewPage(ctx); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	fmt.Println("ready")
	<-ctx.Done()
	return 1
}

func TestBrowserExitsWhenBotIsKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("this test finds processes in /proc, which only Linux has")
	}
	executable(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx := limited(t)
	profile := filepath.Join(t.TempDir(), "profile")
	bot := exec.CommandContext(ctx, self)
	bot.Env = append(os.Environ(), botProfileVariable+"="+profile)
	output, err := bot.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 256)
	length, err := output.Read(answer)
	if printed := string(answer[:length]); err != nil || !strings.HasPrefix(printed, "ready") {
		t.Fatalf("the bot printed %q, %v", printed, err)
	}
	if processesIn(t, profile) < 2 {
		t.Fatal("the bot's browser has no processes")
	}
	if err := bot.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = bot.Wait() // reports the kill
	await.Until(t, "the browser exits", func() bool { return processesIn(t, profile) == 0 })
}
