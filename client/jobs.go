package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// NewJob is the request to create a job. Only ExternalID and MeetingURL are
// required.
type NewJob struct {
	ExternalID  string          `json:"externalId"` // your own id of the job; the idempotency key
	MeetingURL  string          `json:"meetingUrl"`
	Platform    string          `json:"platform,omitempty"`    // detected from the URL when empty
	JoinAt      *time.Time      `json:"joinAt,omitempty"`      // now when nil
	DisplayName string          `json:"displayName,omitempty"` // "Standin" when empty
	Webhooks    *Webhooks       `json:"webhooks,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"` // a JSON object
	AutoLeave   *AutoLeavePatch `json:"autoLeave,omitempty"`
	Recording   *Recording      `json:"recording,omitempty"`
	Options
	Dedupe bool `json:"dedupe,omitempty"` // return a job for the same meeting at that time instead
}

// Webhooks are the URLs that receive the events of a job.
type Webhooks struct {
	OnStatusChange string `json:"onStatusChange,omitempty"`
	OnFinalize     string `json:"onFinalize,omitempty"`
}

// Recording configures what is recorded. Empty fields are the defaults of the consumer, or
// else of the service.
type Recording struct {
	Mode             string `json:"mode,omitempty"`       // video, audio or none
	Layout           string `json:"layout,omitempty"`     // speaker, gallery, content or page
	Resolution       string `json:"resolution,omitempty"` // 720p or 1080p
	ParticipantAudio *bool  `json:"participantAudio,omitempty"`
	Capture          string `json:"capture,omitempty"` // tab or streams
}

// AutoLeave configures when the bot leaves, in seconds from 1 to 86400. The bot
// leaves as soon as any of the limits is reached.
type AutoLeave struct {
	AfterEntryDelaySeconds int  `json:"afterEntryDelaySeconds"`          // not admitted
	AfterSilenceSeconds    int  `json:"afterSilenceSeconds"`             // no sound
	AfterSoloSeconds       int  `json:"afterSoloSeconds"`                // no other participant
	AfterMaxSeconds        int  `json:"afterMaxSeconds"`                 // in total
	OnBotDetected          bool `json:"onBotDetected"`                   // leave when another notetaker is present
	OnlyNotetakersSeconds  int  `json:"onlyNotetakersSeconds,omitempty"` // only notetakers
	SilentAreNotetakers    bool `json:"silentAreNotetakers,omitempty"`   // and people who never spoke
}

// AutoLeavePatch changes single fields of AutoLeave. A nil field does not change.
type AutoLeavePatch struct {
	AfterEntryDelaySeconds *int  `json:"afterEntryDelaySeconds,omitempty"`
	AfterSilenceSeconds    *int  `json:"afterSilenceSeconds,omitempty"`
	AfterSoloSeconds       *int  `json:"afterSoloSeconds,omitempty"`
	AfterMaxSeconds        *int  `json:"afterMaxSeconds,omitempty"`
	OnBotDetected          *bool `json:"onBotDetected,omitempty"`
	OnlyNotetakersSeconds  *int  `json:"onlyNotetakersSeconds,omitempty"`
	SilentAreNotetakers    *bool `json:"silentAreNotetakers,omitempty"`
}

// Job is a bot in a meeting.
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

	// Warning is why the meeting link cannot lead to a meeting, or "". Only
	// CreateJob sets it, from the response header X-Standin-Warning.
	Warning string `json:"-"`
}

// The final statuses of a job.
const (
	Completed = "completed"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// Ended reports whether the status is final. The manifest of a cancelled job may
// be attached later.
func (j Job) Ended() bool {
	return j.Status == Completed || j.Status == Failed || j.Status == Cancelled
}

// CreateJob creates a job, or returns the existing job with the same externalId, or with
// Dedupe for the same meeting.
func (c *Client) CreateJob(ctx context.Context, newJob NewJob) (job Job, replayed bool, err error) {
	header, err := c.call(ctx, request{method: http.MethodPost, path: apiPath("jobs"), body: newJob, idempotent: true}, &job)
	if err != nil {
		return Job{}, false, err
	}
	job.Warning = header.Get("X-Standin-Warning")
	return job, header.Get("Idempotent-Replayed") == "true", nil
}

// Job returns a job.
func (c *Client) Job(ctx context.Context, id string) (Job, error) {
	return get[Job](ctx, c, "jobs", id)
}

// WaitUntilDone polls a job until it has ended, and returns it as it is then:
// completed, failed or cancelled. The interval is at least a second; a good one is
// five seconds. Webhooks and Live tell sooner.
func (c *Client) WaitUntilDone(ctx context.Context, id string, interval time.Duration) (Job, error) {
	for {
		job, err := c.Job(ctx, id)
		if err != nil || job.Ended() {
			return job, err
		}
		if err := sleep(ctx, max(interval, time.Second)); err != nil {
			return job, fmt.Errorf("job %s is still %s: %w", id, job.Status, err)
		}
	}
}

// JobSettings are the settings of a job that are not part of a Job.
type JobSettings struct {
	DisplayName string   `json:"displayName"`
	Webhooks    Webhooks `json:"webhooks"` // an empty URL is the default one of the consumer

	Recording Recording `json:"recording"` // as requested
}

// JobSettings returns the settings of a job.
func (c *Client) JobSettings(ctx context.Context, id string) (JobSettings, error) {
	return get[JobSettings](ctx, c, "jobs", id, "settings")
}

// JobFilter selects jobs. Zero fields match every job.
type JobFilter struct {
	Status, Platform, ExternalID string // several statuses are separated by commas
	Metadata                     map[string]string
	CreatedFrom, CreatedTo       time.Time // from is inclusive, to is exclusive
	JoinFrom, JoinTo             time.Time
}

// query returns the filter as query parameters.
func (f JobFilter) query() url.Values {
	query := parameters(map[string]string{
		"status": f.Status, "platform": f.Platform, "externalId": f.ExternalID, "createdFrom": queryTime(f.CreatedFrom),
		"createdTo": queryTime(f.CreatedTo), "joinFrom": queryTime(f.JoinFrom), "joinTo": queryTime(f.JoinTo),
	})
	for key, value := range f.Metadata {
		query.Set("metadata."+key, value)
	}
	return query
}

// Jobs iterates over the jobs that match a filter, newest first. It stops at the
// first error.
func (c *Client) Jobs(ctx context.Context, filter JobFilter) iter.Seq2[Job, error] {
	return pages[Job](ctx, c, "jobs", filter.query(), "jobs")
}

// JobsWithDetails iterates like Jobs, over jobs with their details.
func (c *Client) JobsWithDetails(ctx context.Context, filter JobFilter) iter.Seq2[JobDetails, error] {
	query := filter.query()
	query.Set("expand", "details")
	return pages[JobDetails](ctx, c, "jobs", query, "jobs")
}

// JobPatch changes a job that is not yet dispatched. A nil field does not change.
type JobPatch struct {
	JoinAt      *time.Time      `json:"joinAt,omitempty"`
	DisplayName *string         `json:"displayName,omitempty"`
	Webhooks    *Webhooks       `json:"webhooks,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"` // replaces the metadata as a whole
	AutoLeave   *AutoLeavePatch `json:"autoLeave,omitempty"`
	Recording   *Recording      `json:"recording,omitempty"` // empty fields do not change
	Options
}

// PatchJob changes a job that is not yet dispatched. For other jobs the error has
// the code invalid_state.
func (c *Client) PatchJob(ctx context.Context, id string, patch JobPatch) (Job, error) {
	return fetch[Job](ctx, c, http.MethodPatch, patch, "jobs", id)
}

// CancelJob cancels a job. A job that has ended does not change.
func (c *Client) CancelJob(ctx context.Context, id string) error {
	return c.remove(ctx, "jobs", id)
}

// A Command controls a bot in a meeting.
type Command string

// The commands without arguments.
const (
	RequestRecordingPermission Command = "request-recording-permission"
	PauseRecording             Command = "pause-recording"
	ResumeRecording            Command = "resume-recording"
	StopRecording              Command = "stop-recording"
	LeaveCall                  Command = "leave-call"
	StopOutput                 Command = "stop-output"
)

// SendCommand queues a command for the bot and returns the command's id.
func (c *Client) SendCommand(ctx context.Context, id string, command Command) (commandID string, err error) {
	return c.command(ctx, http.MethodPost, id, string(command), nil)
}

// SendChatMessage sends a message to the chat of the meeting.
func (c *Client) SendChatMessage(ctx context.Context, id, text string) (commandID string, err error) {
	return c.command(ctx, http.MethodPost, id, "send-chat-message", map[string]string{"text": text})
}

// PinParticipant pins the video of a participant.
func (c *Client) PinParticipant(ctx context.Context, id, participantID string) (commandID string, err error) {
	return c.command(ctx, http.MethodPost, id, "pin-participant", map[string]string{"participantId": participantID})
}

// Audio is an audio file to play: either its URL or its content, which may be about
// 750 kB long.
type Audio struct {
	URI       string `json:"uri,omitempty"`
	Data      []byte `json:"data,omitempty"`
	Interrupt bool   `json:"interrupt,omitempty"` // stop what is being played, and what waits
}

// PlayAudio makes the bot of a job with the option output play an audio file.
func (c *Client) PlayAudio(ctx context.Context, id string, audio Audio) (commandID string, err error) {
	return c.command(ctx, http.MethodPost, id, "play-audio", audio)
}

// SpokenText is a text to speak. The voice and the language are those of the service's speech
// server, and may be empty.
type SpokenText struct {
	Text      string `json:"text"`
	Voice     string `json:"voice,omitempty"`
	Language  string `json:"language,omitempty"`
	Interrupt bool   `json:"interrupt,omitempty"` // stop what is being played, and what waits
}

// Speak makes the bot of a job with the option output speak a text.
func (c *Client) Speak(ctx context.Context, id string, text SpokenText) (commandID string, err error) {
	return c.command(ctx, http.MethodPost, id, "speak", text)
}

// File is a file: either its URL or its content, which may be about 750 kB long.
type File struct {
	URI  string `json:"uri,omitempty"`
	Data []byte `json:"data,omitempty"`
}

// WebPage is a web page, or something else on the web, that a bot shows.
type WebPage struct {
	URI string `json:"uri"`
}

// Picture is what a bot shows. Exactly one field is set.
type Picture struct {
	Image *File    `json:"image,omitempty"`
	Video *File    `json:"video,omitempty"` // of a camera only
	Page  *WebPage `json:"page,omitempty"`
	None  bool     `json:"none,omitempty"` // turn the camera off, or end the screen share
}

// SetCamera makes the bot of a job with the option output show a picture as its camera.
func (c *Client) SetCamera(ctx context.Context, id string, picture Picture) (commandID string, err error) {
	return c.command(ctx, http.MethodPut, id, "camera", picture)
}

// ShareScreen makes the bot of a job with the option output share a picture as its screen.
func (c *Client) ShareScreen(ctx context.Context, id string, picture Picture) (commandID string, err error) {
	return c.command(ctx, http.MethodPut, id, "screen-share", picture)
}

// command sends a command and returns its ID.
func (c *Client) command(ctx context.Context, method, id, command string, body any) (string, error) {
	queued, err := fetch[struct {
		CommandID string `json:"commandId"`
	}](ctx, c, method, body, "jobs", id, command)
	return queued.CommandID, err
}

// Page is a page of a list.
type Page struct {
	Cursor string // empty for the first page
	Limit  int    // of entries, at most 100
}

// WithPage returns a client whose lists have the entries of one page. Reading one sets the cursor to that of the next page,
// or to "" after the last one.
func (c Client) WithPage(page *Page) *Client {
	c.page = page
	return &c
}

// pages iterates over a list page by page. Each page has its entries in a field.
func pages[T any](ctx context.Context, c *Client, field string, filter url.Values, path ...string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		at := *cmp.Or(c.page, &Page{Limit: 100})
		for {
			query := parameters(map[string]string{"limit": strconv.Itoa(at.Limit), "cursor": at.Cursor})
			maps.Copy(query, filter)
			var page map[string]json.RawMessage
			var items []T
			_, err := c.call(ctx, request{path: apiPath(path...), query: query}, &page)
			at.Cursor = ""
			for name, value := range map[string]any{field: &items, "nextCursor": &at.Cursor} {
				if encoded := page[name]; err == nil && encoded != nil {
					err = json.Unmarshal(encoded, value)
				}
			}
			if err != nil {
				yield(*new(T), err)
				return
			}
			if c.page != nil {
				*c.page = at
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if c.page != nil || at.Cursor == "" {
				return
			}
		}
	}
}
