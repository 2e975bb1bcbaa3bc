package main

import (
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/testing/testbrowser"
)

// TestLogin authorizes standin login in a real browser: sign in, compare the code, allow. The
// key works then, and the link does not work again.
func TestLogin(t *testing.T) {
	t.Parallel()
	page := testbrowser.OpenTab(t)
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
	used := ""
	c.login(func(link, code string) {
		used = link
		page.Open(link)
		page.Fill(`input[name="email"]`, "ada@example.com")
		page.Fill(`input[name="password"]`, testPassword)
		page.Click("button.primary")
		page.Until(`document.querySelector(".code")?.innerText.includes(` + testbrowser.Quote(code) + `)`)
		page.AwaitText(userAgent())
		page.Click("#allow")
		page.Until(`document.querySelector("a[href='/keys']") !== null`)
	})
	c.rows(row{"jobs list", 0, `STATUS`, ``})
	page.Open(used)
	page.AwaitText("was already used")
}
