package service

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"standin/internal/dashboard"
	"standin/internal/httpapi"
	"standin/internal/launch/docker"
	"standin/internal/launch/kubernetes"
	"standin/internal/retry"
)

const (
	// healthInterval is the time between two checks of a node, and healthRetry while
	// one fails.
	healthInterval = 30 * time.Second
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
			h.log.Error(healthMessages[c.name], "error", err)
		case err == nil && before != nil:
			h.log.Info("works again", "check", c.name)
			if c.name == checkLauncher {
				h.recovered()
			}
		}
	}
}

// healthMessages say in the log what a failed check means.
var healthMessages = map[string]string{
	checkDatabase: "the database does not respond",
	checkSchema:   "the schema of the database is not usable by this version",
	checkStorage:  "the storage is unavailable; until it is, bots keep their recordings",
	checkLauncher: "no bot can be launched until this is fixed",
}

// failure returns why the last check with a name failed; nil if it did not.
func (h *health) failure(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failures[name]
}

// Readiness implements httpapi.Readiness.
func (h *health) Readiness() []httpapi.ReadinessCheck {
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
	checks := []healthCheck{{checkDatabase, s.store.Ping}, {checkSchema, s.store.CheckSchema}, {checkStorage, s.storage.Check}}
	if launcher != nil {
		checks = append(checks, healthCheck{checkLauncher, launcher})
	}
	return &health{checks: checks, recovered: func() { s.dispatcher.Wake() }, log: s.settings.Log, failures: make(map[string]error)}
}

// dockerCheck returns the check that the engine responds.
func dockerCheck(settings docker.Settings) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := docker.Check(ctx, settings)
		return err
	}
}

// kubernetesCheck returns the check that the cluster responds, and that the service may run bots
// in it.
func kubernetesCheck(settings kubernetes.Settings) func(context.Context) error {
	return func(ctx context.Context) error {
		found, err := kubernetes.Check(ctx, settings)
		if err == nil && len(found.Missing) > 0 {
			err = fmt.Errorf("the service may not %s in the namespace %q", strings.Join(found.Missing, ", "), settings.Namespace)
		}
		return err
	}
}
