package bot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"standin/internal/bot/browser"
	"standin/internal/bot/egress"
	"standin/internal/bot/hostpolicy"
)

// buildWalls starts the only way out of the bot's browsers: to the public
// internet, and to what the operator has allowed by name.
func (b *bot) buildWalls(ctx context.Context, target string) error {
	exact := egress.AllowedTargets(b.AllowedHosts)
	if hostpolicy.Check(target, nil) != nil { // the operator's word alone admits it, on whatever port it is
		exact = append(exact, hostpolicy.HostPort(target))
	}
	if b.sdk != nil {
		exact = append(exact, strings.TrimPrefix(b.sdk.Origin(), "http://"))
	}
	var err error
	b.egress, err = egress.Start(ctx, egress.Settings{Allowed: exact, Log: b.Log})
	if err != nil {
		return fmt.Errorf("wall in the browser: %w", err)
	}
	b.Recorder.AllowAddress = b.egress.Allow
	return nil
}

// mayOpen reports whether the meeting's page may go to an address.
func (b *bot) mayOpen(address string) bool {
	if b.sdk != nil && hostpolicy.Origin(address) == b.sdk.Origin() {
		return true
	}
	return hostpolicy.NavigationAllowed(address, b.AllowedHosts)
}

// What an operator puts into the folder for signed-in joining: for each
// platform a file of cookies, a browser's profile, or both.
const (
	profileSuffix = ".profile"
	cookieSuffix  = ".cookies.json"
	netscape      = ".cookies.txt"
)

// signIn is how this meeting's platform is told who visits.
type signIn struct {
	profile string // folder to copy; empty for none
	cookies []browser.Cookie
}

// readSignIn reads what the operator has supplied for the meeting's platform;
// nothing, when there is no folder or nothing in it for this platform.
func (b *bot) readSignIn() (signIn, error) {
	if b.SignInDir == "" {
		return signIn{}, nil
	}
	var found signIn
	base := filepath.Join(b.SignInDir, string(b.Platform))
	switch _, err := os.Stat(base + profileSuffix); {
	case err == nil:
		found.profile = base + profileSuffix
	case !errors.Is(err, fs.ErrNotExist):
		return signIn{}, fmt.Errorf("look for a browser profile to sign in with: %w", err)
	}
	for _, suffix := range []string{cookieSuffix, netscape} {
		cookies, err := browser.LoadCookies(base + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return signIn{}, fmt.Errorf("read the cookies to sign in with: %w", err)
		}
		found.cookies = append(found.cookies, cookies...)
	}
	if found.profile == "" && len(found.cookies) == 0 {
		return signIn{}, nil
	}
	b.Log.Info("joining signed in", "profile", found.profile != "", "cookies", len(found.cookies))
	return found, nil
}

// setCookies signs a browser in. Of many cookies a few may be refused, such as
// those that have expired; the meeting's page will tell whether they mattered.
func (b *bot) setCookies(ctx context.Context, chromium *browser.Browser) error {
	err := chromium.SetCookies(ctx, b.signedIn.cookies)
	if refused := (*browser.RefusedCookiesError)(nil); errors.As(err, &refused) {
		b.Log.Warn("the browser refuses some cookies", "error", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("sign the browser in: %w", err)
	}
	return nil
}
