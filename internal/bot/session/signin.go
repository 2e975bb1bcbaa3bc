package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"standin/internal/base/retry"
	"standin/internal/bot/browser"
	"standin/internal/bot/ingest"
)

// signInTimeout is how long a sign-in may take.
const signInTimeout = 10 * time.Second

// signInError says why Google did not sign the bot in.
type signInError struct{ account, detail string }

// Error says what its owner has to check.
func (e *signInError) Error() string {
	return "Google did not sign the bot in as " + e.account + ": " + e.detail + ". Check that its user exists, and that its SSO profile in the " +
		"Admin console has the address and the certificate that standin accounts saml prints."
}

// confirmAccount presses the first button of the page on which Google lets a user confirm the first sign-in.
const confirmAccount = `location.pathname.startsWith("/speedbump/") && document.querySelector("button, input[type=submit]")?.click()`

// signInBySAML signs the browser in as the borrowed account: Google asks at an address that no server has, and the page
// there is the service's answer. A signed-in browser has a session cookie of Google's.
func (o *opener) signInBySAML(ctx context.Context, chromium *browser.Browser, page *browser.Page) error {
	ctx, cancel := context.WithTimeout(ctx, signInTimeout)
	defer cancel()
	problems := make(chan string, 1)
	page.AnswerNavigation(func(ctx context.Context, address string) (string, bool) {
		_, query, _ := strings.Cut(address, "?")
		if !strings.HasPrefix(address, ingest.SAMLOrigin+"/") {
			return "", false
		}
		answer, err := o.client.BorrowAccount(ctx, ingest.AccountRequest{SAML: query})
		if err != nil {
			select {
			case problems <- err.Error():
			default:
			}
		}
		return answer.Page, true
	})
	failed := &signInError{account: o.account, detail: "it did not accept the answer in time"}
	if err := page.Navigate(ctx, o.signInURL); err != nil {
		failed.detail = err.Error()
		return failed
	}
	for {
		cookies, err := chromium.Cookies(ctx)
		if err == nil && slices.ContainsFunc(cookies, func(c browser.Cookie) bool { return c.Name == "SID" || c.Name == "__Secure-1PSID" }) {
			return nil
		}
		if err := page.Eval(ctx, confirmAccount, nil); err != nil {
			o.log.Debug("cannot read the page that signs in", "error", err)
		}
		select {
		case failed.detail = <-problems:
			return failed
		default:
		}
		if retry.Sleep(ctx, 200*time.Millisecond) != nil {
			return failed
		}
	}
}
