package doctor

import (
	"fmt"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/launch/docker"
	"standin/internal/launch/kubernetes"
)

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
	for _, check := range r.Checks {
		if check.State == Fail {
			return true
		}
	}
	return false
}

// Settings are the settings of the service that are checked.
type Settings struct {
	DataDir     string
	DatabaseURL string // postgres://… or a SQLite file
	StorageURL  string // empty: the recordings folder in DataDir
	Listen      string
	BaseURL     string       // empty: http://<listen>
	Browser     string       // empty: found on PATH
	BrowserMode browser.Mode // empty: the platform's default
	Profiles    string       // empty: the embedded profiles
	SignIn      string       // empty: bots join anonymously

	Launcher      string // empty: process
	LauncherError error  // of the service's own check of the launcher's settings
	Docker        docker.Settings
	Kubernetes    func() (kubernetes.Settings, error) // finds the cluster

	Mail      bool  // a mail worker is configured
	MailError error // of the worker's own check of its settings
}

// Timeouts of the checks.
const (
	browserTimeout = 60 * time.Second
	serverTimeout  = 20 * time.Second // of a database, an object store or an engine
	toolTimeout    = 60 * time.Second
)

// checkName creates the results of one check.
type checkName string

func (name checkName) ok(format string, args ...any) Check {
	return Check{Name: string(name), State: OK, Found: fmt.Sprintf(format, args...)}
}

func (name checkName) warn(found, fix string) Check {
	return Check{Name: string(name), State: Warn, Found: found, Fix: fix}
}

func (name checkName) fail(found, fix string) Check {
	return Check{Name: string(name), State: Fail, Found: found, Fix: fix}
}
