package main

import (
	"bufio"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/creack/pty"

	"standin/internal/account"
	"standin/internal/service"
	"standin/internal/testing/testbrowser"
)

// TestLogin runs standin login on a terminal and authorizes it in a real browser:
// sign in, compare the code, allow. The key must work, and its file must be
// readable by the owner only.
func TestLogin(t *testing.T) {
	t.Parallel()
	path := testbrowser.ForPages(t)
	s := newService(t)
	users := account.NewUsers(account.UserSettings{Store: s.Store(), Now: time.Now})
	token, _, err := users.FirstUserToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const password = "correct horse battery staple"
	if _, err := users.Accept(t.Context(), token, account.NewUser{Name: "Ada", Email: "ada@example.test", Consumer: "crew", Password: password}); err != nil {
		t.Fatal(err)
	}

	config := t.TempDir() + "/standin"
	command := exec.CommandContext(t.Context(), os.Args[0], "login", "--no-browser", "--url", s.BaseURL(), "--config-dir", config)
	terminal, err := pty.StartWithSize(command, &pty.Winsize{Rows: 24, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	screen := bufio.NewReader(terminal)
	link := shown(t, screen, regexp.MustCompile(`http://\S+/cli\?nonce=\S+`))
	code := shown(t, screen, regexp.MustCompile(`[A-Z]{4}-[A-Z]{4}`))

	page := newPage(t, path)
	do := func(what string, steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		ctx, cancel := context.WithTimeout(page, 4*time.Minute)
		defer cancel()
		if err := chromedp.Do(ctx, steps...); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	do("open the link", chromedp.Navigate(link))
	do("sign in", chromedp.SendKeys(chromedp.CSS(`input[name="email"]`), "ada@example.test"),
		chromedp.SendKeys(chromedp.CSS(`input[name="password"]`), password), chromedp.Click(chromedp.CSS("button.primary")))
	do("see the page", chromedp.WaitVisible(chromedp.CSS(".code")))
	if got, err := chromedp.Run(page, chromedp.Text(chromedp.CSS(".code"))); err != nil || strings.TrimSpace(got) != code {
		t.Errorf("the page shows the code %q, the terminal %q (%v)", got, code, err)
	}
	if got, err := chromedp.Run(page, chromedp.Text(chromedp.CSS("main"))); err != nil || !strings.Contains(got, userAgent()) {
		t.Errorf("the page does not show the user agent %q: %q (%v)", userAgent(), got, err)
	}
	do("allow it", chromedp.Click(chromedp.CSS("#allow")), chromedp.WaitVisible(chromedp.CSS(`a[href="/keys"]`)))

	shown(t, screen, regexp.MustCompile(`signed in to \S+ as ada@example\.test`))
	if err := command.Wait(); err != nil {
		t.Errorf("login ended with %v", err)
	}
	stored, err := loadCredentials(config)
	if err != nil || !strings.HasPrefix(stored.APIKey, "standin_live_") {
		t.Fatalf("no key was stored: %v", err)
	}
	if info, err := os.Stat(credentialsPath(config)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the key has mode %v (%v)", info.Mode(), err)
	}
	mine := testCLI{base: s.BaseURL(), config: config}
	if out, _ := mine.run(t, 0, "jobs", "list"); !strings.Contains(out, "STATUS") {
		t.Errorf("the key's jobs: %s", out)
	}
	do("open the link again", chromedp.Navigate(link))
	if got, err := chromedp.Run(page, chromedp.Text(chromedp.CSS("main"))); err != nil || !strings.Contains(got, "was already used") {
		t.Errorf("the link works again: %q (%v)", got, err)
	}
}

// shown reads the terminal until a line matches.
func shown(t *testing.T, screen *bufio.Reader, what *regexp.Regexp) string {
	t.Helper()
	var seen strings.Builder
	for {
		text, err := screen.ReadString('\n')
		seen.WriteString(text)
		if found := what.FindString(text); found != "" {
			return found
		}
		if err != nil {
			t.Fatalf("the terminal never shows %s, only:\n%s", what, seen.String())
		}
	}
}

// newPage opens a browser.
func newPage(t *testing.T, path string) context.Context {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.Env("TMPDIR=" + t.TempDir()),
		chromedp.Flag("headless", "new"), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("no-first-run", true), chromedp.Flag("password-store", "basic"),
	}
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, end := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(end)
	ctx, closeIt := chromedp.NewContext(ctx)
	t.Cleanup(closeIt)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

// newService starts a service. Jobs of test keys run in the simulator.
func newService(t *testing.T) *service.Service {
	t.Helper()
	s, err := service.Start(t.Context(), service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{DataDir: newDataDir(t)}, LauncherSettings: service.LauncherSettings{Launcher: "manual"}, IngestSigningKey: "key", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the service: %v", err)
		}
	})
	return s
}
