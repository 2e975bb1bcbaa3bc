package dispatch

import (
	"encoding/json"
	"slices"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/store"
)

// consents tells of each request for permission that a job's consumer made
// what became of it. An answer of the host's belongs to the request whose
// commandId it carries, else to the oldest one that was made before it and has
// no answer; one that belongs to none is left out.
func consents(requests []store.Command, entries []job.TimelineEntry) []recording.Consent {
	all := make([]recording.Consent, len(requests))
	for i, request := range requests {
		all[i] = recording.Consent{
			CommandID:   request.ID.String(),
			RequestedAt: recording.Instant{Time: request.CreatedAt},
		}
	}
	for _, e := range entries {
		if e.Source != job.SourceBot || e.Kind != job.BotPermissionResponse || e.Reason == job.Duplicate {
			continue
		}
		var named struct {
			CommandID string `json:"commandId"`
		}
		_ = json.Unmarshal(e.Data, &named) // data is free-form; what is not there names nothing
		i := slices.IndexFunc(all, func(c recording.Consent) bool { return c.CommandID == named.CommandID })
		if i < 0 {
			i = slices.IndexFunc(all, func(c recording.Consent) bool {
				return c.Outcome == "" && !c.RequestedAt.After(e.ReceivedAt)
			})
		}
		if i >= 0 && all[i].Outcome == "" {
			all[i].Outcome, all[i].RespondedAt = outcomeOf(ingest.ParseEventData(e.Data)), recording.Instant{Time: e.EmittedAt}
		}
	}
	return all
}

// outcomeOf reads the host's answer. One that says neither how it went nor
// that permission was granted has not granted it, as the webhook says too.
func outcomeOf(data ingest.EventData) recording.ConsentOutcome {
	granted := data.Granted != nil && *data.Granted
	switch outcome := recording.ConsentOutcome(data.Outcome); {
	case granted:
		return recording.ConsentGranted
	case outcome == recording.ConsentGranted || outcome == recording.ConsentTimeout:
		return outcome
	}
	return recording.ConsentDenied
}
