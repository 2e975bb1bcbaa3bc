package dispatch

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// TestConsents checks that consents pairs each permission request with its
// response.
func TestConsents(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	ids := []uuid.UUID{uuid.New(), uuid.New()}
	requestedAt := func(minutes ...int) []ingest.QueuedCommand {
		var requests []ingest.QueuedCommand
		for i, minute := range minutes {
			requests = append(requests, ingest.QueuedCommand{ID: ids[i], CreatedAt: at(minute)})
		}
		return requests
	}
	respondedAt := func(minute int, data string) job.TimelineEntry {
		return job.TimelineEntry{
			Source: job.SourceBot, Kind: job.BotPermissionResponse, Applied: true,
			EmittedAt: at(minute), ReceivedAt: at(minute).Add(time.Second), Data: json.RawMessage(data),
		}
	}
	duplicate := respondedAt(3, `{"granted":true}`)
	duplicate.Applied, duplicate.Reason = false, job.Duplicate
	another := respondedAt(3, `{"granted":true}`)
	another.Kind = job.BotInMeeting

	tests := map[string]struct {
		requests []ingest.QueuedCommand
		entries  []job.TimelineEntry
		want     []string // outcome and minute of the response, for each request
	}{
		"no request":         {nil, []job.TimelineEntry{respondedAt(1, `{"granted":true}`)}, nil},
		"no response":        {requestedAt(1), nil, []string{" -"}},
		"granted":            {requestedAt(1), []job.TimelineEntry{respondedAt(2, `{"granted":true}`)}, []string{"granted 2"}},
		"granted by outcome": {requestedAt(1), []job.TimelineEntry{respondedAt(2, `{"outcome":"granted"}`)}, []string{"granted 2"}},
		"denied": {
			requestedAt(1), []job.TimelineEntry{respondedAt(2, `{"granted":false,"outcome":"denied"}`)}, []string{"denied 2"},
		},
		"timeout": {
			requestedAt(1), []job.TimelineEntry{respondedAt(2, `{"granted":false,"outcome":"timeout"}`)}, []string{"timeout 2"},
		},
		"response without data":       {requestedAt(1), []job.TimelineEntry{respondedAt(2, ``)}, []string{"denied 2"}},
		"response before the request": {requestedAt(5), []job.TimelineEntry{respondedAt(2, `{"granted":true}`)}, []string{" -"}},
		"two requests, both answered": {
			requestedAt(1, 2), []job.TimelineEntry{respondedAt(3, `{"outcome":"timeout"}`), respondedAt(4, `{"granted":true}`)},
			[]string{"timeout 3", "granted 4"},
		},
		"two requests, one answered": {
			requestedAt(1, 5), []job.TimelineEntry{respondedAt(3, `{"outcome":"denied"}`)}, []string{"denied 3", " -"},
		},
		"response names its command": {
			requestedAt(1, 2), []job.TimelineEntry{respondedAt(3, fmt.Sprintf(`{"granted":true,"commandId":%q}`,
				ids[1]))}, []string{" -", "granted 3"},
		},
		"only the first response counts": {
			requestedAt(1), []job.TimelineEntry{
				respondedAt(3, `{"outcome":"denied"}`), respondedAt(4, fmt.Sprintf(`{"granted":true,"commandId":%q}`, ids[0])),
			}, []string{"denied 3"},
		},
		"other events": {requestedAt(1), []job.TimelineEntry{duplicate, another}, []string{" -"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := consents(test.requests, test.entries)
			if len(got) != len(test.want) {
				t.Fatalf("%d consents, want %d", len(got), len(test.want))
			}
			for i, consent := range got {
				if got := formatConsent(consent, noon); got != test.want[i] {
					t.Errorf("request %d: %q, want %q", i, got, test.want[i])
				}
				if consent.CommandID != ids[i].String() || !consent.RequestedAt.Equal(test.requests[i].CreatedAt) {
					t.Errorf("request %d has command ID %s and request time %v", i, consent.CommandID, consent.RequestedAt)
				}
			}
		})
	}
}

// formatConsent returns an outcome and the minute of its response.
func formatConsent(c recording.Consent, noon time.Time) string {
	minute := "-"
	if !c.RespondedAt.IsZero() {
		minute = fmt.Sprint(int(c.RespondedAt.Sub(noon).Minutes()))
	}
	return string(c.Outcome) + " " + minute
}
