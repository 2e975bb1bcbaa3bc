// Package doctor checks what Standin needs on this machine (browser, ffmpeg,
// database, storage, launcher, clock) and says how to fix what is wrong.
//
// The checks change nothing: they run no migration, create no folder, and remove
// what they write to test whether it can be written. Reports contain no secrets
// of the settings.
package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/term"

	"standin/internal/base/text"
	"standin/internal/bot/browser"
	"standin/internal/launch/engines"
	"standin/internal/recording/transcript"
	"standin/internal/recording/transcript/streaming"
	"standin/internal/server/service"
)

// Run runs all checks, one after the other.
func Run(ctx context.Context, settings Settings) Report {
	checks := []Check{
		checkBrowser(ctx, settings),
		checkFFmpeg(ctx),
		checkDataDir(settings),
		checkDisk(ctx, settings),
		checkMemory(ctx, settings),
	}
	database, databaseClock := checkDatabase(ctx, settings)
	storage, storageClock := checkStorage(ctx, settings)
	clocks := append(databaseClock, storageClock...)
	return Report{Checks: append(checks,
		database, storage, checkLauncher(ctx, settings), checkClock(ctx, clocks), probeBaseURL(ctx, settings), checkProxy(),
		checkProfiles(settings), checkMail(settings), checkTranscriber(ctx, settings),
		checkLiveTranscriber(ctx, settings),
	)}
}

// RunQuick runs the checks of a service that starts: those that take a moment, and that the service
// does not make itself.
func RunQuick(ctx context.Context, settings Settings) Report {
	return Report{Checks: []Check{
		checkDataDir(settings), checkDisk(ctx, settings), checkMemory(ctx, settings), checkClock(ctx, nil), checkBaseURL(settings),
		checkProfiles(settings),
	}}
}

// State is the outcome of a check.
type State string

// The states.
const (
	OK   State = "ok"
	Warn State = "warn" // works, with a limitation
	Fail State = "fail" // Standin will not work
)

// Check is the result of one check.
type Check struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Found string `json:"found"`
	Fix   string `json:"fix,omitempty"` // how to fix it; empty when the state is OK
}

// Report is the result of all checks.
type Report struct {
	Checks []Check `json:"checks"`
}

// Failed reports whether any check failed.
func (r Report) Failed() bool {
	return slices.ContainsFunc(r.Checks, func(check Check) bool { return check.State == Fail })
}

// Summary says how many checks failed, and how many found a limitation.
func (r Report) Summary() string {
	count := func(state State, noun string) string {
		n := 0
		for _, check := range r.Checks {
			if check.State == state {
				n++
			}
		}
		return text.Count(n, noun)
	}
	return count(Fail, "check") + " failed, " + count(Warn, "warning")
}

// Settings are the settings of the service that are checked.
type Settings struct {
	service.DataSettings
	service.StorageSettings
	service.LauncherSettings
	Engines     engines.Settings
	Transcriber transcript.Config
	Live        streaming.Config

	Listen      string
	BaseURL     string       // empty: http://<listen>
	Browser     string       // empty: found on PATH
	BrowserMode browser.Mode // empty: the platform's default
	Profiles    string       // empty: the embedded profiles

	Mail      bool  // a mail worker is configured
	MailError error // of the worker's own check of its settings
}

// Timeouts of the checks.
const (
	browserTimeout = 60 * time.Second
	serverTimeout  = 20 * time.Second // of a database, an object store or an engine
	toolTimeout    = 60 * time.Second
	// transcriberTimeout is long because a server may load its model first.
	transcriberTimeout = 60 * time.Second
)

// checkName creates the results of one check.
type checkName string

func (name checkName) ok(format string, args ...any) Check {
	return Check{Name: string(name), State: OK, Found: fmt.Sprintf(format, args...)}
}

func (name checkName) warn(fix, format string, args ...any) Check {
	return Check{Name: string(name), State: Warn, Found: fmt.Sprintf(format, args...), Fix: fix}
}

func (name checkName) fail(fix, format string, args ...any) Check {
	return Check{Name: string(name), State: Fail, Found: fmt.Sprintf(format, args...), Fix: fix}
}

// maxLine is the length of a text in the report for people, in characters.
const maxLine = 2000

// WriteJSON writes the report as JSON.
func (r Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(struct {
		OK bool `json:"ok"`
		Report
	}{!r.Failed(), r})
}

// WriteText writes the report for people: a line per check, and below it how to
// fix a problem.
func (r Report) WriteText(w io.Writer) error {
	const nameWidth = 16
	// States are in color on a terminal, unless NO_COLOR is set (https://no-color.org).
	file, ok := w.(*os.File)
	inColor := ok && term.IsTerminal(int(file.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	for _, check := range r.Checks {
		state := fmt.Sprintf("%-4s", check.State)
		if inColor {
			const green, yellow, red = 32, 33, 31
			state = fmt.Sprintf("\x1b[%dm%s\x1b[0m", map[State]int{OK: green, Warn: yellow, Fail: red}[check.State], state)
		}
		line := fmt.Sprintf("%s  %-*s %s\n", state, nameWidth, check.Name, text.CleanLine(check.Found, maxLine))
		if check.Fix != "" {
			line += fmt.Sprintf("      %-*s fix: %s\n", nameWidth, "", text.CleanLine(check.Fix, maxLine))
		}
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	return nil
}
