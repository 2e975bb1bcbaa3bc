package browser_test

import (
	"archive/zip"
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/jobs/job"
	"standin/internal/jobs/signin"
)

// TestSignedInUntil checks until when cookies and browser profiles sign a user in, also after they were packed and unpacked,
// and that a ZIP file of a stranger writes nothing outside its folder.
func TestSignedInUntil(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	profile := t.TempDir()
	if err := os.Chmod(profile, 0o700); err != nil {
		t.Fatal(err)
	}
	network := filepath.Join(profile, "Default", "Network")
	if err := errors.Join(os.MkdirAll(network, 0o700), os.MkdirAll(filepath.Join(profile, "Default", "Cache"), 0o700),
		os.WriteFile(filepath.Join(profile, "Default", "Cache", "secret"), []byte("not copied"), 0o600)); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(network, "Cookies"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`CREATE TABLE cookies (host_key TEXT, name TEXT, value TEXT, expires_utc INTEGER);
		INSERT INTO cookies VALUES ('login.microsoftonline.com', 'ESTSAUTHPERSISTENT', '', ?), ('.teams.microsoft.com', 'session', '', 0)`,
		now.Add(48*time.Hour).UnixMicro()+11_644_473_600_000_000)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	cookies, err := browser.ParseCookies([]byte(`[{"name":"__Secure-1PSID","value":"x","domain":".google.com","expirationDate":4102444800,"httpOnly":true,"sameSite":"no_restriction"},
		{"name":"SID","value":"x","domain":".google.com","expirationDate":4070908800}, {"name":"NID","value":"x","domain":".google.com"}]`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		account  browser.Account
		platform job.Platform
		until    time.Time
		err      error
	}{
		{browser.Account{Cookies: cookies}, job.Meet, time.Unix(4070908800, 0), nil},
		{browser.Account{Profile: profile}, job.Teams, now.Add(48 * time.Hour), nil},
		{browser.Account{Profile: profile}, job.Meet, time.Time{}, browser.ErrSignedOut},
		{browser.Account{Cookies: cookies}, job.Teams, time.Time{}, browser.ErrSignedOut},
		{browser.Account{Cookies: cookies}, job.ZoomWeb, time.Time{}, nil},
	} {
		state, err := c.account.Pack()
		if err != nil || strings.Contains(string(state.Profile), "secret") {
			t.Fatalf("pack: %v", err)
		}
		unpacked, err := browser.Unpack(state, filepath.Join(t.TempDir(), "profile"))
		if err != nil {
			t.Fatal(err)
		}
		for name, account := range map[string]browser.Account{"given": c.account, "unpacked": unpacked} {
			if until, err := account.SignedInUntil(t.Context(), c.platform, now); !until.Equal(c.until) || !errors.Is(err, c.err) {
				t.Errorf("%s on %s: until %s, %v", name, c.platform, until, err)
			}
		}
	}
	dir := filepath.Join(t.TempDir(), "profile")
	if _, err := browser.Unpack(signin.State{Profile: []byte("x")}, dir); err == nil {
		t.Error("what is no ZIP file is unpacked")
	}
	absolute := filepath.Join(t.TempDir(), "absolute")
	for _, path := range []string{"../outside", absolute} {
		if _, err := browser.Unpack(signin.State{Profile: zipOf(t, path)}, dir); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}
	for _, outside := range []string{filepath.Join(filepath.Dir(dir), "outside"), absolute} {
		if _, err := os.Stat(outside); err == nil {
			t.Errorf("%s was written", outside)
		}
	}
}

// zipOf returns a ZIP file with one file.
func zipOf(t *testing.T, name string) []byte {
	t.Helper()
	var content bytes.Buffer
	archive := zip.NewWriter(&content)
	file, err := archive.Create(name)
	if err == nil {
		_, err = file.Write([]byte("x"))
	}
	if err := errors.Join(err, archive.Close()); err != nil {
		t.Fatal(err)
	}
	return content.Bytes()
}
