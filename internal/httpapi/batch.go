package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"standin/api"
	"standin/internal/account"
	"standin/internal/httpmw"
	"standin/internal/job"
)

// batchPath is the path of createJobs, which is one of /api/v1/jobs/{id} too.
const batchPath = "/api/v1/jobs/batch"

// batchResult is the JobBatchItem schema of api/openapi.yaml.
type batchResult struct {
	Status   int        `json:"status"`
	Job      *job.View  `json:"job,omitempty"`
	Replayed bool       `json:"replayed,omitempty"`
	Warning  string     `json:"warning,omitempty"`
	Error    *errorBody `json:"error,omitempty"`
}

// createJobs creates jobs one after the other. The result of each is that of createJob.
// When the time is over, the items that are left are refused.
func (a *API) createJobs(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	items, err := a.readBatch(w, r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.settings.Timeouts.Batch)
	defer cancel()
	results := make([]batchResult, len(items))
	for i, item := range items {
		results[i] = a.createItem(ctx, r, caller, item)
	}
	a.writeJSON(w, http.StatusOK, map[string][]batchResult{"results": results})
	return nil
}

// batchItem is the request for one job of a batch, as it was checked.
type batchItem struct {
	api.Checked
	request createRequest
	err     error
}

// readBatch reads the items of a batch.
func (a *API) readBatch(w http.ResponseWriter, r *http.Request) ([]batchItem, error) {
	body, release, err := a.readBody(w, r)
	if err != nil {
		return nil, err
	}
	defer release()
	done, err := a.decodeTurn(r, body)
	if err != nil {
		return nil, err
	}
	defer done()
	value, issues := api.Parse(body)
	if issues != nil {
		return nil, invalid(issues)
	}
	batch := a.settings.Description.CheckValue("createJobs", value)
	batch.Issues = slices.DeleteFunc(batch.Issues, func(i api.Issue) bool { return len(i.Path) > 1 }) // of single items
	if err := decode(w, batch, &struct{}{}); err != nil {
		return nil, err
	}
	given := value.(map[string]any)["jobs"].([]any) // as the schema says
	items := make([]batchItem, len(given))
	for i, one := range given {
		item := batchItem{Checked: a.settings.Description.CheckValue("createJob", one)}
		item.request, item.err = newCreateRequest(item.Checked)
		items[i] = item
	}
	return items, nil
}

// createItem creates one job of a batch.
func (a *API) createItem(ctx context.Context, r *http.Request, caller account.Caller, item batchItem) batchResult {
	var created createdJob
	err := ctx.Err()
	if err == nil {
		created, err = a.create(ctx, caller, item.Checked, item.request, item.err)
	}
	if ctx.Err() != nil && err != nil {
		err = &failure{status: http.StatusRequestTimeout, code: "request_timeout", message: "The batch took too long. Send this item again."}
	}
	if err != nil {
		id := httpmw.RecordOf(r).ID
		status, body := errorResponse(err, id)
		if status == http.StatusInternalServerError {
			a.settings.Log.Error("cannot create a job of a batch", "request", id, "error", err)
		}
		return batchResult{Status: status, Error: &body}
	}
	view := job.NewView(created.Job)
	result := batchResult{Status: http.StatusCreated, Job: &view, Replayed: created.replayed, Warning: joinSentences(created.warnings)}
	if created.replayed {
		result.Status = http.StatusOK
	}
	return result
}

// newCreateRequest decodes a checked request for a job.
func newCreateRequest(checked api.Checked) (createRequest, error) {
	request := emptyRequest()
	if len(checked.Issues) > 0 {
		return request, invalid(checked.Issues)
	}
	if err := checked.Decode(&request); err != nil {
		return request, fmt.Errorf("decode a job of a batch: %w", err)
	}
	return request, nil
}
