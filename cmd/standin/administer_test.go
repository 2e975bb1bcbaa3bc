package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/server/service"
	"standin/internal/store"
	"standin/internal/testing/await"
)

const testPassword = "correct horse battery staple"

// users returns the users in the database of an administrator.
func (c *cli) users() *account.Users {
	c.Helper()
	s, err := store.Open(c.Context(), service.DatabaseAddress("", c.values["DATA"]))
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = s.Close() })
	return account.NewUsers(account.UserSettings{Store: s, Now: time.Now})
}

// TestUsers invites users, and recovers and removes them. The only operator stays one.
func TestUsers(t *testing.T) {
	t.Parallel()
	c := newAdmin(t)
	c.rows(
		row{"consumers create crew", 0, `^[0-9a-f-]{36}\n$`, ``},
		row{"consumers create crew --email crew@example.test", exitFailed, ``, `exists already`},
		row{"users invite ada@example.test --consumer crew", exitFailed, ``, `set STANDIN_BASE_URL or --base-url`},
		row{"users invite eve@example.test --consumer unknown --base-url https://standin.example.test", exitFailed, ``, `unknown`},
		row{
			"users invite ada@example.test --consumer crew --operator --base-url https://standin.example.test/", 0,
			`^https://standin\.example\.test/welcome\?token=(?P<ADA>\S+)\n$`, ``,
		},
		row{"users invite ben@example.test --consumer crew --operator --base-url https://standin.example.test", 0, `token=(?P<BEN>\S+)\n$`, ``},
	)
	users := c.users()
	for _, token := range []string{"ADA", "BEN"} {
		if user, err := users.Accept(t.Context(), c.values[token], account.NewUser{
			Name: "User", Password: testPassword,
		}); err != nil || !user.Operator || !strings.HasPrefix(user.Email, strings.ToLower(token)) {
			t.Fatalf("accept the invitation: %+v, %v", user, err)
		}
	}
	c.rows(
		row{"users list", 0, `^[^\n]*ada@example\.test[^\n]*\n[^\n]*ben@example\.test[^\n]*\n$`, ``},
		row{"users demote ada@example.test", 0, ``, ``},
		row{"users demote ben@example.test", exitFailed, ``, `only operator`},
		row{"users remove ben@example.test", exitFailed, ``, `only operator`},
		row{"users promote unknown@example.test", exitFailed, ``, `no such user`},
		row{"users reset-password ' ADA@example.test'", 0, `^(?P<PASSWORD>\S+)\n$`, ``},
		row{"users promote ada@example.test", 0, ``, ``},
		row{"users remove ben@example.test", 0, ``, ``},
		row{"users list", 0, `^[^\n]*ada@example\.test[^\n]*\n$`, ``},
	)
	if user, err := users.SignIn(t.Context(), "ada@example.test", c.values["PASSWORD"]); err != nil || !user.Operator {
		t.Errorf("sign in with the new password: %+v, %v", user, err)
	}
	if _, err := users.SignIn(t.Context(), "ada@example.test", testPassword); !errors.Is(err, account.ErrBadCredentials) {
		t.Errorf("sign in with the old password: %v", err)
	}
}

// TestInviteLink checks that the link of an invitation leads to the service that ran with
// the database, if no URL is given.
func TestInviteLink(t *testing.T) {
	t.Parallel()
	c := newAdmin(t)
	s, err := startService(t.Context(), c.values["DATA"])
	if err != nil {
		t.Fatal(err)
	}
	c.rows(row{"teams create acme", 0, ``, ``})
	await.Until(t, "the node to record its URL", func() bool { base, err := s.Store().BaseURL(t.Context()); return err == nil && base != "" })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c.values["BASE"] = s.BaseURL()
	c.rows(row{"users invite ada@example.test --consumer acme", 0, `^$BASE/welcome\?token=`, ``})
}

// TestTeams creates, changes and deletes teams and keys.
func TestTeams(t *testing.T) {
	t.Parallel()
	c := newAdmin(t)
	c.rows(
		row{"keys create --consumer acme --test --json", 0, `"id": "(?P<ID>[^"]+)".*"key": "standin_test_[^"]{30,}".*"mode": "test"`, ``},
		row{"keys revoke $ID --json", 0, `"id": "$ID".*"revoked": true`, ``},
		row{"consumers show acme --json", 0, `"name": "acme"`, ``},
		row{"consumers show acme --secret", 0, `(?P<OLD>whsec_\S+)`, ``},
		row{"consumers rotate-secret acme", 0, `^(?P<NEW>whsec_[A-Za-z0-9+/]{43}=)\n$`, ``},
		row{"consumers show acme --secret", 0, `$NEW`, ``},
		row{"consumers set-webhook-version acme 1", 0, ``, ``},
		row{"consumers show acme", 0, `webhook version +1\n`, ``},
		row{"consumers set-webhook-version acme 3", exitUsage, ``, ``},
	)
	if c.values["OLD"] == c.values["NEW"] {
		t.Error("the secret is not replaced")
	}
	for set, shown := range map[string]string{"30d": "30d", "36h": "36h0m0s", "forever": "forever", "default": "service default"} {
		c.rows(
			row{"consumers set acme --retention " + set, 0, ``, ``}, row{"consumers set acme --job-retention " + set, 0, ``, ``},
			row{"consumers show acme", 0, "recordings kept for  " + shown + "\njobs kept for        " + shown + "\n", ``},
		)
	}
	for _, choice := range []string{"on", "off"} {
		c.rows(
			row{
				"consumers set acme --transcript-event " + choice + " --command-event " + choice, 0,
				`^webhook job\.transcript_ready of acme: ` + choice + `\nwebhook bot\.command_outcome of acme: ` + choice + `\n$`, ``,
			},
			row{"consumers show acme", 0, "transcript event     " + choice + "\ncommand event        " + choice + "\n", ``},
		)
	}
	c.rows(
		row{
			"consumers set acme --camera-name --say-on-join Hello", 0,
			`^output of acme: \{"onJoin":\{"text":"Hello"\},"camera":\{"nameCard":true\}\}\n$`, ``,
		},
		row{"consumers show acme", 0, `output               \{"onJoin"`, ``},
		row{"consumers set acme --no-output", 0, `^output of acme: none\n$`, ``},
		row{"consumers set acme --camera-page ftp://example.com/", exitFailed, ``, `camera page uri`},
		row{"consumers set acme", exitFailed, ``, `teams set --help`},
		row{"consumers set acme --retention soon", exitFailed, ``, `30d`},
		row{"consumers set unknown --retention 1d", exitFailed, ``, `no such consumer`},
		row{"teams create other", 0, ``, ``},
		row{"consumers delete acme", exitUsage, ``, `--yes`},
		row{"consumers delete acme --yes", 0, `^deleted team acme and 0 jobs\n$`, ``},
		row{"consumers delete acme --yes", exitFailed, ``, `no such consumer`},
		row{"consumers list", 0, `^[^\n]*other[^\n]*\n$`, ``},
	)
}

// TestNoDatabase runs commands for the administrator in a folder without a database. Only
// keys create makes one, and says so.
func TestNoDatabase(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	c := &cli{
		t, []string{"--data-dir", dir},
		map[string]string{"DATA": dir, "BACKUP": filepath.Join(t.TempDir(), "backup"), "ID": "01a216e4-47e6-76eb-af7a-33b5054d4531"},
	}
	for _, line := range []string{
		"keys list", "keys revoke $ID", "users list", "users invite ada@example.test --consumer acme", "users remove ada@example.test",
		"consumers list",
		"consumers create acme", "consumers delete acme --yes", "recordings sweep", "recordings verify", "recordings finish $ID",
		"backup $BACKUP",
	} {
		c.rows(row{line, exitFailed, `^$`, `no Standin database in $DATA; set STANDIN_DATA_DIR or --data-dir`})
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s created %s (%v)", line, dir, err)
		}
	}
	c.rows(
		row{"keys create --consumer acme", 0, `^standin_live_`, `^created a new database in $DATA\n$`},
		row{"keys create --consumer acme", 0, `^standin_live_`, `^$`},
	)
}

// TestBackupAndRestore restores a backup to another data directory, and over itself.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	c, backup := newAdmin(t), filepath.Join(t.TempDir(), "backup")
	c.rows(row{"teams create ada", 0, ``, ``}, row{"backup " + backup, 0, `of 0 jobs of 1 team in .*\nwith 0 recordings\n$`, ``},
		row{"backup " + backup + "2 --recordings skip", 0, `\nWITHOUT RECORDINGS: [^\n]*\n$`, ``})
	c.flags = []string{"--data-dir", t.TempDir()}
	c.rows(
		row{"restore " + backup, 0, `restored 0 jobs of 1 team,`, ``},
		row{"consumers list", 0, `ada`, ``},
		row{"restore " + backup, exitFailed, ``, `--force`},
		row{"restore " + backup + " --force --json", 0, `"consumers": 1`, ``},
	)
}

// TestSweep checks that files of unknown jobs are deleted only if they are old, and only
// with --delete.
func TestSweep(t *testing.T) {
	t.Parallel()
	c := newAdmin(t)
	stray := filepath.Join(c.values["DATA"], "recordings/jobs/0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80/manifest.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(stray), 0o700), os.WriteFile(stray, []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	c.rows(row{"recordings sweep --delete", 0, `unused objects of 0 jobs`, ``})
	if err := os.Chtimes(stray, time.Time{}, time.Now().Add(-25*time.Hour)); err != nil {
		t.Fatal(err)
	}
	c.rows(row{"recordings sweep", 0, `unused objects of 1 jobs listed`, ``})
	if _, err := os.Stat(stray); err != nil {
		t.Error(err)
	}
	c.rows(row{"recordings sweep --delete", 0, `unused objects of 1 jobs deleted`, ``})
	if _, err := os.Stat(stray); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
}

// TestEnvFile checks that commands for administrators read their settings from a file, and that the
// environment and flags have precedence. A variable NAME_FILE names a file with the value of NAME.
func TestEnvFile(t *testing.T) { // not parallel: it changes the environment
	inFile, other := newAdmin(t), newAdmin(t)
	inFile.rows(row{"teams create inFile", 0, ``, ``})
	other.rows(row{"teams create other", 0, ``, ``})
	content := "# settings\n\n; more\nSTANDIN_LISTEN=\nSTANDIN_DATA_DIR=\"" + inFile.values["DATA"] + "\"\n"
	c := &cli{t, []string{"--env-file", inFile.file("standin.env", content)}, nil}
	t.Setenv("STANDIN_DATA_DIR", "")
	c.rows(row{"teams list", 0, `  inFile  `, ``})
	t.Setenv("STANDIN_DATA_DIR", other.values["DATA"])
	c.rows(row{"teams list", 0, `  other  `, ``}, row{"teams list --data-dir " + inFile.values["DATA"], 0, `  inFile  `, ``})
	c.flags = []string{"--env-file", "/no/such/file"}
	c.rows(row{"teams list", exitUsage, ``, `no such file`})

	c.flags = nil
	t.Setenv("STANDIN_DATA_DIR_FILE", c.file("data-dir", inFile.values["DATA"]+"\n"))
	c.rows(row{"teams list", 0, `  other  `, ``})
	t.Setenv("STANDIN_DATA_DIR", "")
	c.rows(row{"teams list", 0, `  inFile  `, ``})
	for _, file := range []string{"/no/such/file", c.file("empty", "\n")} {
		t.Setenv("STANDIN_DATA_DIR_FILE", file)
		c.rows(row{"teams list", exitUsage, ``, `--data-dir.*STANDIN_DATA_DIR_FILE.*` + file})
	}
}

// TestSetup creates the first user, who can sign in, and no second one. As root, the files
// of this command and of others belong to the owner of the data directory.
func TestSetup(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "standin-owner-") // that others can enter, unlike that of the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	owner := os.Getuid()
	if owner == 0 {
		owner = 65534
		if err := os.Chown(dir, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "data")
	standin := func(line string) (string, error) {
		process := exec.CommandContext(t.Context(), testedBinary(), append(wordsOf(line), "--data-dir", data)...)
		process.Stdin = strings.NewReader(testPassword + "\n")
		out, err := process.CombinedOutput()
		return string(out), err
	}
	setup := "setup --email ada@example.test --team crew --domain standin.example.test"
	out, err := standin(setup)
	if err != nil || !strings.Contains(out, "STANDIN_BASE_URL=https://standin.example.test\n") ||
		!strings.Contains(out, "server_name standin.example.test;") || strings.Contains(out, "%!") {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := standin(setup); err == nil || !strings.Contains(out, "standin users invite") {
		t.Errorf("again: %v: %s", err, out)
	}
	if out, err := standin("backup " + filepath.Join(dir, "backup")); err != nil {
		t.Errorf("backup: %v: %s", err, out)
	}
	files := 0
	err = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		var stat syscall.Stat_t
		if err = errors.Join(err, syscall.Stat(path, &stat)); err == nil && int(stat.Uid) != owner {
			t.Errorf("%s belongs to %d", path, stat.Uid)
		}
		files++
		return err
	})
	if err != nil || files < 5 {
		t.Errorf("%d files, %v", files, err)
	}
	c := &cli{t, nil, map[string]string{"DATA": data}}
	if user, err := c.users().SignIn(t.Context(), "ada@example.test", testPassword); err != nil || !user.Operator {
		t.Errorf("sign in: %+v, %v", user, err)
	}
}
