package browser

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/storage"
	_ "modernc.org/sqlite" // the driver of a profile's cookies

	"standin/internal/jobs/job"
	"standin/internal/jobs/signin"
)

// Suffixes of the files in the operator's folder for signed-in joining. Each account may
// have a file of cookies, a browser profile, or both.
const (
	profileSuffix         = ".profile"
	jsonCookiesSuffix     = ".cookies.json"
	netscapeCookiesSuffix = ".cookies.txt"
)

// Account is what signs a browser in to a platform. The zero value is an
// anonymous visitor.
type Account struct {
	Profile string // folder to copy; may be empty
	Cookies []Cookie
}

// Anonymous reports whether nothing signs the browser in.
func (a Account) Anonymous() bool { return a.Profile == "" && len(a.Cookies) == 0 }

// Advice returns, for people, the way that a platform offers to a visitor whom its
// page refused; "" for media streams, which
// no page refuses.
func (a Account) Advice(platform job.Platform) string {
	const add = " (standin accounts add)"
	switch {
	case platform == job.ZoomSDK:
		return ""
	case platform == job.ZoomWeb:
		return "Zoom wants automated visitors to use RTMS, its media streams (the platform zoom-sdk); " +
			"a meeting for signed-in people also admits a bot with an account" + add + "."
	case !a.Anonymous():
		return "The bot is signed in: check that the invitation of the meeting includes its account, and with standin accounts list that its " +
			"sign-in has not expired."
	case platform == job.Teams:
		return "Give the bot a Microsoft account" + add + " that the invitation of the meeting includes, or let the organizer allow anonymous " +
			"people to join."
	}
	return "Give the bot a Google account" + add + " that the invitation of the meeting includes."
}

// AccountFiles returns the names of the accounts in the operator's folder, by platform, and when the files of
// each last changed. The name of meet.profile is meet, and that of meet.ada.cookies.json is meet.ada.
func AccountFiles(dir string) (map[string]time.Time, error) {
	found := make(map[string]time.Time)
	for _, suffix := range []string{profileSuffix, jsonCookiesSuffix, netscapeCookiesSuffix} {
		paths, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
		if err != nil {
			return nil, fmt.Errorf("list accounts: %w", err)
		}
		for _, path := range paths {
			name := strings.TrimSuffix(filepath.Base(path), suffix)
			files := []string{path}
			if suffix == profileSuffix {
				files = append(files, filepath.Join(path, seedProfile, "Cookies"), filepath.Join(path, seedProfile, "Network", "Cookies"))
			}
			for _, file := range files {
				if info, err := os.Stat(file); err == nil && info.ModTime().After(found[name]) {
					found[name] = info.ModTime()
				}
			}
		}
	}
	return found, nil
}

// ReadAccount reads the cookies and the browser profile of an account in the operator's
// folder. An empty dir is an anonymous visitor.
func ReadAccount(dir, name string) (Account, error) {
	if dir == "" {
		return Account{}, nil
	}
	var found Account
	base := filepath.Join(dir, name)
	switch _, err := os.Stat(base + profileSuffix); {
	case err == nil:
		found.Profile = base + profileSuffix
	case !errors.Is(err, fs.ErrNotExist):
		return Account{}, err
	}
	for _, suffix := range []string{jsonCookiesSuffix, netscapeCookiesSuffix} {
		cookies, err := LoadCookies(base + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Account{}, err
		}
		found.Cookies = append(found.Cookies, cookies...)
	}
	return found, nil
}

// maxPackedProfile is the size of a ZIP file of a profile that can be stored with an account.
const maxPackedProfile = 12 << 20

// Pack returns the account as it is stored.
func (a Account) Pack() (state signin.State, err error) {
	exported := make([]exportedCookie, 0, len(a.Cookies))
	for _, c := range a.Cookies {
		one := exportedCookie{
			Name: c.Name, Value: c.value, Domain: c.Domain, Path: c.Path, HostOnly: &c.HostOnly, Secure: c.Secure, HTTPOnly: c.HTTPOnly,
			SameSite: &c.SameSite,
		}
		if !c.Expires.IsZero() {
			one.Expires = new(float64(c.Expires.UnixMilli()) / 1000)
		}
		exported = append(exported, one)
	}
	if len(exported) > 0 {
		state.Cookies, _ = json.Marshal(exported) // texts and finite numbers always encode
	}
	if a.Profile == "" {
		return state, nil
	}
	chosen, err := os.MkdirTemp("", "standin-account-") // for what keeps a user signed in
	if err != nil {
		return state, fmt.Errorf("pack a browser profile: %w", err)
	}
	defer os.RemoveAll(chosen)
	if err := copySeedProfile(a.Profile, chosen); err != nil {
		return state, err
	}
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	if err := errors.Join(archive.AddFS(os.DirFS(chosen)), archive.Close()); err != nil {
		return state, fmt.Errorf("pack a browser profile: %w", err)
	}
	if packed.Len() > maxPackedProfile {
		return state, unusable(a.Profile, fmt.Sprintf("packed, it is larger than %d MiB", maxPackedProfile>>20))
	}
	state.Profile = packed.Bytes()
	return state, nil
}

// Unpack returns a stored account, whose profile it unpacks into dir.
func Unpack(state signin.State, dir string) (found Account, err error) {
	if len(state.Cookies) > 0 {
		if found.Cookies, err = ParseCookies(state.Cookies); err != nil {
			return Account{}, err
		}
	}
	if len(state.Profile) == 0 {
		return found, nil
	}
	archive, err := zip.NewReader(bytes.NewReader(state.Profile), int64(len(state.Profile)))
	if err != nil {
		return Account{}, errors.New("the browser profile is not a ZIP file")
	}
	size, files := uint64(0), len(archive.File)
	for _, file := range archive.File {
		size += min(file.UncompressedSize64, maxSeedBytes)
	}
	if files > maxSeedFiles || size > maxSeedBytes {
		return Account{}, fmt.Errorf("the browser profile has more than %d files or %d MiB", maxSeedFiles, maxSeedBytes>>20)
	}
	if err = os.Mkdir(dir, 0o700); err == nil {
		err = os.CopyFS(dir, archive)
	}
	if err != nil {
		return Account{}, fmt.Errorf("unpack a browser profile: %w", err)
	}
	found.Profile = dir
	return found, nil
}

// signInCookies are the cookies that keep a user signed in to a platform, as
// "name domain". Zoom's are session cookies without an expiry.
var signInCookies = map[job.Platform][]string{
	job.Meet:  {"SID google.com", "__Secure-1PSID google.com"},
	job.Teams: {"ESTSAUTHPERSISTENT login.microsoftonline.com", "MSPAuth login.live.com", "__Host-MSAAUTHP login.live.com"},
}

// ErrSignedOut means that an account has no cookie of a signed-in user that has not expired.
var ErrSignedOut = errors.New("no cookie of a signed-in user that has not expired")

// SignedInUntil returns when the first sign-in cookie expires; zero if that is not known. Without one, the
// error is ErrSignedOut.
func (a Account) SignedInUntil(ctx context.Context, platform job.Platform, now time.Time) (until time.Time, err error) {
	names, cookies := signInCookies[platform], a.Cookies
	if names == nil {
		return time.Time{}, nil
	}
	if a.Profile != "" {
		stored, err := profileCookies(ctx, a.Profile)
		if err != nil {
			return time.Time{}, err
		}
		cookies = slices.Concat(cookies, stored)
	}
	err = ErrSignedOut
	for _, cookie := range cookies {
		if !slices.Contains(names, cookie.Name+" "+cookie.Domain) || !cookie.Expires.IsZero() && cookie.Expires.Before(now) {
			continue
		}
		if err = nil; until.IsZero() || !cookie.Expires.IsZero() && cookie.Expires.Before(until) {
			until = cookie.Expires
		}
	}
	return until, err
}

// profileCookies returns the names, hosts and expiry times of the cookies in a
// browser profile. Their values are not read.
func profileCookies(ctx context.Context, profile string) (cookies []Cookie, err error) {
	path := filepath.Join(profile, seedProfile, "Network", "Cookies")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(profile, seedProfile, "Cookies")
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&immutable=1")
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
		var cookie Cookie
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

// Cookies returns all cookies of the browser.
func (b *Browser) Cookies(ctx context.Context) ([]Cookie, error) {
	found, err := cdp.Call(ctx, b.session, storage.GetCookies, storage.GetCookiesParams{})
	if err != nil {
		return nil, fmt.Errorf("read cookies: %w", b.explain(ctx, err))
	}
	cookies := make([]Cookie, 0, len(found.Cookies))
	for _, c := range found.Cookies {
		cookie := Cookie{
			Name: c.Name, value: c.Value, Domain: c.Domain, HostOnly: !strings.HasPrefix(c.Domain, "."), Path: c.Path, Secure: c.Secure,
			HTTPOnly: c.HTTPOnly, SameSite: string(c.SameSite),
		}
		if c.Expires > 0 {
			cookie.Expires = time.UnixMilli(int64(c.Expires * 1000))
		}
		if valid, err := cookie.validate(); err == nil {
			cookies = append(cookies, valid)
		}
	}
	return cookies, nil
}
