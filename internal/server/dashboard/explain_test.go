package dashboard

import (
	"path/filepath"
	"strings"
	"testing"

	"standin/internal/jobs/job"
	"standin/internal/testing/source"
)

// TestEveryGapIsExplained checks the reasons of gaps in the source of the recording.
func TestEveryGapIsExplained(t *testing.T) {
	t.Parallel()
	for _, reason := range source.Constants(t, filepath.Join("..", "..", "recording", "manifest.go"), "Gap") {
		if gapText(reason) == reason {
			t.Errorf("the gap %s is not explained", reason)
		}
	}
}

// TestEveryStatusIsDescribed checks that each status has a display name and a CSS
// class.
func TestEveryStatusIsDescribed(t *testing.T) {
	t.Parallel()
	for _, status := range job.Statuses() {
		if strings.Contains(statusText(status), "_") || tone(status) == "" {
			t.Errorf("%s has the name %q and the class %q", status, statusText(status), tone(status))
		}
	}
}
