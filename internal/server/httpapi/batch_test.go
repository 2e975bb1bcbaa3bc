package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"standin/internal/server/httpapi"
)

// TestBatchTime checks that a batch that takes too long creates no further jobs, and says
// which.
func TestBatchTime(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) { settings.Timeouts.Batch = time.Nanosecond })
	got := s.send(t, request{"POST", jobsPath + "/batch", adasKey, nil, `{"jobs":[` + minimalJob + `,` + minimalJob2 + `]}`})
	if got.status != 200 || strings.Count(got.body, `"status":408,"error":{"error":"request_timeout"`) != 2 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if j, err := s.jobs.JobByExternalID(t.Context(), s.ada, "standup"); err == nil {
		t.Errorf("created %+v", j)
	}
}
