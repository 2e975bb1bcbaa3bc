package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"standin/internal/jobs/job"
	"standin/internal/server/service"
	"standin/internal/testing/await"
	"standin/internal/testing/logtail"
)

// long skips a test with -short: one that starts a browser or several processes, or that takes long.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long: make check-long")
	}
}

// command runs a command line in this process.
func command(args ...string) (code int, out, err string) {
	var stdout, stderr bytes.Buffer
	code = run(args, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

var commandWord = regexp.MustCompile(`'[^']*'|[^\s']+`)

// wordsOf returns the words of a command line, without the quotes around them.
func wordsOf(line string) (words []string) {
	for _, word := range commandWord.FindAllString(line, -1) {
		words = append(words, strings.Trim(word, "'"))
	}
	return words
}

// row is a command line, its exit code, and regular expressions that match its standard
// output and its standard error. $NAME stands for a value of the cli, and the groups of
// the expressions that have names become such values.
type row struct {
	line     string
	code     int
	out, err string
}

// cli runs commands in this process.
type cli struct {
	*testing.T
	flags  []string // of all commands
	values map[string]string
}

// rows runs commands one after the other. The output of --json must be JSON.
func (c *cli) rows(rows ...row) {
	c.Helper()
	for _, r := range rows {
		c.row(r)
	}
}

func (c *cli) row(r row) (out string) {
	c.Helper()
	line := os.Expand(r.line, func(name string) string { return c.values[name] })
	code, out, stderr := command(append(wordsOf(line), c.flags...)...)
	matches := c.match(r.out, out) && c.match(r.err, stderr)
	if code != r.code || !matches {
		c.Fatalf("standin %s: exit code %d, want %d\n%s%s\nwant %q and %q", line, code, r.code, out, stderr, r.out, r.err)
	}
	if strings.Contains(line, "--json") && code == 0 && !json.Valid([]byte(out)) {
		c.Errorf("standin %s prints no JSON: %s", line, out)
	}
	return out
}

// match reports whether an expression matches a text, and keeps the groups with names.
func (c *cli) match(pattern, text string) bool {
	c.Helper()
	expression, err := regexp.Compile("(?s)" + os.Expand(pattern, func(name string) string { return regexp.QuoteMeta(c.values[name]) }))
	if err != nil {
		c.Fatal(err)
	}
	found := expression.FindStringSubmatch(text)
	for i, name := range expression.SubexpNames() {
		if found != nil && name != "" {
			c.values[name] = found[i]
		}
	}
	return found != nil
}

// await runs a command until its output matches an expression.
func (c *cli) await(line, pattern string) {
	c.Helper()
	await.Until(c.T, line, func() bool { return c.match(pattern, c.row(row{line: line})) })
}

// newAdmin returns a command line of an administrator, with a new database.
func newAdmin(t *testing.T) *cli {
	t.Helper()
	dir := newDataDir(t)
	return &cli{t, []string{"--data-dir", dir}, map[string]string{"DATA": dir}}
}

// sharedService is the service that the commands of the tests call. Jobs of test keys run
// in the simulator, and those of live keys wait for a bot that nobody starts.
var sharedService = sync.OnceValues(func() (*service.Service, error) {
	dir, err := os.MkdirTemp("", "standin-cli-")
	if err != nil {
		return nil, err
	}
	s, err := startService(context.Background(), dir)
	endAtExit(func() {
		if err == nil {
			http.DefaultClient.CloseIdleConnections() // the service waits for new ones
			_ = s.Close()
		}
		_ = os.RemoveAll(dir)
	})
	return s, err
})

func startService(ctx context.Context, dir string) (*service.Service, error) {
	return service.Start(ctx, service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{DataDir: dir}, LauncherSettings: service.LauncherSettings{Launcher: "manual"},
		KeySettings: service.KeySettings{IngestSigningKey: signingKey}, Log: slog.New(slog.DiscardHandler),
	})
}

// newCLI returns a command line that is signed in to the shared service with a key of a
// new team.
func newCLI(t *testing.T, mode job.Mode) *cli {
	t.Helper()
	s, err := sharedService()
	if err != nil {
		t.Fatal(err)
	}
	return signedIn(t, s, mode)
}

// signedIn returns a command line that is signed in to a service.
func signedIn(t *testing.T, s *service.Service, mode job.Mode) *cli {
	t.Helper()
	_, key, err := s.Keys.Issue(t.Context(), t.Name()+rand.Text(), "ada@example.com", mode)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "standin")
	c := &cli{t, []string{"--config-dir", config}, map[string]string{
		"CONFIG": config, "BASE": s.BaseURL(), "KEY": key, "MEET": "https://meet.google.com/abc-defg-hij",
		"FAST": `--metadata '{"simulate":{"seconds":10,"speed":100}}'`, "UNKNOWN": "01a1ff00-0000-7000-8000-000000000000",
	}}
	c.keep("", s.BaseURL(), key)
	return c
}

// keep stores the key of a service as the current context.
func (c *cli) keep(name, base, key string) {
	c.Helper()
	if err := saveContext(c.values["CONFIG"], name, credentials{URL: base, APIKey: key}); err != nil {
		c.Fatal(err)
	}
}

// file writes a file and returns its path.
func (c *cli) file(name, content string) string {
	c.Helper()
	path := filepath.Join(c.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		c.Fatal(err)
	}
	return path
}

// lockedBuffer is a buffer for concurrent writers.
type lockedBuffer struct{ logtail.Buffer }

// background runs a command until it ends by itself, and returns its standard error and
// its exit code.
func background(out *lockedBuffer, args ...string) (stderr *lockedBuffer, code <-chan int) {
	stderr, ended := new(lockedBuffer), make(chan int, 1)
	go func() { ended <- run(args, out, stderr) }()
	return stderr, ended
}

// await waits until an expression matches the text, and returns what it matches or its
// first group.
func (b *lockedBuffer) await(t *testing.T, pattern string) string {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	var found []string
	await.Until(t, pattern, func() bool { found = expression.FindStringSubmatch(b.String()); return found != nil })
	return found[len(found)-1]
}
