package outcome

import (
	"path/filepath"
	"strings"
	"testing"

	"standin/internal/jobs/job"
	"standin/internal/testing/source"
)

// TestEveryFailureIsExplained checks that each failure code has a unique title, a
// text, a side and an action.
func TestEveryFailureIsExplained(t *testing.T) {
	t.Parallel()
	titles := make(map[string]job.FailureCode)
	for _, code := range job.FailureCodes() {
		e := Explain(job.Job{State: job.State{Status: job.Failed, FailureCode: code}}, "", "", false)
		if e.Text == "" || e.Side == "" || e.Action == "" || titles[e.Title] != "" {
			t.Errorf("%s is explained as %+v", code, e)
		}
		titles[e.Title] = code
	}
	if e := Explain(job.Job{State: job.State{Status: job.Failed, FailureCode: "nonsense"}}, "", "", false); !strings.Contains(e.Text, "nonsense") {
		t.Errorf("an unknown code is explained as %+v", e)
	}
}

// TestEveryEndIsExplained checks the end reasons in the source of the bot and those of
// the service.
func TestEveryEndIsExplained(t *testing.T) {
	t.Parallel()
	report := filepath.Join("..", "..", "bot", "report", "report.go")
	reasons := append(source.Constants(t, report, "Reason"), "bot_lost", "cancelled", "recording_failed", "unknown")
	if len(reasons) < 15 {
		t.Errorf("found only %d reasons: %q", len(reasons), reasons)
	}
	for _, reason := range reasons {
		if e, known := endings[reason]; !known || e.Title == "" || e.Text == "" {
			t.Errorf("%s is not explained", reason)
		}
	}
}

// TestEveryStageIsDescribed checks that each status in which a job can fail has a stage.
func TestEveryStageIsDescribed(t *testing.T) {
	t.Parallel()
	for _, status := range job.Statuses() {
		if !status.Terminal() && stages[status] == "" {
			t.Errorf("%s has no stage", status)
		}
	}
}
