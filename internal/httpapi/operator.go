package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"standin/internal/host"
	"standin/internal/job"
)

// HostReader reads the metrics of this machine.
type HostReader interface {
	Read(ctx context.Context) host.Metrics
}

// JobCounts counts the jobs that have not ended.
type JobCounts interface {
	CountActive(ctx context.Context) (map[job.Status]int, error)
}

// hostMetrics serves the operation of that name of api/openapi.yaml.
func (a *API) hostMetrics(w http.ResponseWriter, r *http.Request) error {
	counts, err := a.settings.JobCounts.CountActive(r.Context())
	if err != nil {
		return fmt.Errorf("count jobs: %w", err)
	}
	metrics := a.settings.Host.Read(r.Context())
	for status, jobs := range counts {
		if status.Dispatched() {
			metrics.Bots.Running += jobs
		} else {
			metrics.Bots.Scheduled += jobs
		}
	}
	a.writeJSON(w, http.StatusOK, metrics)
	return nil
}

// metrics serves the metrics.
func (a *API) metrics(w http.ResponseWriter, r *http.Request) error {
	a.settings.Metrics.ServeHTTP(w, r)
	return nil
}

// forScraper serves requests with an operator's secret as a bearer token.
func (a *API) forScraper(handle handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		token, ok := bearer(r)
		for _, secret := range []string{a.settings.MetricsSecret, a.settings.AdminSecret} {
			if ok && secret != "" && sameSecret(token, secret) {
				return handle(w, r)
			}
		}
		return a.refuseSecret(r, "Bearer", "Authorization")
	}
}
