package service

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"standin/internal/base/retry"
	"standin/internal/jobs/dispatch"
	"standin/internal/server/dashboard"
	"standin/internal/server/httpapi"
	"standin/internal/store"
)

const (
	// healthInterval is the time between two checks of a node, and healthRetry while
	// one fails.
	healthInterval = 10 * time.Second
	healthRetry    = 5 * time.Second
	// healthTimeout bounds each check.
	healthTimeout = 10 * time.Second
)

// The names of the checks in GET /readyz.
const (
	checkDatabase = "database"
	checkSchema   = "schema"
	checkStorage  = "storage"
	checkLauncher = "launcher"
)

// healthCheck returns why a part that the node needs does not work.
type healthCheck struct {
	name  string
	means string // what the log says when it fails
	check func(context.Context) error
}

// health checks in the background what a node needs to do its work, so that whoever asks gets the
// latest result at once.
type health struct {
	checks []healthCheck
	// recovered is called when the launcher works again.
	recovered func()
	log       *slog.Logger

	mu       sync.Mutex
	failures map[string]error // by the name of the check
}

// run checks until ctx ends.
func (h *health) run(ctx context.Context) {
	for {
		interval := healthInterval
		if len(h.problems()) > 0 {
			interval = healthRetry
		}
		if retry.Sleep(ctx, interval) != nil {
			return
		}
		h.update(ctx)
	}
}

// update runs all checks. It logs what fails or works again.
func (h *health) update(ctx context.Context) {
	for _, c := range h.checks {
		checking, cancel := context.WithTimeout(ctx, healthTimeout)
		err := c.check(checking)
		cancel()
		if ctx.Err() != nil {
			return
		}
		before := h.failure(c.name)
		h.mu.Lock()
		h.failures[c.name] = err
		h.mu.Unlock()
		switch {
		case err != nil && (before == nil || before.Error() != err.Error()):
			h.log.Error(c.means, "error", err)
		case err == nil && before != nil:
			h.log.Info("works again", "check", c.name)
			if c.name == checkLauncher {
				h.recovered()
			}
		}
	}
}

// failure returns why the last check with a name failed; nil if it did not.
func (h *health) failure(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failures[name]
}

// readiness returns whether the checks succeed, for probes.
func (h *health) readiness() []httpapi.ReadinessCheck {
	var checks []httpapi.ReadinessCheck
	for _, c := range h.checks {
		checks = append(checks, httpapi.ReadinessCheck{Name: c.name, OK: h.failure(c.name) == nil})
	}
	return checks
}

// problems returns what does not work, for operators.
func (h *health) problems() []dashboard.Problem {
	var problems []dashboard.Problem
	for _, c := range h.checks {
		if err := h.failure(c.name); err != nil {
			problems = append(problems, dashboard.Problem{Check: c.name, Detail: err.Error()})
		}
	}
	return problems
}

// newHealth returns the checks of this node. launcher checks the launcher; it is nil if there is
// nothing to check.
func (s *Service) newHealth(launcher func(context.Context) error) *health {
	database := func(ctx context.Context) error {
		return cmp.Or(s.store.Ping(ctx), s.dispatcher.HeartbeatError()) // a standby and a full disk can be read
	}
	checks := []healthCheck{
		{checkDatabase, "the database does not respond", database},
		{checkSchema, "the schema of the database is not usable by this version", s.store.CheckSchema},
		{checkStorage, "the storage is unavailable; until it is, bots keep their recordings", s.storage.Check},
	}
	if launcher != nil {
		checks = append(checks, healthCheck{checkLauncher, "no bot can be launched until this is fixed", launcher})
	}
	return &health{checks: checks, recovered: func() { s.dispatcher.Wake() }, log: s.Log, failures: make(map[string]error)}
}

// System describes this node, for operators.
func (s *Service) System(ctx context.Context) dashboard.SystemView {
	var view dashboard.SystemView
	add := func(name, text string) { view.Facts = append(view.Facts, dashboard.Fact{Name: name, Text: text}) }
	add("Version", s.Tracing.Version)
	if name, err := os.Hostname(); err == nil {
		add("Machine", name)
	}
	add("Running since", s.started.UTC().Format("2 Jan 2006, 15:04 UTC"))
	view.Facts = append(view.Facts, s.Summary(ctx)...)
	if version, own, err := s.store.SchemaVersion(ctx); err == nil {
		add("Schema", fmt.Sprintf("version %d; this program has %d", version, own))
	}
	for _, check := range s.health.checks {
		finding := dashboard.Finding{Check: check.name, State: "ok", Found: "works"}
		if err := s.health.failure(check.name); err != nil {
			finding = dashboard.Finding{
				Check: check.name, State: "fail", Found: err.Error(), Fix: "run standin doctor with the settings of the service",
			}
		}
		view.Findings = append(view.Findings, finding)
	}
	if s.Diagnose != nil {
		view.Findings = append(view.Findings, s.Diagnose(ctx)...)
	}
	return view
}

// Summary returns where the service is and what it uses, without secrets.
func (s *Service) Summary(ctx context.Context) []dashboard.Fact {
	database := DatabaseAddress(s.DatabaseURL, s.DataDir)
	if store.IsPostgres(database) {
		database = "PostgreSQL, " + withoutSecrets(database)
	} else {
		database = "SQLite, " + database
	}
	recordings := filepath.Join(s.DataDir, storageDir)
	if s.StorageURL != "" {
		recordings = withoutSecrets(s.StorageURL)
	}
	return []dashboard.Fact{
		{Name: "Dashboard", Text: s.Settings.BaseURL},
		{Name: "API", Text: s.Settings.BaseURL + "/api/v1, reference at " + s.Settings.BaseURL + "/docs"},
		{Name: "Data", Text: s.DataDir},
		{Name: "Database", Text: database},
		{Name: "Storage", Text: recordings},
		{Name: "Bots", Text: s.describeBots(ctx)},
	}
}

func (s *Service) describeBots(ctx context.Context) string {
	launcher := cmp.Or(s.Launcher, "process")
	if err := s.health.failure(checkLauncher); err != nil {
		return "none can be launched (launcher " + launcher + "): " + err.Error()
	}
	capacity := s.capacity.Total(ctx)
	if launcher == "manual" {
		return "started by you (launcher manual)"
	}
	if capacity >= dispatch.Unlimited {
		return "any number at a time (launcher " + launcher + ")"
	}
	return fmt.Sprintf("up to %d at a time (launcher %s)", capacity, launcher)
}

// withoutSecrets returns a URL without its user and its query.
func withoutSecrets(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(a malformed URL)"
	}
	return u.Scheme + "://" + u.Host + u.Path
}
