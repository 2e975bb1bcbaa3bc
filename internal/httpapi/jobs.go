package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/api"
	"standin/internal/account"
	"standin/internal/httpmw"
	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/meetinglink"
	"standin/internal/text"
)

// Jobs manages the jobs of consumers. A job that does not exist or belongs to
// another consumer results in a *job.Error with NotFound.
type Jobs interface {
	Create(ctx context.Context, caller account.Caller, request lifecycle.NewJob) (j job.Job, replayed bool, err error)
	Jobs(ctx context.Context, caller account.Caller, filter job.Filter, page lifecycle.Page) (jobs []job.Job, next string, err error)
	// OtherJob returns another job that sends a bot into the same meeting at about the
	// same time.
	OtherJob(ctx context.Context, j job.Job) (job.Job, error)
	JobByExternalID(ctx context.Context, caller account.Caller, externalID string) (job.Job, error)
	Job(ctx context.Context, caller account.Caller, id uuid.UUID) (job.Job, error)
	Patch(ctx context.Context, caller account.Caller, id uuid.UUID, patch lifecycle.Patch) (job.Job, error)
	Cancel(ctx context.Context, caller account.Caller, id uuid.UUID) error
	DeleteRecording(ctx context.Context, caller account.Caller, id uuid.UUID) error
}

// createRequest is the JobCreate schema of api/openapi.yaml.
type createRequest struct {
	ExternalID  string          `json:"externalId"`
	MeetingURL  string          `json:"meetingUrl"`
	Platform    job.Platform    `json:"platform"`
	JoinAt      time.Time       `json:"joinAt"`
	DisplayName string          `json:"displayName"`
	Webhooks    jobWebhooks     `json:"webhooks"`
	Metadata    json.RawMessage `json:"metadata"`
	AutoLeave   job.AutoLeave   `json:"autoLeave"`
	job.RequestOptions
	Dedupe bool `json:"dedupe"`
}

type jobWebhooks struct {
	OnStatusChange string `json:"onStatusChange"`
	OnFinalize     string `json:"onFinalize"`
}

func (a *API) createJob(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	request := createRequest{AutoLeave: job.DefaultAutoLeave(), Metadata: json.RawMessage("{}")}
	checked, err := a.readChecked(w, r, "createJob", &request)
	if err == nil {
		err = checkMetadata(request.Metadata)
	}
	if err != nil {
		return a.replayOr(w, r, caller, checked, err)
	}
	link := a.describeLink(request.MeetingURL)
	j, replayed, err := a.settings.Jobs.Create(r.Context(), caller, request.newJob(link.platform))
	if err != nil {
		return fmt.Errorf("create a job: %w", err)
	}
	return a.writeCreated(w, r, j, replayed, link)
}

// replayOr responds to an invalid request with the job that has its externalId. It
// returns the error of the request when there is no such job.
func (a *API) replayOr(w http.ResponseWriter, r *http.Request, caller account.Caller, checked api.Checked, invalid error) error {
	externalID, _ := checked.Field("externalId").(string)
	if externalID == "" || slices.ContainsFunc(checked.Issues, func(i api.Issue) bool { return slices.Equal(i.Path, []any{"externalId"}) }) {
		return invalid
	}
	found, err := a.settings.Jobs.JobByExternalID(r.Context(), caller, externalID)
	if job.ErrorIs(err, job.NotFound) {
		return invalid
	}
	if err != nil {
		return fmt.Errorf("find a job by externalId: %w", err)
	}
	return a.writeCreated(w, r, found, true, meetingLink{})
}

// meetingLink is what is known about the link to a meeting.
type meetingLink struct {
	text     string
	platform job.Platform
	warning  string // why it cannot lead to a meeting; empty if it may
}

func (a *API) describeLink(text string) meetingLink {
	platform, warning := meetinglink.Describe(text, a.settings.AllowedMeetingHosts...)
	return meetingLink{text, platform, warning}
}

// writeCreated responds with a job, which a replayed request did not create. link is
// the link of the request.
func (a *API) writeCreated(w http.ResponseWriter, r *http.Request, j job.Job, replayed bool, link meetingLink) error {
	_, warnings := job.ParseOptions(j.Metadata)
	if j.Mode == job.Live { // the simulator opens no link
		if link.text != j.MeetingURL {
			link = a.describeLink(j.MeetingURL)
		}
		warnings = append(warnings, link.warning)
	}
	if !j.Status.Terminal() {
		other, err := a.settings.Jobs.OtherJob(r.Context(), j)
		if err != nil && !job.ErrorIs(err, job.NotFound) {
			return fmt.Errorf("find other jobs for the meeting: %w", err)
		}
		if err == nil {
			warnings = append(warnings, "Job "+other.ID.String()+" is for the same meeting at this time: both send a bot.")
		}
	}
	warn(w, warnings...)
	httpmw.RecordOf(r).JobID = j.ID
	status := http.StatusCreated
	if replayed {
		w.Header().Set("Idempotent-Replayed", "true")
		status = http.StatusOK
	} else {
		w.Header().Set("Location", "/api/v1/jobs/"+j.ID.String())
	}
	a.writeJob(w, status, j)
	return nil
}

// warningHeader has a sentence for each part of a request that will not work.
const warningHeader = "X-Standin-Warning"

// warn adds sentences to the warnings of a response.
func warn(w http.ResponseWriter, sentences ...string) {
	all := append([]string{w.Header().Get(warningHeader)}, sentences...)
	if text := strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " "); text != "" {
		w.Header().Set(warningHeader, text)
	}
}

func checkMetadata(metadata json.RawMessage) error {
	if len(metadata) > job.MaxMetadata {
		return invalid(issue("maxLength", fmt.Sprintf("must be at most %d bytes long as JSON", job.MaxMetadata), "metadata"))
	}
	return nil
}

// newJob returns the job of the request. platform is that of its link.
func (c createRequest) newJob(platform job.Platform) lifecycle.NewJob {
	return lifecycle.NewJob{
		ExternalID: c.ExternalID, MeetingURL: c.MeetingURL, Platform: cmp.Or(c.Platform, platform), JoinAt: c.JoinAt.Truncate(time.Millisecond),
		DisplayName: displayName(c.DisplayName), Webhooks: job.Webhooks(c.Webhooks),
		Metadata: c.Metadata, AutoLeave: c.AutoLeave, Options: c.RequestOptions, Dedupe: c.Dedupe,
	}
}

// displayName returns a name on one line, as meeting pages need it. An empty name
// becomes the default.
func displayName(name string) string {
	return cmp.Or(text.CleanLine(name, maxDisplayName), job.DefaultDisplayName)
}

// maxDisplayName is the number of characters to which display names are cut.
const maxDisplayName = 1000

func (a *API) getJob(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	j, err := a.namedJob(r, caller)
	if err != nil {
		return err
	}
	a.writeJob(w, http.StatusOK, j)
	return nil
}

// namedJob returns the job in the path.
func (a *API) namedJob(r *http.Request, caller account.Caller) (job.Job, error) {
	id, err := jobID(r)
	if err != nil {
		return job.Job{}, err
	}
	j, err := a.settings.Jobs.Job(r.Context(), caller, id)
	if err != nil {
		return job.Job{}, fmt.Errorf("read a job: %w", err)
	}
	return j, nil
}

// settingsBody is the JobSettings schema of api/openapi.yaml.
type settingsBody struct {
	DisplayName string `json:"displayName"`
	Webhooks    struct {
		OnStatusChange *string `json:"onStatusChange"`
		OnFinalize     *string `json:"onFinalize"`
	} `json:"webhooks"`
	Recording job.RecordingOptions `json:"recording"`
}

func (a *API) getJobSettings(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	j, err := a.namedJob(r, caller)
	if err != nil {
		return err
	}
	body := settingsBody{DisplayName: j.DisplayName, Recording: j.Options.Recording}
	body.Webhooks.OnStatusChange = nullText(j.Webhooks.OnStatusChange)
	body.Webhooks.OnFinalize = nullText(j.Webhooks.OnFinalize)
	a.writeJSON(w, http.StatusOK, body)
	return nil
}

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
	views := make([]job.View, len(jobs))
	for i, j := range jobs {
		views[i] = job.NewView(j)
	}
	a.writeJSON(w, http.StatusOK, struct {
		Jobs []job.View `json:"jobs"`
		Next *string    `json:"nextCursor"`
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

// patchRequest is the JobPatch schema of api/openapi.yaml. A nil field
// does not change. An empty webhook URL, null in JSON, removes the URL.
type patchRequest struct {
	JoinAt      *time.Time       `json:"joinAt"`
	DisplayName *string          `json:"displayName"`
	Metadata    json.RawMessage  `json:"metadata"`
	AutoLeave   autoLeavePatch   `json:"autoLeave"`
	Webhooks    jobWebhooksPatch `json:"webhooks"`
	job.RequestOptions
}

type autoLeavePatch struct {
	AfterEntryDelaySeconds *int  `json:"afterEntryDelaySeconds"`
	AfterSilenceSeconds    *int  `json:"afterSilenceSeconds"`
	AfterSoloSeconds       *int  `json:"afterSoloSeconds"`
	AfterMaxSeconds        *int  `json:"afterMaxSeconds"`
	OnBotDetected          *bool `json:"onBotDetected"`
}

type jobWebhooksPatch struct {
	OnStatusChange nullableText `json:"onStatusChange"`
	OnFinalize     nullableText `json:"onFinalize"`
}

// nullableText is a text that a patch can set and remove. Its zero value leaves the
// text as it is.
type nullableText struct {
	text *string // the empty string removes the text
}

// UnmarshalJSON decodes a string, or null as the empty string.
func (n *nullableText) UnmarshalJSON(encoded []byte) error {
	n.text = new(string)
	return json.Unmarshal(encoded, n.text)
}

func (a *API) patchJob(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	var request patchRequest
	if err := a.readRequest(w, r, "patchJob", &request); err != nil {
		return err
	}
	if err := checkMetadata(request.Metadata); err != nil {
		return err
	}
	if request.JoinAt != nil && isUnset(*request.JoinAt) {
		request.JoinAt = nil
	}
	if request.DisplayName != nil {
		*request.DisplayName = displayName(*request.DisplayName)
	}
	j, err := a.settings.Jobs.Patch(r.Context(), caller, id, lifecycle.Patch{
		JoinAt: request.JoinAt, DisplayName: request.DisplayName, Metadata: request.Metadata,
		AutoLeave: lifecycle.AutoLeavePatch(request.AutoLeave), Webhooks: lifecycle.WebhooksPatch{OnStatusChange: request.Webhooks.OnStatusChange.text, OnFinalize: request.Webhooks.OnFinalize.text},
		Recording: request.Recording,
	})
	if err != nil {
		return fmt.Errorf("change a job: %w", err)
	}
	_, unusable := job.ParseOptions(request.Metadata)
	warn(w, unusable...)
	a.writeJob(w, http.StatusOK, j)
	return nil
}

// isUnset reports whether a time is the zero value that clients in Go and .NET send for
// a time that was not set, to the millisecond.
func isUnset(t time.Time) bool { return t.Truncate(time.Millisecond).IsZero() }

func (a *API) cancelJob(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	return a.deleteOf(w, r, caller, a.settings.Jobs.Cancel)
}

func (a *API) deleteRecording(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	return a.deleteOf(w, r, caller, a.settings.Jobs.DeleteRecording)
}

// deleteOf serves a DELETE on the job in the path.
func (a *API) deleteOf(
	w http.ResponseWriter, r *http.Request, caller account.Caller,
	remove func(context.Context, account.Caller, uuid.UUID) error,
) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	if err := remove(r.Context(), caller, id); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
