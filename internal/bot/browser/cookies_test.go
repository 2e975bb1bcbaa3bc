package browser_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/browser"
)

// cookieFile writes a file with mode 0600.
func cookieFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cookies")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadCookies(t *testing.T) {
	t.Parallel()
	expires := time.Now().Add(48 * time.Hour).Truncate(time.Second)
	tests := map[string]string{
		"extension": fmt.Sprintf(`[
			{"name": "SID", "value": "hush", "domain": ".Google.com", "hostOnly": false, "path": "/", "secure": true, "httpOnly": true,
			 "sameSite": "no_restriction", "expirationDate": %d.5, "session": false, "storeId": "0", "id": 1},
			{"name": "here", "value": "", "domain": "meet.google.com", "hostOnly": true, "path": "/a", "sameSite": "unspecified", "session": true},
			{"name": "old", "value": "x", "domain": "meet.google.com", "path": "/", "expirationDate": 1000000000, "sameSite": null}
		]`, expires.Unix()),
		"automation": fmt.Sprintf(` {"cookies": [
			{"name": "SID", "value": "hush", "domain": ".google.com", "path": "/", "expires": %d, "httpOnly": true, "secure": true, "sameSite": "None"},
			{"name": "here", "value": "", "domain": "meet.google.com", "path": "/a", "expires": -1, "httpOnly": false, "secure": false, "sameSite": ""}
		], "origins": []}`, expires.Unix()),
		"netscape": fmt.Sprintf("# Netscape HTTP Cookie File\r\n\r\n#HttpOnly_.google.com\tTRUE\t/\tTRUE\t%d\tSID\thush\r\nmeet.google.com\tFALSE\t/a\tFALSE\t0\there\t\n", expires.Unix()),
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cookies, err := browser.LoadCookies(cookieFile(t, content))
			if err != nil || len(cookies) != 2 {
				t.Fatalf("LoadCookies = %v, %v; want two", cookies, err)
			}
			first, second := cookies[0], cookies[1]
			if first.Name != "SID" || first.Domain != "google.com" || first.HostOnly || !first.Secure || !first.HTTPOnly ||
				first.Expires.Truncate(time.Second) != expires || first.Path != "/" || (first.SameSite != "None" && name != "netscape") {
				t.Errorf("the first cookie is %s", fields(first))
			}
			if second.Domain != "meet.google.com" || !second.HostOnly || second.Secure || second.HTTPOnly ||
				!second.Expires.IsZero() || second.Path != "/a" || second.SameSite != "" {
				t.Errorf("the second cookie is %s", fields(second))
			}
			encoded, err := json.Marshal(cookies)
			if err != nil {
				t.Fatal(err)
			}
			var logged bytes.Buffer
			slog.New(slog.NewJSONHandler(&logged, nil)).Info("cookies", "first", first, "all", cookies)
			for _, text := range []string{
				fmt.Sprint(cookies), fmt.Sprintf("%+v %#v %v", cookies, cookies, &cookies[0]), string(encoded), logged.String(),
			} {
				if strings.Contains(text, "hush") {
					t.Errorf("the value is in %s", text)
				}
			}
		})
	}
}

// fields formats a cookie for a failure message.
func fields(c browser.Cookie) string {
	return fmt.Sprint(c.Name, " ", c.Domain, " ", c.HostOnly, " ", c.Path, " ", c.Expires, " ", c.Secure, " ", c.HTTPOnly, " ", c.SameSite)
}

func TestLoadCookiesErrors(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("a.test\tTRUE\t/\tTRUE\t0\tn\thush\n", 5001)
	tests := map[string]struct{ content, want string }{
		"empty":              {"", "no cookie"},
		"all expired":        {"a.test\tTRUE\t/\tTRUE\t1\tn\thush\n", "no cookie"},
		"no cookies":         {"hush", "line 1"},
		"two fields":         {"# ok\nhush\thush\n", "line 2"},
		"no time":            {"a.test\tTRUE\t/\tTRUE\thush\tn\thush\n", "line 1"},
		"broken JSON":        {`[{"name": "n", "value": hush}]`, "not an array of objects"},
		"wrong types":        {`[{"name": "n", "value": {"hush": 1}}]`, "not an array of objects"},
		"no domain":          {`[{"name": "n", "value": "hush", "path": "/"}]`, "cookie 1"},
		"an address":         {`[{"name": "n", "value": "hush", "domain": "https://a.test"}]`, "cookie 1"},
		"relative path":      {`[{"name": "n", "value": "hush", "domain": "a.test", "path": "hush"}]`, "cookie 1"},
		"control characters": {`[{"name": "n", "value": "hush\n", "domain": "a.test"}]`, "cookie 1"},
		"too long a cookie":  {`[{"name": "n", "value": "` + strings.Repeat("hush", 1025) + `", "domain": "a.test"}]`, "cookie 1"},
		"too many":           {many, "more than 5000"},
		"too large":          {strings.Repeat("# hush\n", 600_000), "larger than"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := cookieFile(t, test.content)
			cookies, err := browser.LoadCookies(path)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("LoadCookies = %d cookies, %v; want an error with the path and %q", len(cookies), err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "hush") {
				t.Errorf("a value is in %v", err)
			}
		})
	}
	if _, err := browser.LoadCookies(filepath.Join(t.TempDir(), "nowhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func TestLoadCookiesChecksPermissions(t *testing.T) {
	t.Parallel()
	path := cookieFile(t, "a.test\tTRUE\t/\tTRUE\t0\tn\thush\n")
	for mode, refused := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: true, 0o604: true, 0o622: true} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := browser.LoadCookies(path)
		if (err != nil) != refused {
			t.Errorf("mode %o: %v", mode, err)
		}
		if refused && !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %o: %v does not include the command", mode, err)
		}
	}
}

// FuzzLoadCookies checks that every cookie of a file is one that a browser may get, and that
// errors hold no value.
func FuzzLoadCookies(f *testing.F) {
	for _, content := range []string{
		`[{"name": "SID", "value": "hush", "domain": ".google.com", "hostOnly": false, "path": "/", "expirationDate": 9000000000.5, "sameSite": "no_restriction"}]`,
		`{"cookies": [{"name": "here", "value": "", "domain": "meet.google.com", "path": "/a", "expires": -1}]}`,
		"#HttpOnly_.google.com\tTRUE\t/\tTRUE\t9000000000\tSID\thush\r\nmeet.google.com\tFALSE\t/a\tFALSE\t0\there\t\n", `[{"name": "hush`,
	} {
		f.Add(content)
	}
	path := filepath.Join(f.TempDir(), "cookies")
	f.Fuzz(func(t *testing.T, content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		cookies, err := browser.LoadCookies(path)
		if err != nil && (len(cookies) > 0 || strings.Contains(err.Error(), "hush")) {
			t.Errorf("%d cookies, %v", len(cookies), err)
		}
		for _, c := range cookies {
			if c.Domain == "" || strings.ContainsAny(c.Domain, "/:@ ") || !strings.HasPrefix(c.Path, "/") ||
				strings.ContainsAny(c.Name+c.Path, "\n\r\x00") ||
				!c.Expires.IsZero() && c.Expires.Before(time.Now().Add(-time.Minute)) {
				t.Errorf("the cookie is %s", fields(c))
			}
		}
	})
}

// signInSite is a page that requires a session cookie, and /sign-in sets it.
func signInSite(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/sign-in" {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "hush", Path: "/", MaxAge: 3600, HttpOnly: true})
		}
		w.Header().Set("Content-Type", "text/html")
		title := "Sign in"
		if cookie, err := r.Cookie("session"); err == nil && cookie.Value == "hush" {
			title = "Welcome"
		}
		fmt.Fprintf(w, "<!doctype html><title>%s</title>", title)
	}))
	t.Cleanup(server.Close)
	return server
}

// titleAt opens an address and returns the title.
func titleAt(t *testing.T, ctx context.Context, b *browser.Browser, address string) string {
	t.Helper()
	p := openAt(t, ctx, b, address)
	title, err := p.Title(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return title
}

func TestSetCookies(t *testing.T) {
	t.Parallel()
	ctx := limited(t)
	site := signInSite(t)
	b := shared.use(t) // only this test has cookies in it
	if title := titleAt(t, ctx, b, site.URL); title != "Sign in" {
		t.Fatalf("title without cookies: %q", title)
	}
	cookies, err := browser.LoadCookies(cookieFile(t, `[
		{"name": "__Host-x", "value": "hush", "domain": "a.test", "path": "/", "secure": false},
		{"name": "session", "value": "hush", "domain": "127.0.0.1", "path": "/", "httpOnly": true}
	]`))
	if err != nil {
		t.Fatal(err)
	}
	var refused *browser.RefusedCookiesError
	if err := b.SetCookies(ctx, cookies); !errors.As(err, &refused) || len(refused.Cookies) != 1 || refused.Cookies[0].Name != "__Host-x" {
		t.Errorf("SetCookies = %v, want the invalid cookie refused", err)
	} else if strings.Contains(err.Error(), "hush") {
		t.Errorf("a value is in %v", err)
	}
	if title := titleAt(t, ctx, b, site.URL); title != "Welcome" {
		t.Errorf("title with cookies: %q", title)
	}
	if err := b.SetCookies(ctx, slices.Clip(cookies[1:])); err != nil {
		t.Errorf("SetCookies again = %v", err)
	}
}
