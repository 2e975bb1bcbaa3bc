package browser

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"standin/internal/jobs/job"
)

// Suffixes of the files in the folder for signed-in joining. Each platform may
// have a file of cookies, a browser profile, or both.
const (
	profileSuffix         = ".profile"
	jsonCookiesSuffix     = ".cookies.json"
	netscapeCookiesSuffix = ".cookies.txt"
)

// SignInSetting is the operator's setting of the folder for signed-in joining.
const SignInSetting = "STANDIN_SIGN_IN"

// Account is what signs a browser in to a platform. The zero value is an
// anonymous visitor.
type Account struct {
	Profile string // folder to copy; may be empty
	Cookies []Cookie
}

// Anonymous reports whether nothing signs the browser in.
func (a Account) Anonymous() bool { return a.Profile == "" && len(a.Cookies) == 0 }

// Advice returns, for people, the way that a platform offers to a visitor whom its
// page refused; "" for the SDK, whose own message says it.
func (a Account) Advice(platform job.Platform) string {
	switch {
	case platform == job.ZoomSDK:
		return ""
	case platform == job.ZoomWeb:
		return "Zoom admits automated visitors through its Meeting SDK (the platform zoom-sdk) or RTMS; " +
			"a meeting for signed-in people also admits a bot that is signed in (" + SignInSetting + ")."
	case !a.Anonymous():
		return "The bot is signed in: check that the invitation of the meeting includes its account, and with standin doctor that its sign-in has not expired."
	case platform == job.Teams:
		return "Let the bot sign in with a Microsoft account (" + SignInSetting +
			") that the invitation of the meeting includes, or let the organizer allow anonymous people to join."
	}
	return "Let the bot sign in with a Google account (" + SignInSetting + ") that the invitation of the meeting includes."
}

// ReadAccount reads the cookies and the browser profile in dir that the operator
// provides for a platform. An empty dir is an anonymous visitor.
func ReadAccount(dir string, platform job.Platform) (Account, error) {
	if dir == "" {
		return Account{}, nil
	}
	var found Account
	base := filepath.Join(dir, string(platform))
	switch _, err := os.Stat(base + profileSuffix); {
	case err == nil:
		found.Profile = base + profileSuffix
	case !errors.Is(err, fs.ErrNotExist):
		return Account{}, fmt.Errorf("sign in: find a browser profile: %w", err)
	}
	for _, suffix := range []string{jsonCookiesSuffix, netscapeCookiesSuffix} {
		cookies, err := LoadCookies(base + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Account{}, fmt.Errorf("sign in: read cookies: %w", err)
		}
		found.Cookies = append(found.Cookies, cookies...)
	}
	return found, nil
}
