package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// NewJob is a wish to have a bot in a meeting (specification, POST
// /api/v1/jobs). Only ExternalID and MeetingURL are needed.
type NewJob struct {
	ExternalID  string          `json:"externalId"` // your own name for it; the idempotency key
	MeetingURL  string          `json:"meetingUrl"`
	Platform    string          `json:"platform,omitempty"`    // told from the URL when empty
	JoinAt      *time.Time      `json:"joinAt,omitempty"`      // now when nil
	DisplayName string          `json:"displayName,omitempty"` // "Standin" when empty
	Webhooks    *Webhooks       `json:"webhooks,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"` // a JSON object
	AutoLeave   *AutoLeavePatch `json:"autoLeave,omitempty"`
}

// Webhooks are where a job's events are posted.
type Webhooks struct {
	OnStatusChange string `json:"onStatusChange,omitempty"`
	OnFinalize     string `json:"onFinalize,omitempty"`
}

// AutoLeave says when the bot leaves by itself, in seconds from 1 to 86400;
// each knob acts on its own.
type AutoLeave struct {
	AfterEntryDelaySeconds int  `json:"afterEntryDelaySeconds"` // not admitted
	AfterSilenceSeconds    int  `json:"afterSilenceSeconds"`    // nothing heard
	AfterSoloSeconds       int  `json:"afterSoloSeconds"`       // nobody else there
	AfterMaxSeconds        int  `json:"afterMaxSeconds"`        // whatever happens
	OnBotDetected          bool `json:"onBotDetected"`          // a competing notetaker is there
}

// AutoLeavePatch sets single knobs; those that are nil keep what they have.
type AutoLeavePatch struct {
	AfterEntryDelaySeconds *int  `json:"afterEntryDelaySeconds,omitempty"`
	AfterSilenceSeconds    *int  `json:"afterSilenceSeconds,omitempty"`
	AfterSoloSeconds       *int  `json:"afterSoloSeconds,omitempty"`
	AfterMaxSeconds        *int  `json:"afterMaxSeconds,omitempty"`
	OnBotDetected          *bool `json:"onBotDetected,omitempty"`
}

// Job is one bot sent into one meeting (specification, Job).
type Job struct {
	ID            string          `json:"id"`
	ExternalID    string          `json:"externalId"`
	Status        string          `json:"status"`
	MeetingURL    string          `json:"meetingUrl"`
	Platform      string          `json:"platform"`
	JoinAt        time.Time       `json:"joinAt"`
	Attempts      int             `json:"attempts"`
	CreatedAt     time.Time       `json:"createdAt"`
	StartedAt     *time.Time      `json:"startedAt"`
	FinalizedAt   *time.Time      `json:"finalizedAt"`
	ManifestURI   *string         `json:"manifestUri"`
	FailureCode   *string         `json:"failureCode"`
	FailureDetail *string         `json:"failureDetail"`
	Metadata      json.RawMessage `json:"metadata"`
	AutoLeave     AutoLeave       `json:"autoLeave"`
}

// The states that nothing leaves (specification, States and transitions).
const (
	Completed = "completed"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// Ended reports whether the job has come to its end. A cancelled job's manifest
// may be attached after it.
func (j Job) Ended() bool {
	return j.Status == Completed || j.Status == Failed || j.Status == Cancelled
}

// CreateJob makes a job, or returns the one that was made with the same
// externalId before.
func (c *Client) CreateJob(ctx context.Context, wish NewJob) (job Job, replayed bool, err error) {
	header, err := c.call(ctx, request{method: http.MethodPost, path: jobPath(), body: wish}, &job)
	if err != nil {
		return Job{}, false, err
	}
	return job, header.Get("Idempotent-Replayed") == "true", nil
}

// Job fetches a job.
func (c *Client) Job(ctx context.Context, id string) (job Job, err error) {
	_, err = c.call(ctx, request{method: http.MethodGet, path: jobPath(id)}, &job)
	return job, err
}

// JobFilter narrows a list of jobs; what is left out does not count.
type JobFilter struct {
	Status, Platform, ExternalID string
	CreatedFrom, CreatedTo       time.Time // from: this moment or later; to: before it
	JoinFrom, JoinTo             time.Time
}

// query writes the filter as the API wants it.
func (f JobFilter) query() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{"status": f.Status, "platform": f.Platform, "externalId": f.ExternalID} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{
		"createdFrom": f.CreatedFrom, "createdTo": f.CreatedTo, "joinFrom": f.JoinFrom, "joinTo": f.JoinTo,
	} {
		if !at.IsZero() {
			query.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return query
}

// Jobs goes through all jobs that a filter lets pass, newest first, fetching
// them page by page. The first error ends it.
func (c *Client) Jobs(ctx context.Context, filter JobFilter) iter.Seq2[Job, error] {
	return pages(func(query url.Values) ([]Job, *string, error) {
		var page struct {
			Jobs       []Job   `json:"jobs"`
			NextCursor *string `json:"nextCursor"`
		}
		_, err := c.call(ctx, request{method: http.MethodGet, path: jobPath(), query: query}, &page)
		return page.Jobs, page.NextCursor, err
	}, filter.query())
}

// JobPatch changes a job that is not yet dispatched; what is nil stays.
type JobPatch struct {
	JoinAt      *time.Time      `json:"joinAt,omitempty"`
	DisplayName *string         `json:"displayName,omitempty"`
	Webhooks    *Webhooks       `json:"webhooks,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"` // takes the place of the job's as a whole
	AutoLeave   *AutoLeavePatch `json:"autoLeave,omitempty"`
}

// PatchJob changes a job that is not yet dispatched; afterwards the error has
// the code invalid_state.
func (c *Client) PatchJob(ctx context.Context, id string, patch JobPatch) (job Job, err error) {
	_, err = c.call(ctx, request{method: http.MethodPatch, path: jobPath(id), body: patch}, &job)
	return job, err
}

// CancelJob cancels a job; one that has ended stays as it is.
func (c *Client) CancelJob(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: jobPath(id)}, nil)
	return err
}

// A Command is something that a bot in a meeting can be told.
type Command string

// The verbs without a body.
const (
	RequestRecordingPermission Command = "request-recording-permission"
	PauseRecording             Command = "pause-recording"
	ResumeRecording            Command = "resume-recording"
	StopRecording              Command = "stop-recording"
	LeaveCall                  Command = "leave-call"
)

// SendCommand queues a command for the bot and returns the command's id.
func (c *Client) SendCommand(ctx context.Context, id string, verb Command) (commandID string, err error) {
	return c.queue(ctx, id, string(verb), nil)
}

// SendChatMessage has the bot write into the meeting's chat.
func (c *Client) SendChatMessage(ctx context.Context, id, text string) (commandID string, err error) {
	return c.queue(ctx, id, "send-chat-message", map[string]string{"text": text})
}

// PinParticipant has the bot give a participant, by id, the large picture.
func (c *Client) PinParticipant(ctx context.Context, id, participantID string) (commandID string, err error) {
	return c.queue(ctx, id, "pin-participant", map[string]string{"participantId": participantID})
}

func (c *Client) queue(ctx context.Context, id, verb string, body any) (string, error) {
	var queued struct {
		CommandID string `json:"commandId"`
	}
	_, err := c.call(ctx, request{method: http.MethodPost, path: jobPath(id, verb), body: body}, &queued)
	return queued.CommandID, err
}

// jobPath is the path of jobs, of one, or of what belongs to one. A segment
// is escaped, so that an id cannot lead elsewhere.
func jobPath(segments ...string) []string {
	path := []string{"api", "v1", "jobs"}
	for _, segment := range segments {
		path = append(path, url.PathEscape(segment))
	}
	return path
}

// pages goes through a list page by page.
func pages[T any](fetch func(url.Values) ([]T, *string, error), query url.Values) iter.Seq2[T, error] {
	const pageSize = 100
	return func(yield func(T, error) bool) {
		query.Set("limit", strconv.Itoa(pageSize))
		query.Del("cursor")
		for {
			items, next, err := fetch(query)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == nil {
				return
			}
			query.Set("cursor", *next)
		}
	}
}
