package bot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"standin/internal/bot/browser"
	"standin/internal/job"
)

// Suffixes of the files in the folder for signed-in joining. Each platform may
// have a file of cookies, a browser profile, or both.
const (
	profileSuffix         = ".profile"
	jsonCookiesSuffix     = ".cookies.json"
	netscapeCookiesSuffix = ".cookies.txt"
)

// signIn is what signs a browser in to a platform. The zero value is an
// anonymous visitor.
type signIn struct {
	profile string // folder to copy; may be empty
	cookies []browser.Cookie
}

// readSignIn reads what dir has for a platform. An empty dir has nothing.
func readSignIn(dir string, platform job.Platform) (signIn, error) {
	if dir == "" {
		return signIn{}, nil
	}
	var found signIn
	base := filepath.Join(dir, string(platform))
	switch _, err := os.Stat(base + profileSuffix); {
	case err == nil:
		found.profile = base + profileSuffix
	case !errors.Is(err, fs.ErrNotExist):
		return signIn{}, fmt.Errorf("sign in: find a browser profile: %w", err)
	}
	for _, suffix := range []string{jsonCookiesSuffix, netscapeCookiesSuffix} {
		cookies, err := browser.LoadCookies(base + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return signIn{}, fmt.Errorf("sign in: read cookies: %w", err)
		}
		found.cookies = append(found.cookies, cookies...)
	}
	return found, nil
}
