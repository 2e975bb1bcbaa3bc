// Package doctor looks at what Standin needs on this machine (contract,
// "Starting it": browser, ffmpeg, database, storage, clock) and says how to
// mend what is not as it should be. It also opens a meeting page with a
// profile and tells which of the profile's elements it found.
//
// It changes nothing: no migration is run, no folder is made, and what it
// writes to find out whether it can be written is removed again. Secrets of
// the settings are never in what it reports.
package doctor

import (
	"context"
	"fmt"
	"time"

	"standin/internal/launch/docker"
	"standin/internal/service"
)

// State is how a check ended.
type State string

// The states.
const (
	OK   State = "ok"
	Warn State = "warn" // works, but not as it should
	Fail State = "fail" // Standin will not work
)

// Check is what one look found.
type Check struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Found string `json:"found"`
	Fix   string `json:"fix,omitempty"` // how, unless it is in order
}

// Report is what all looks found.
type Report struct {
	Checks []Check `json:"checks"`
}

// Failed reports whether any check failed.
func (r Report) Failed() bool {
	for _, check := range r.Checks {
		if check.State == Fail {
			return true
		}
	}
	return false
}

// Settings are those of the service, as far as they are looked at.
type Settings struct {
	DataDir     string
	DatabaseURL string // postgres://…; empty: the SQLite file in the data folder
	StorageURL  string // empty: the folder in the data folder
	Listen      string
	BaseURL     string // empty: http://<listen>
	Browser     string // empty: found on PATH
	Profiles    string // empty: the embedded ones

	Launcher      string // process when empty
	BotServiceURL string // how bots reach the service
	Docker        docker.Settings
	Kubernetes    service.KubernetesSettings
}

// The longest that checks may take.
const (
	browserTime = 60 * time.Second
	serverTime  = 20 * time.Second // of a database, an object store or an engine
	toolTime    = 60 * time.Second
)

// Run looks at everything, one thing after the other.
func Run(ctx context.Context, settings Settings) Report {
	var clocks []reading
	checks := []Check{
		checkBrowser(ctx, settings),
		checkFFmpeg(ctx),
		checkDataDir(settings),
		checkDisk(ctx, settings),
		checkMemory(ctx, settings),
	}
	database, clock := checkDatabase(ctx, settings)
	clocks = append(clocks, clock...)
	storage, clock := checkStorage(ctx, settings)
	clocks = append(clocks, clock...)
	return Report{Checks: append(checks, database, storage, checkLauncher(ctx, settings), checkClock(ctx, clocks), checkBaseURL(settings), checkProfiles(settings))}
}

// verdict makes the checks of one name.
type verdict string

func (name verdict) ok(format string, args ...any) Check {
	return Check{Name: string(name), State: OK, Found: fmt.Sprintf(format, args...)}
}

func (name verdict) warn(found, mend string) Check {
	return Check{Name: string(name), State: Warn, Found: found, Fix: mend}
}

func (name verdict) fail(found, mend string) Check {
	return Check{Name: string(name), State: Fail, Found: found, Fix: mend}
}
