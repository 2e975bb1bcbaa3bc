package httpapi

import (
	"fmt"
	"net/http"
	"time"

	"standin/internal/account"
	"standin/internal/job"
)

// listQuery is the query of listJobs.
type listQuery struct {
	pageQuery
	Status        []job.Status `json:"status"`
	Platform      job.Platform `json:"platform"`
	ExternalID    string       `json:"externalId"`
	CreatedFrom   time.Time    `json:"createdFrom"`
	CreatedTo     time.Time    `json:"createdTo"`
	CreatedAfter  time.Time    `json:"createdAfter"`
	CreatedBefore time.Time    `json:"createdBefore"`
	JoinFrom      time.Time    `json:"joinFrom"`
	JoinTo        time.Time    `json:"joinTo"`
	Expand        []string     `json:"expand"`

	Metadata map[string]string `json:"metadata"`
}

func (a *API) listJobs(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	var query listQuery
	if err := a.readQuery(w, r, "listJobs", &query); err != nil {
		return err
	}
	filter := query.filter()
	release := func() {}
	if len(filter.Metadata) > 0 {
		var err error
		if release, err = a.costlyRead(r, caller); err != nil {
			return err
		}
	}
	jobs, next, err := a.settings.Jobs.Jobs(r.Context(), caller, filter, query.page())
	release()
	if err != nil {
		return fmt.Errorf("list jobs: %w", err)
	}
	views := make([]any, len(jobs))
	for i, j := range jobs {
		views[i] = job.NewView(j)
	}
	if len(query.Expand) > 0 {
		details, err := a.settings.Jobs.Details(r.Context(), jobs)
		if err != nil {
			return fmt.Errorf("read the details of jobs: %w", err)
		}
		for i, j := range jobs {
			views[i] = newDetailedJob(j, details[j.ID])
		}
	}
	a.writeJSON(w, http.StatusOK, struct {
		Jobs []any   `json:"jobs"`
		Next *string `json:"nextCursor"`
	}{views, nullText(next)})
	return nil
}

// filter returns the filter of a query.
func (q listQuery) filter() job.Filter {
	filter := job.Filter{
		Statuses: q.Status, Platform: q.Platform, ExternalID: q.ExternalID, Metadata: q.Metadata,
		CreatedFrom: q.CreatedFrom, CreatedTo: q.CreatedTo, JoinFrom: q.JoinFrom, JoinTo: q.JoinTo,
	}
	if !q.CreatedAfter.IsZero() {
		after := q.CreatedAfter.Truncate(time.Millisecond).Add(time.Millisecond) // times are stored with milliseconds
		if after.After(filter.CreatedFrom) {
			filter.CreatedFrom = after
		}
	}
	if !q.CreatedBefore.IsZero() && (filter.CreatedTo.IsZero() || q.CreatedBefore.Before(filter.CreatedTo)) {
		filter.CreatedTo = q.CreatedBefore
	}
	return filter
}
