package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"standin/api"
	"standin/internal/account"
	"standin/internal/base/meetinglink"
	"standin/internal/base/text"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
)

// createRequest is the JobCreate schema of api/openapi.yaml.
type createRequest struct {
	ExternalID  string          `json:"externalId"`
	MeetingURL  string          `json:"meetingUrl"`
	Platform    job.Platform    `json:"platform"`
	JoinAt      time.Time       `json:"joinAt"`
	DisplayName string          `json:"displayName"`
	Webhooks    job.Webhooks    `json:"webhooks"`
	Metadata    json.RawMessage `json:"metadata"`
	AutoLeave   job.AutoLeave   `json:"autoLeave"`
	job.Options
	Dedupe bool `json:"dedupe"`
}

// emptyRequest returns a request with the defaults.
func emptyRequest() createRequest {
	return createRequest{AutoLeave: job.DefaultAutoLeave(), Metadata: json.RawMessage("{}")}
}

func (a *API) createJob(r *apiRequest) error {
	request := emptyRequest()
	checked, err := r.readChecked(&request)
	created, err := a.create(r.Context(), r.caller, checked, request, err)
	if err != nil {
		return err
	}
	r.warn(created.warnings...)
	r.JobID = created.ID
	if created.replayed {
		r.Header().Set(replayedHeader, "true")
		return r.respond(job.NewView(created.Job), nil)
	}
	return r.respondCreated("jobs", created.ID, job.NewView(created.Job), nil)
}

// createdJob is the result of a request for a job.
type createdJob struct {
	job.Job
	replayed bool // the job existed
	warnings []string
}

// create creates the job of a request. If the request is invalid, as err says, or cannot
// be used, the result is the job that has its externalId, or the error.
func (a *API) create(ctx context.Context, caller account.Caller, checked api.Checked, request createRequest,
	err error) (createdJob, error) {
	if err == nil {
		err = checkMore(caller, request.Metadata, request.Options, request.JoinAt)
	}
	if err != nil {
		return a.replay(ctx, caller, checked, err)
	}
	platform, _ := meetinglink.Describe(request.MeetingURL, a.AllowedMeetingHosts...)
	request.Title = title(request.Title)
	j, replayed, err := a.Jobs.Create(ctx, caller, lifecycle.NewJob{
		ExternalID: request.ExternalID, MeetingURL: request.MeetingURL, Platform: cmp.Or(request.Platform, platform),
		JoinAt: request.JoinAt.Truncate(time.Millisecond), DisplayName: displayName(request.DisplayName), Webhooks: request.Webhooks,
		Metadata: request.Metadata, AutoLeave: request.AutoLeave, Options: request.Options, Dedupe: request.Dedupe,
	})
	if err != nil {
		return createdJob{}, err
	}
	return a.describeCreated(ctx, j, replayed)
}

// replay returns the job that has the externalId of an invalid request, or the error of
// the request when there is no such job.
func (a *API) replay(ctx context.Context, caller account.Caller, checked api.Checked, invalid error) (createdJob, error) {
	externalID, _ := checked.Field("externalId").(string)
	if externalID == "" || slices.ContainsFunc(checked.Issues, func(i api.Issue) bool { return slices.Equal(i.Path, []any{"externalId"}) }) {
		return createdJob{}, invalid
	}
	found, err := a.Jobs.JobByExternalID(ctx, caller, externalID)
	if job.ErrorIs(err, job.NotFound) {
		return createdJob{}, invalid
	}
	if err != nil {
		return createdJob{}, err
	}
	return a.describeCreated(ctx, found, true)
}

// describeCreated returns a job with the warnings about it.
func (a *API) describeCreated(ctx context.Context, j job.Job, replayed bool) (createdJob, error) {
	warnings := j.UnusableMetadata()
	if j.Mode == job.Live { // the simulator opens no link
		warnings = append(warnings, meetinglink.Warning(j.MeetingURL, a.AllowedMeetingHosts...))
	}
	if !j.Status.Terminal() {
		other, found, err := a.Jobs.OtherJob(ctx, j)
		if err != nil {
			return createdJob{}, err
		}
		if found {
			warnings = append(warnings, "Job "+other.String()+" is for the same meeting at this time: both send a bot.")
		}
	}
	return createdJob{j, replayed, warnings}, nil
}

// warningHeader has a sentence for each part of a request that will not work.
const warningHeader = "X-Standin-Warning"

// warn adds sentences to the warnings of a response.
func (r *apiRequest) warn(sentences ...string) {
	if text := joinSentences(append([]string{r.Header().Get(warningHeader)}, sentences...)); text != "" {
		r.Header().Set(warningHeader, text)
	}
}

// joinSentences joins the sentences that are not empty.
func joinSentences(sentences []string) string {
	return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " ")
}

// checkMore checks what the schemas of jobs cannot.
func checkMore(caller account.Caller, metadata json.RawMessage, options job.Options, joinAt time.Time) error {
	var issues []api.Issue
	if len(metadata) > job.MaxMetadata {
		issues = append(issues, issue("maxLength", fmt.Sprintf("must be at most %d bytes long as JSON", job.MaxMetadata), "metadata")...)
	}
	if options.Simulate != nil && caller.Mode != job.Test {
		issues = append(issues, issue("not", "needs a test key", "simulate")...)
	}
	if isUnset(joinAt) {
		joinAt = time.Now()
	}
	if !options.StartsInTime(joinAt) {
		issues = append(issues, issue("format", "must be after joinAt", "startBefore")...)
	}
	issues = append(issues, checkOptions(options)...)
	if len(issues) > 0 {
		return invalid(issues)
	}
	return nil
}

// checkOptions checks what the schemas of options cannot. path is that of the options.
func checkOptions(options job.Options, path ...any) (issues []api.Issue) {
	for i, stream := range options.Streams {
		if name, problem := stream.Check(); name != "" {
			issues = append(issues, issue("enum", problem, append(path, "streams", i, name)...)...)
		}
	}
	if options.Output != nil {
		if within, problem := options.Output.Check(); within != nil {
			issues = append(issues, issue("oneOf", problem, append(append(path, "output"), within...)...)...)
		}
	}
	return issues
}

// displayName returns a name on one line, as meeting pages need it. An empty name
// becomes the default.
func displayName(name string) string {
	return cmp.Or(text.CleanLine(name, maxDisplayName), job.DefaultDisplayName)
}

// title returns a title on one line.
func title(given string) string { return text.CleanLine(given, len(given)) }

// maxDisplayName is the number of characters to which display names are cut.
const maxDisplayName = 1000

func (a *API) getJob(r *apiRequest) error {
	j, err := r.job()
	return r.respond(job.NewView(j), err)
}

// job returns the job in the path.
func (r *apiRequest) job() (job.Job, error) {
	j, err := r.api.Jobs.Job(r.Context(), r.caller, r.id)
	if err != nil {
		return job.Job{}, err
	}
	return j, nil
}

// settingsBody is the JobSettings schema of api/openapi.yaml.
type settingsBody struct {
	DisplayName string       `json:"displayName"`
	Webhooks    webhooksBody `json:"webhooks"`
	job.Options
}

func (a *API) getJobSettings(r *apiRequest) error {
	j, err := r.job()
	return r.respond(settingsBody{
		DisplayName: j.DisplayName, Webhooks: newWebhooksBody(j.Webhooks), Options: j.Options,
	}, err)
}

// patchRequest is the JobPatch schema of api/openapi.yaml. A nil field
// does not change. An empty webhook URL, null in JSON, removes the URL.
type patchRequest struct {
	JoinAt      *time.Time               `json:"joinAt"`
	DisplayName *string                  `json:"displayName"`
	Metadata    json.RawMessage          `json:"metadata"`
	AutoLeave   lifecycle.AutoLeavePatch `json:"autoLeave"`
	Webhooks    jobWebhooksPatch         `json:"webhooks"`
	Title       nullableText             `json:"title"`
	StartBefore nullable[time.Time]      `json:"startBefore"`
	job.Options
}

type jobWebhooksPatch struct {
	OnStatusChange nullableText `json:"onStatusChange"`
	OnFinalize     nullableText `json:"onFinalize"`
}

// nullable is a value that a patch can set and remove. Its zero value leaves the value as it is.
type nullable[T any] struct {
	value *T // the zero value removes it
}

type nullableText = nullable[string]

// UnmarshalJSON decodes a value, or null as the zero value.
func (n *nullable[T]) UnmarshalJSON(encoded []byte) error {
	n.value = new(T)
	return json.Unmarshal(encoded, n.value)
}

func (a *API) patchJob(r *apiRequest, request patchRequest) error {
	if err := checkMore(r.caller, request.Metadata, request.Options, time.Time{}); err != nil { // Patch checks startBefore
		return err
	}
	if request.Title.value != nil {
		*request.Title.value = title(*request.Title.value)
	}
	if request.JoinAt != nil && isUnset(*request.JoinAt) {
		request.JoinAt = nil
	}
	if request.DisplayName != nil {
		*request.DisplayName = displayName(*request.DisplayName)
	}
	j, err := a.Jobs.Patch(r.Context(), r.caller, r.id, lifecycle.Patch{
		JoinAt: request.JoinAt, DisplayName: request.DisplayName, Metadata: request.Metadata, AutoLeave: request.AutoLeave,
		Webhooks: lifecycle.WebhooksPatch{OnStatusChange: request.Webhooks.OnStatusChange.value, OnFinalize: request.Webhooks.OnFinalize.value},
		Title:    request.Title.value, StartBefore: request.StartBefore.value, Options: request.Options,
	})
	if err != nil {
		return err
	}
	if request.Metadata != nil {
		r.warn(j.UnusableMetadata()...)
	}
	return r.respond(job.NewView(j), nil)
}

// isUnset reports whether a time is the zero value that clients in Go and .NET send for
// a time that was not set, to the millisecond.
func isUnset(t time.Time) bool { return t.Truncate(time.Millisecond).IsZero() }
