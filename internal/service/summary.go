package service

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"

	"standin/internal/dashboard"
	"standin/internal/dispatch"
	"standin/internal/store"
)

// Summary returns where the service is and what it uses, without secrets.
func (s *Service) Summary(ctx context.Context) []dashboard.Fact {
	return []dashboard.Fact{
		{Name: "Dashboard", Text: s.settings.BaseURL},
		{Name: "API", Text: s.settings.BaseURL + "/api/v1, reference at " + s.settings.BaseURL + "/docs"},
		{Name: "Data", Text: s.settings.DataDir},
		{Name: "Database", Text: s.describeDatabase()},
		{Name: "Storage", Text: s.describeStorage()},
		{Name: "Bots", Text: s.describeBots(ctx)},
	}
}

func (s *Service) describeDatabase() string {
	address := DatabaseAddress(s.settings.DatabaseURL, s.settings.DataDir)
	if !store.IsPostgres(address) {
		return "SQLite, " + address
	}
	return "PostgreSQL, " + withoutSecrets(address)
}

func (s *Service) describeStorage() string {
	if s.settings.StorageURL == "" {
		return filepath.Join(s.settings.DataDir, storageDir)
	}
	return withoutSecrets(s.settings.StorageURL)
}

func (s *Service) describeBots(ctx context.Context) string {
	launcher := cmp.Or(s.settings.Launcher, "process")
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
