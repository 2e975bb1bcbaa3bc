package mcpserver

import (
	"context"
	"time"
)

type searchInput struct {
	Words string `json:"words" jsonschema:"Words that a text must contain, in any case; also their beginnings. The order does not matter."`
	Limit int    `json:"limit,omitempty" jsonschema:"Maximum number of matches."`
}

type searchResult struct {
	labeled
	Matches []match `json:"matches" jsonschema:"Those of the newest jobs first."`
}

type match struct {
	JobID        string     `json:"jobId"`
	JobCreatedAt time.Time  `json:"jobCreatedAt"`
	Kind         string     `json:"kind" jsonschema:"transcript, caption or chat"`
	Minute       float64    `json:"minute" jsonschema:"When it was said, in minutes since the start of the recording: read what is around it with get_transcript."`
	Untrusted    matchTexts `json:"untrusted"`
}

type matchTexts struct {
	MeetingURL string `json:"meetingUrl"`
	Speaker    string `json:"speaker,omitempty"`
	Text       string `json:"text"`
}

// searchTranscripts finds what was said and written in all recordings of the agent's
// user.
func (s session) searchTranscripts(ctx context.Context, in searchInput) (searchResult, error) {
	found, err := s.api.SearchTexts(ctx, in.Words, in.Limit)
	if err != nil {
		return searchResult{}, err
	}
	result := searchResult{label(), make([]match, len(found))}
	for i, m := range found {
		result.Matches[i] = match{
			JobID: m.JobID, JobCreatedAt: m.JobCreatedAt, Kind: m.Kind,
			Minute:    (time.Duration(m.StartMS) * time.Millisecond).Minutes(),
			Untrusted: matchTexts{quote(m.MeetingURL, maxLink), quote(m.Speaker, maxName), quote(m.Text, maxText)},
		}
	}
	return result, nil
}
