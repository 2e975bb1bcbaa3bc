package doctor

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// signInFolder returns a folder with cookies for Meet and a browser profile for Teams
// that expire at the given times; zero: there are none.
func signInFolder(t *testing.T, meet, teams time.Time) string {
	t.Helper()
	dir := t.TempDir()
	if !meet.IsZero() {
		cookies := fmt.Sprintf(`[{"name":"NID","value":"x","domain":".google.com","expirationDate":1999999999},
			{"name":"SID","value":"secret","domain":".google.com","expirationDate":%d}]`, meet.Unix())
		if err := os.WriteFile(filepath.Join(dir, "meet.cookies.json"), []byte(cookies), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if teams.IsZero() {
		return dir
	}
	profile := filepath.Join(dir, "teams.profile", "Default", "Network")
	if err := os.MkdirAll(profile, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(profile, "Cookies"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Exec(`CREATE TABLE cookies (host_key TEXT, name TEXT, value TEXT, expires_utc INTEGER);
		INSERT INTO cookies VALUES ('login.microsoftonline.com', 'ESTSAUTHPERSISTENT', '', ?), ('.teams.microsoft.com', 'session', '', 0)`,
		teams.UnixMicro()+11_644_473_600_000_000)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	days := func(n int) time.Time { return now.AddDate(0, 0, n) }
	for _, test := range []struct {
		name        string
		meet, teams time.Time
		want        State
		parts       []string
	}{
		{"both valid", days(90), days(60), OK, []string{"meet until 2030-04-01", "teams until 2030-03-02"}},
		{"cookies end soon", days(10), days(60), Warn, []string{"meet until 2030-01-11", "/docs/guide/signed-in.html"}},
		{"profile has expired", days(90), days(-1), Warn, []string{"teams: no cookie of a signed-in user"}},
		{"cookies have expired", days(-3000), time.Time{}, Warn, []string{"meet: no cookie of a signed-in user"}},
		{"empty folder", time.Time{}, time.Time{}, Warn, []string{"anonymously"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			check := checkSignIn(t.Context(), Settings{SignIn: signInFolder(t, test.meet, test.teams)}, now)
			expect(t, check, test.want, test.parts...)
		})
	}

	expect(t, checkSignIn(t.Context(), Settings{}, now), OK, "not set")
	public := signInFolder(t, days(90), time.Time{})
	if err := os.Chmod(filepath.Join(public, "meet.cookies.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	expect(t, checkSignIn(t.Context(), Settings{SignIn: public}, now), Fail, "chmod 600")
}
