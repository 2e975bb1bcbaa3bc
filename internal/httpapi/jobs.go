package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/lifecycle"
)

// Jobs is what consumers may do with jobs. A job that is missing or another's
// gives a *job.Error with NotFound.
type Jobs interface {
	Create(ctx context.Context, caller account.Caller, request lifecycle.NewJob) (j job.Job, replayed bool, err error)
	Jobs(ctx context.Context, caller account.Caller, filter job.Filter, page lifecycle.Page) (jobs []job.Job, next string, err error)
	Job(ctx context.Context, caller account.Caller, id uuid.UUID) (job.Job, error)
	Patch(ctx context.Context, caller account.Caller, id uuid.UUID, patch lifecycle.Patch) (job.Job, error)
	Cancel(ctx context.Context, caller account.Caller, id uuid.UUID) error
	DeleteRecording(ctx context.Context, caller account.Caller, id uuid.UUID) error
}

// consumerHandler serves an operation for whoever holds an API key.
type consumerHandler func(w http.ResponseWriter, r *http.Request, caller account.Caller) error

// forConsumer checks the API key before anything else is read or told.
func (a *API) forConsumer(handle consumerHandler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		token, ok := bearer(r)
		if !ok {
			return unauthorized()
		}
		caller, err := a.settings.Keys.Authenticate(r.Context(), token)
		if err != nil {
			return fmt.Errorf("authenticate: %w", err)
		}
		exchangeOf(r).consumer = caller.ConsumerID
		if err := a.limitKey(caller); err != nil {
			return err
		}
		return handle(w, r, caller)
	}
}

// bearer returns the token of an Authorization header (RFC 6750, section 2.1;
// the scheme in any case, RFC 9110, section 11.1).
func bearer(r *http.Request) (string, bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

func (a *API) createJob(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	fields, err := a.readRequest(w, r, "createJob")
	if err != nil {
		return err
	}
	request, err := newJob(fields)
	if err != nil {
		return fmt.Errorf("decode the job: %w", err)
	}
	j, replayed, err := a.settings.Jobs.Create(r.Context(), caller, request)
	if err != nil {
		return fmt.Errorf("create a job: %w", err)
	}
	exchangeOf(r).job = j.ID
	status := http.StatusCreated
	if replayed {
		w.Header().Set("Idempotent-Replayed", "true")
		status = http.StatusOK
	} else {
		w.Header().Set("Location", "/api/v1/jobs/"+j.ID.String())
	}
	a.writeJSON(w, status, job.NewView(j))
	return nil
}

// newJob reads a create request and fills in what it omits (specification,
// POST /api/v1/jobs and AutoLeaveConfig).
func newJob(fields object) (request lifecycle.NewJob, err error) {
	request = lifecycle.NewJob{
		ExternalID:  fields.text("externalId"),
		MeetingURL:  fields.text("meetingUrl"),
		Platform:    job.Platform(fields.text("platform")),
		DisplayName: displayName(fields.text("displayName")),
		Webhooks: job.Webhooks{
			OnStatusChange: fields.inner("webhooks").text("onStatusChange"),
			OnFinalize:     fields.inner("webhooks").text("onFinalize"),
		},
		AutoLeave: autoLeave(fields.inner("autoLeave")),
	}
	if request.Platform == "" {
		meeting, err := url.Parse(request.MeetingURL)
		if err != nil {
			return request, fmt.Errorf("read meetingUrl: %w", err)
		}
		request.Platform = job.PlatformOf(meeting)
	}
	if request.JoinAt, err = fields.time("joinAt"); err != nil {
		return request, err
	}
	request.Metadata, err = fields.raw("metadata", "{}")
	return request, err
}

// displayName keeps what meeting pages show of a name; they take no empty one.
func displayName(name string) string {
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, name))
	if name == "" {
		return job.DefaultDisplayName
	}
	return name
}

func autoLeave(fields object) job.AutoLeave {
	leave := job.DefaultAutoLeave()
	for name, knob := range map[string]*int{
		"afterEntryDelaySeconds": &leave.AfterEntryDelaySeconds,
		"afterSilenceSeconds":    &leave.AfterSilenceSeconds,
		"afterSoloSeconds":       &leave.AfterSoloSeconds,
		"afterMaxSeconds":        &leave.AfterMaxSeconds,
	} {
		*knob = int(fields.whole(name, int64(*knob)))
	}
	leave.OnBotDetected = fields.flag("onBotDetected")
	return leave
}

func (a *API) getJob(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	j, err := a.namedJob(r, caller)
	if err != nil {
		return err
	}
	a.writeJSON(w, http.StatusOK, job.NewView(j))
	return nil
}

// listJobs answers a page of the caller's jobs.
func (a *API) listJobs(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	query, err := a.readQuery(r, "listJobs")
	if err != nil {
		return err
	}
	filter := job.Filter{
		Status:     job.Status(query.text("status")),
		Platform:   job.Platform(query.text("platform")),
		ExternalID: query.text("externalId"),
	}
	for name, into := range map[string]*time.Time{
		"createdFrom": &filter.CreatedFrom, "createdTo": &filter.CreatedTo,
		"joinFrom": &filter.JoinFrom, "joinTo": &filter.JoinTo,
	} {
		if *into, err = query.time(name); err != nil {
			return fmt.Errorf("decode the filter: %w", err)
		}
	}
	jobs, next, err := a.settings.Jobs.Jobs(r.Context(), caller, filter, pageOf(query))
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
	}{views, textOrNull(next)})
	return nil
}

func (a *API) patchJob(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	fields, err := a.readRequest(w, r, "patchJob")
	if err != nil {
		return err
	}
	patch, err := newPatch(fields)
	if err != nil {
		return fmt.Errorf("decode the patch: %w", err)
	}
	j, err := a.settings.Jobs.Patch(r.Context(), caller, id, patch)
	if err != nil {
		return fmt.Errorf("change a job: %w", err)
	}
	a.writeJSON(w, http.StatusOK, job.NewView(j))
	return nil
}

// newPatch reads what is to change in a job.
func newPatch(fields object) (patch lifecycle.Patch, err error) {
	if fields.has("joinAt") {
		at, err := fields.time("joinAt")
		if err != nil {
			return patch, err
		}
		patch.JoinAt = &at
	}
	if fields.has("displayName") {
		name := displayName(fields.text("displayName"))
		patch.DisplayName = &name
	}
	knobs := fields.inner("autoLeave")
	for name, knob := range map[string]**int{
		"afterEntryDelaySeconds": &patch.AutoLeave.AfterEntryDelaySeconds,
		"afterSilenceSeconds":    &patch.AutoLeave.AfterSilenceSeconds,
		"afterSoloSeconds":       &patch.AutoLeave.AfterSoloSeconds,
		"afterMaxSeconds":        &patch.AutoLeave.AfterMaxSeconds,
	} {
		if knobs.has(name) {
			seconds := int(knobs.whole(name, 0))
			*knob = &seconds
		}
	}
	if knobs.has("onBotDetected") {
		leave := knobs.flag("onBotDetected")
		patch.AutoLeave.OnBotDetected = &leave
	}
	hooks := fields.inner("webhooks")
	for name, address := range map[string]**string{
		"onStatusChange": &patch.Webhooks.OnStatusChange, "onFinalize": &patch.Webhooks.OnFinalize,
	} {
		if hooks.has(name) {
			given := hooks.text(name) // empty for null, which takes the address away
			*address = &given
		}
	}
	if fields.has("metadata") {
		patch.Metadata, err = fields.raw("metadata", "")
	}
	return patch, err
}

func (a *API) cancelJob(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	if err := a.settings.Jobs.Cancel(r.Context(), caller, id); err != nil {
		return fmt.Errorf("cancel a job: %w", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// namedJob returns the caller's job that the path names.
func (a *API) namedJob(r *http.Request, caller account.Caller) (job.Job, error) {
	id, err := jobID(r)
	if err != nil {
		return job.Job{}, err
	}
	j, err := a.settings.Jobs.Job(r.Context(), caller, id)
	if err != nil {
		return job.Job{}, fmt.Errorf("fetch a job: %w", err)
	}
	return j, nil
}

// jobID reads the id of the path. One that is no UUID names no job (contract,
// Jobs).
func jobID(r *http.Request) (uuid.UUID, error) {
	id, ok := parseID(r.PathValue("id"))
	if !ok {
		return uuid.Nil, &job.Error{Code: job.NotFound, Message: "There is no such job."}
	}
	exchangeOf(r).job = id
	return id, nil
}

// parseID reads a UUID in the one form that stands in URLs; uuid.Parse takes
// others too.
func parseID(text string) (uuid.UUID, bool) {
	id, err := uuid.Parse(text)
	return id, err == nil && len(text) == len(uuid.Nil.String())
}
