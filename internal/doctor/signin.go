package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/job"
)

// signInWarning is how long before its end a sign-in is worth a warning.
const signInWarning = 14 * 24 * time.Hour

// signInCookies returns the cookies that keep a user signed in to a platform, as
// "name domain". Zoom's are session cookies without an expiry.
func signInCookies(platform job.Platform) []string {
	switch platform {
	case job.Meet:
		return []string{"SID google.com", "__Secure-1PSID google.com"}
	case job.Teams:
		return []string{"ESTSAUTHPERSISTENT login.microsoftonline.com", "MSPAuth login.live.com", "__Host-MSAAUTHP login.live.com"}
	}
	return nil
}

// checkSignIn reports until when bots are signed in to each platform.
func checkSignIn(ctx context.Context, settings Settings, now time.Time) Check {
	const name = checkName("sign-in")
	if settings.SignIn == "" {
		return name.ok("%s is not set: bots join anonymously", browser.SignInSetting)
	}
	fix := "sign in again as docs/signed-in.md describes, and replace the files in " + settings.SignIn
	var found []string
	ends := false
	for _, platform := range []job.Platform{job.Meet, job.Teams, job.ZoomWeb} {
		account, err := browser.ReadAccount(settings.SignIn, platform)
		if err == nil && account.Profile != "" {
			var stored []browser.Cookie
			stored, err = profileCookies(ctx, account.Profile)
			account.Cookies = append(account.Cookies, stored...)
		}
		if err != nil {
			return name.fail(fmt.Sprintf("%s: %v", platform, err), fix)
		}
		if account.Anonymous() {
			continue
		}
		until, known := signedInUntil(platform, account.Cookies, now)
		switch {
		case !known:
			found = append(found, fmt.Sprintf("%s: no cookie of a signed-in user that has not expired", platform))
			ends = true
		case until.IsZero():
			found = append(found, fmt.Sprintf("%s: no known expiry", platform))
		default:
			found = append(found, fmt.Sprintf("%s until %s", platform, until.UTC().Format(time.DateOnly)))
			ends = ends || until.Sub(now) < signInWarning
		}
	}
	if len(found) == 0 {
		return name.warn(settings.SignIn+" has no cookies and no profile of a platform: bots join anonymously", fix)
	}
	if ends {
		return name.warn(strings.Join(found, "; "), fix)
	}
	return name.ok("%s", strings.Join(found, "; "))
}

// signedInUntil returns when the first sign-in cookie expires; zero if none of them
// does. known is false if there is none.
func signedInUntil(platform job.Platform, cookies []browser.Cookie, now time.Time) (until time.Time, known bool) {
	names := signInCookies(platform)
	if names == nil {
		return time.Time{}, true
	}
	for _, cookie := range cookies {
		if !slices.Contains(names, cookie.Name+" "+cookie.Domain) || !cookie.Expires.IsZero() && cookie.Expires.Before(now) {
			continue
		}
		if known = true; until.IsZero() || !cookie.Expires.IsZero() && cookie.Expires.Before(until) {
			until = cookie.Expires
		}
	}
	return until, known
}

// profileCookies returns the names, hosts and expiry times of the cookies in a
// browser profile. Their values are not read.
func profileCookies(ctx context.Context, profile string) (cookies []browser.Cookie, err error) {
	path := filepath.Join(profile, "Default", "Network", "Cookies")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(profile, "Default", "Cookies")
	}
	db, err := openReadOnly(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	defer db.Close() // only read
	rows, err := db.QueryContext(ctx, `SELECT name, host_key, expires_utc FROM cookies LIMIT 5000`)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer func() { err = cmp.Or(err, rows.Err(), rows.Close()) }()
	for rows.Next() {
		var cookie browser.Cookie
		var expires int64
		if err := rows.Scan(&cookie.Name, &cookie.Domain, &expires); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		cookie.Domain = strings.TrimPrefix(cookie.Domain, ".")
		if expires != 0 { // microseconds since 1601
			cookie.Expires = time.UnixMicro(expires - unixEpochIn1601Microseconds)
		}
		cookies = append(cookies, cookie)
	}
	return cookies, nil
}

// unixEpochIn1601Microseconds is 1970-01-01 in Chromium's time.
const unixEpochIn1601Microseconds = 11_644_473_600_000_000
