package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"standin/internal/account"
	"standin/internal/testing/testbrowser"
)

// TestLogin authorizes standin login in a real browser: sign in, compare the code, allow. The
// key works then, and the link does not work again.
func TestLogin(t *testing.T) {
	t.Parallel()
	page := newPage(t, testbrowser.ForPages(t))
	s, err := startService(t.Context(), newDataDir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	users := account.NewUsers(account.UserSettings{Store: s.Store(), Now: time.Now})
	token, _, err := users.FirstUserToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := users.Accept(t.Context(), token, account.NewUser{
		Name: "Ada", Email: "ada@example.com", Consumer: "crew", Password: testPassword,
	}); err != nil {
		t.Fatal(err)
	}
	config := t.TempDir()
	c := &cli{t, []string{"--config-dir", config}, map[string]string{"BASE": s.BaseURL()}}
	do := func(what string, steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		ctx, cancel := context.WithTimeout(page, 4*time.Minute)
		defer cancel()
		if err := chromedp.Do(ctx, steps...); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	shows := func(element, want string) {
		t.Helper()
		if got, err := chromedp.Run(page, chromedp.Text(chromedp.CSS(element))); err != nil || !strings.Contains(got, want) {
			t.Errorf("the page does not show %q: %q (%v)", want, got, err)
		}
	}
	used := ""
	c.login(func(link, code string) {
		used = link
		do("open the link", chromedp.Navigate(link))
		do("sign in", chromedp.SendKeys(chromedp.CSS(`input[name="email"]`), "ada@example.com"),
			chromedp.SendKeys(chromedp.CSS(`input[name="password"]`), testPassword), chromedp.Click(chromedp.CSS("button.primary")))
		do("see the page", chromedp.WaitVisible(chromedp.CSS(".code")))
		shows(".code", code)
		shows("main", userAgent())
		do("allow it", chromedp.Click(chromedp.CSS("#allow")), chromedp.WaitVisible(chromedp.CSS(`a[href="/keys"]`)))
	})
	c.rows(row{"jobs list", 0, `STATUS`, ``})
	do("open the link again", chromedp.Navigate(used))
	shows("main", "was already used")
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
