package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
)

// defaultMatches is the number of matches of a search that names no limit.
const defaultMatches = 50

// matchBody is the TextMatch schema of api/openapi.yaml.
type matchBody struct {
	JobID        uuid.UUID     `json:"jobId"`
	JobCreatedAt job.Timestamp `json:"jobCreatedAt"`
	MeetingURL   string        `json:"meetingUrl"`
	Kind         job.TextKind  `json:"kind"`
	StartMs      int64         `json:"startMs"`
	Speaker      string        `json:"speaker"`
	Text         string        `json:"text"`
}

func (a *API) searchTexts(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	var query struct {
		Words       string    `json:"q"`
		Speaker     string    `json:"speaker"`
		CreatedFrom time.Time `json:"createdFrom"`
		CreatedTo   time.Time `json:"createdTo"`
		Limit       int       `json:"limit"`
	}
	if err := a.readQuery(w, r, "searchTexts", &query); err != nil {
		return err
	}
	if query.Words == "" {
		return invalid(issue("required", "is missing", "q"))
	}
	release, err := a.costlyRead(r, caller)
	if err != nil {
		return err
	}
	filter := job.TextFilter{Speaker: query.Speaker, From: query.CreatedFrom, To: query.CreatedTo}
	matches, err := a.settings.Texts.SearchTexts(r.Context(), caller.ConsumerID, caller.Mode, query.Words, filter, cmp.Or(query.Limit, defaultMatches))
	release()
	if err != nil {
		return fmt.Errorf("search texts: %w", err)
	}
	bodies := make([]matchBody, len(matches))
	for i, m := range matches {
		bodies[i] = matchBody{
			JobID: m.JobID, JobCreatedAt: job.Timestamp(m.CreatedAt), MeetingURL: m.MeetingURL,
			Kind: m.Kind, StartMs: max(0, m.StartMs), Speaker: m.Speaker, Text: m.Text,
		}
	}
	a.writeJSON(w, http.StatusOK, struct {
		Matches []matchBody `json:"matches"`
	}{bodies})
	return nil
}
