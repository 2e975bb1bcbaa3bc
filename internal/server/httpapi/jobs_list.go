package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"standin/api"
	"standin/client"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/outcome"
)

// listQuery is the query of listJobs.
type listQuery struct {
	pageQuery
	job.Filter
	CreatedAfter  time.Time `json:"createdAfter"`
	CreatedBefore time.Time `json:"createdBefore"`
	Expand        []string  `json:"expand"`
}

func (a *API) listJobs(r *apiRequest, query listQuery) error {
	filter := query.Filter
	if !query.CreatedAfter.IsZero() {
		after := query.CreatedAfter.Truncate(time.Millisecond).Add(time.Millisecond) // times are stored with milliseconds
		if after.After(filter.CreatedFrom) {
			filter.CreatedFrom = after
		}
	}
	if !query.CreatedBefore.IsZero() && (filter.CreatedTo.IsZero() || query.CreatedBefore.Before(filter.CreatedTo)) {
		filter.CreatedTo = query.CreatedBefore
	}
	release := func() {}
	if len(filter.Metadata) > 0 {
		var err error
		if release, err = r.costlyRead(); err != nil {
			return err
		}
	}
	jobs, next, err := a.Jobs.Jobs(r.Context(), r.caller, filter, query.page())
	release()
	if err != nil {
		return err
	}
	views := make([]any, len(jobs))
	for i, j := range jobs {
		views[i] = job.NewView(j)
	}
	if len(query.Expand) > 0 {
		details, err := a.Jobs.Details(r.Context(), jobs)
		if err != nil {
			return err
		}
		for i, j := range jobs {
			views[i] = a.newDetailedJob(j, details[j.ID])
		}
	}
	return r.respond(map[string]any{"jobs": views, "nextCursor": orNull(next)}, nil)
}

// detailedJob is the JobDetails schema of api/openapi.yaml.
type detailedJob struct {
	job.View
	Title           *string           `json:"title"`
	DisplayName     string            `json:"displayName"`
	Webhooks        webhooksBody      `json:"webhooks"`
	Options         job.Options       `json:"options"`
	EndedAt         *job.Timestamp    `json:"endedAt"`
	DurationSeconds *float64          `json:"durationSeconds"`
	Participants    []job.Participant `json:"participants"`
	Sources         []string          `json:"sources"`
	Outcome         client.Outcome    `json:"outcome"`

	Recording  *client.RecordingLinks `json:"recording,omitempty"`
	Transcript *client.TranscriptLink `json:"transcript,omitempty"`
	Resources  *client.Resources      `json:"resources,omitempty"`
}

// webhooksBody has the webhook URLs of a job.
type webhooksBody struct {
	OnStatusChange *string `json:"onStatusChange"`
	OnFinalize     *string `json:"onFinalize"`
}

func newWebhooksBody(w job.Webhooks) webhooksBody {
	return webhooksBody{orNull(w.OnStatusChange), orNull(w.OnFinalize)}
}

// causes are the sides of failures as the API names them.
var causes = map[outcome.Side]string{outcome.MeetingSide: "meeting", outcome.YourSide: "request", outcome.OurSide: "service"}

func (a *API) newDetailedJob(j job.Job, d lifecycle.Details) detailedJob {
	explained := outcome.Explain(j, d.FailedIn, d.EndReason, d.Partial)
	runbook := "" // the section of the guide about a failure
	if j.FailureCode != "" {
		runbook = "/docs/guide/runbook.html#" + strings.ReplaceAll(string(j.FailureCode), "_", "-") // the anchor of its heading
	}
	body := detailedJob{
		View: job.NewView(j), Title: orNull(j.Title()), DisplayName: j.DisplayName, Webhooks: newWebhooksBody(j.Webhooks),
		Options: j.Resolved(), EndedAt: job.NullTimestamp(d.EndedAt), Participants: append([]job.Participant{},
			d.Participants...), Sources: append([]string{}, d.Sources...),
		Outcome: client.Outcome{
			Title: explained.Title, Text: explained.Text, Cause: orNull(causes[explained.Side]), Action: orNull(explained.Action),
			Stage: orNull(explained.Stage), EndReason: orNull(d.EndReason), DocURL: orNull(runbook),
		},
	}
	if d.DurationMs > 0 {
		body.DurationSeconds = new(float64(d.DurationMs) / 1000)
	}
	if j.ManifestURI != "" && !d.Deleted {
		body.Recording = &client.RecordingLinks{ManifestURI: j.ManifestURI, MediaURI: orNull(d.MediaURI), Partial: d.Partial, Bytes: d.Bytes}
	}
	if d.TranscriptURI != "" {
		body.Transcript = &client.TranscriptLink{URI: d.TranscriptURI, Source: "captions"}
		if d.Transcript {
			body.Transcript.Source, body.Transcript.Words = "transcriber", d.Words
		}
	}
	if d.Resources != (job.Resources{}) {
		body.Resources = new(client.Resources(d.Resources.Fields(a.Jobs.Prices)))
	}
	return body
}

func (a *API) getJobDetails(r *apiRequest) error {
	j, err := r.job()
	if err != nil {
		return err
	}
	details, err := a.Jobs.Details(r.Context(), []job.Job{j})
	return r.respond(a.newDetailedJob(j, details[j.ID]), err)
}

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
func (a *API) createJobs(r *apiRequest) error {
	body, done, err := r.readBody(maxBodyBytes)
	if err != nil {
		return err
	}
	defer done()
	value, issues := api.Parse(body)
	if issues != nil {
		return invalid(issues)
	}
	batch := a.Description.CheckValue("createJobs", value)
	batch.Issues = slices.DeleteFunc(batch.Issues, func(i api.Issue) bool { return len(i.Path) > 1 }) // of single items
	if err := r.decode(batch, &struct{}{}); err != nil {
		return err
	}
	given := value.(map[string]any)["jobs"].([]any) // as the schema says
	checked, requests, errs := make([]api.Checked, len(given)), make([]createRequest, len(given)), make([]error, len(given))
	for i, item := range given {
		checked[i], requests[i] = a.Description.CheckValue("createJob", item), emptyRequest()
		if len(checked[i].Issues) > 0 {
			errs[i] = invalid(checked[i].Issues)
		} else {
			errs[i] = checked[i].Decode(&requests[i])
		}
	}
	done()
	ctx, cancel := context.WithTimeout(r.Context(), a.Timeouts.Batch)
	defer cancel()
	results := make([]batchResult, len(given))
	for i, request := range requests {
		var created createdJob
		err := ctx.Err()
		if err == nil {
			created, err = a.create(ctx, r.caller, checked[i], request, errs[i])
		}
		if ctx.Err() != nil && err != nil {
			err = &failure{status: http.StatusRequestTimeout, code: "request_timeout", message: "The batch took too long. Send this item again."}
		}
		if err != nil {
			status, body, _ := r.errorResponse(err)
			if status == http.StatusInternalServerError {
				a.Log.Error("cannot create a job of a batch", "request", r.ID, "error", err)
			}
			results[i] = batchResult{Status: status, Error: &body}
			continue
		}
		results[i] = batchResult{
			Status: http.StatusCreated, Job: new(job.NewView(created.Job)), Replayed: created.replayed, Warning: joinSentences(created.warnings),
		}
		if created.replayed {
			results[i].Status = http.StatusOK
		}
	}
	return r.respond(map[string][]batchResult{"results": results}, nil)
}
