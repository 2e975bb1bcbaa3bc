package webhook

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"standin/internal/base/text"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

// The names of the events; docs/webhooks.md describes them.
const (
	JobStatusChanged      = "job.status_changed"
	JobFinalized          = "job.finalized"
	JobFailed             = "job.failed"
	JobTranscriptReady    = "job.transcript_ready"
	BotPermissionResponse = "bot.recording_permission_response"
	BotCompetingDetected  = "bot.competing_bot_detected"
	BotCommandOutcome     = "bot.command_outcome"
	BotStreamChanged      = "bot.stream_changed"
	BotOutput             = "bot.output"

	// Only endpoints that have chosen them receive these events of jobs.
	JobVideoReady       = "job.video_ready"
	ParticipantJoined   = "participant.joined"
	ParticipantLeft     = "participant.left"
	ParticipantSpeaking = "participant.speaking"
	ChatMessage         = "chat.message"
	TranscriptData      = "transcript.data"

	// Only endpoints that have chosen them receive these events, which belong to no job.
	CalendarEventScheduled = "calendar.event_scheduled"
	CalendarEventUpdated   = "calendar.event_updated"
	CalendarEventCancelled = "calendar.event_cancelled"
	CalendarStateChanged   = "calendar.state_changed"
)

// Event is an event of a job or a consumer, in the shape of payload version 2. Body
// converts it to version 1.
type Event struct {
	Name   string
	fields map[string]any
}

// newEvent adds the fields that the events of a job have.
func newEvent(name string, j job.Job, fields map[string]any) Event {
	fields["jobId"] = j.ID
	fields["job"] = job.NewView(j)
	return Event{Name: name, fields: fields}
}

// StatusChanged reports a status transition; j is the job after it. The
// failure fields are null unless the job has failed.
func StatusChanged(j job.Job, from, to job.Status) Event {
	fields := map[string]any{
		"from":           from,
		"to":             to,
		"failure_code":   nil,
		"failure_detail": nil,
		"failure_reason": nil, // the name of failure_detail in version 1
	}
	if to == job.Failed {
		fields["failure_code"] = j.FailureCode
		fields["failure_detail"] = j.FailureText()
		fields["failure_reason"] = j.FailureText()
	}
	return newEvent(JobStatusChanged, j, fields)
}

// Finalized reports that the manifest of a job was written.
func Finalized(j job.Job) Event {
	return newEvent(JobFinalized, j, map[string]any{"manifestUri": j.ManifestURI})
}

// Failed reports that a job has failed.
func Failed(j job.Job) Event {
	return newEvent(JobFailed, j, map[string]any{
		"status":         job.Failed,
		"failure_code":   j.FailureCode,
		"failure_detail": j.FailureText(),
		"failure_reason": j.FailureText(), // the names of version 1
		"error":          j.FailureText(),
	})
}

// TranscriptReady reports that a transcript was attached to the recording.
func TranscriptReady(j job.Job, result job.TranscriptResult) Event {
	return newEvent(JobTranscriptReady, j, map[string]any{
		"manifestUri":      j.ManifestURI,
		"manifestRevision": result.Revision,
		"segments":         result.Segments,
		"partial":          result.Partial,
	})
}

// VideoReady reports that the picture of participants' videos was attached to the recording.
func VideoReady(j job.Job, result job.VideoResult) Event {
	return newEvent(JobVideoReady, j, map[string]any{
		"manifestUri":      j.ManifestURI,
		"manifestRevision": result.Revision,
		"durationMs":       result.DurationMs,
		"bytes":            result.Bytes,
	})
}

// PermissionResponse reports the host's answer to a request to record. A host
// that never answered has not granted it. detail may be empty.
func PermissionResponse(j job.Job, granted bool, detail string) Event {
	fields := map[string]any{"granted": granted}
	if detail != "" {
		fields["detail"] = detail
	}
	return newEvent(BotPermissionResponse, j, fields)
}

// CompetingBot reports that another notetaker is in the meeting, and whether
// our bot left because of it.
func CompetingBot(j job.Job, name string, left bool) Event {
	return newEvent(BotCompetingDetected, j, map[string]any{
		"detectedBotName": name,
		"leftMeeting":     left,
	})
}

// CommandOutcome reports that a command was executed, or failed if there is a reason.
func CommandOutcome(j job.Job, id string, kind ingest.CommandKind, reason string) Event {
	fields := map[string]any{"commandId": id, "command": kind, "outcome": "done"}
	if reason != "" {
		fields["outcome"], fields["reason"] = "failed", reason
	}
	return newEvent(BotCommandOutcome, j, fields)
}

// StreamChanged reports that a stream of the job was connected or lost, or is not connected
// again.
func StreamChanged(j job.Job, change job.StreamChange) Event {
	fields := map[string]any{"stream": change.Stream, "host": change.Host, "state": change.State}
	if change.Reason != "" {
		fields["reason"] = change.Reason
	}
	return newEvent(BotStreamChanged, j, fields)
}

// Output reports what became of what the bot plays: started, finished or failed.
func Output(j job.Job, state string, data ingest.EventData) Event {
	fields := map[string]any{"commandId": data.CommandID, "command": data.Command, "state": state}
	if data.Reason != "" {
		fields["reason"], fields["detail"] = data.Reason, data.Detail
	}
	return newEvent(BotOutput, j, fields)
}

// maxLiveMetadata is the longest metadata, as JSON, that events from within a meeting have.
const maxLiveMetadata = 4 << 10

// newLiveEvent adds the fields that events from within a meeting have. There are many of
// these in a meeting, so that they do not repeat the job.
func newLiveEvent(name string, j job.Job, fields map[string]any) Event {
	fields["jobId"] = j.ID
	fields["externalId"] = j.ExternalID
	if len(j.Metadata) <= maxLiveMetadata {
		fields["metadata"] = j.Metadata
	}
	return Event{Name: name, fields: fields}
}

// Joined reports that somebody joined the meeting.
func Joined(j job.Job, p ingest.LiveParticipant) Event {
	return newLiveEvent(ParticipantJoined, j, map[string]any{"participant": participant(p)})
}

// Left reports that somebody left the meeting.
func Left(j job.Job, p ingest.LiveParticipant) Event {
	return newLiveEvent(ParticipantLeft, j, map[string]any{"participant": participant(p)})
}

// Speaking reports that somebody started or stopped speaking.
func Speaking(j job.Job, p ingest.LiveParticipant, speaking bool) Event {
	return newLiveEvent(ParticipantSpeaking, j, map[string]any{"participant": participant(p), "speaking": speaking})
}

func participant(p ingest.LiveParticipant) map[string]string {
	return map[string]string{"id": p.ID, "name": p.Name}
}

// Chat reports a chat message. A message with the ID of an earlier one replaces it.
func Chat(j job.Job, t job.MeetingText) Event {
	return newLiveEvent(ChatMessage, j, map[string]any{"message": map[string]any{
		"id": fmt.Sprintf("%d-%s", t.Attempt, t.ID), "participantId": t.ParticipantID, "author": t.Author, "text": t.Text,
		"sentAt": job.Timestamp(t.StartedAt),
	}})
}

// Transcript reports a segment of the live transcript, which does not change any more.
func Transcript(j job.Job, t job.MeetingText) Event {
	return newLiveEvent(TranscriptData, j, map[string]any{"segment": map[string]any{
		"id": fmt.Sprintf("%d-%s", t.Attempt, t.ID), "participantId": t.ParticipantID, "speaker": t.Author, "text": t.Text,
		"language": t.Language, "startMs": t.Speech.StartMs, "endMs": t.Speech.EndMs, "startedAt": job.Timestamp(t.StartedAt),
		"words": slices.Concat([]job.SpokenWord{}, t.Speech.Words), // never null
	}})
}

// CalendarMeeting is a meeting of a connected calendar, as of an event.
type CalendarMeeting struct {
	CalendarID uuid.UUID     `json:"calendarId"`
	EventID    uuid.UUID     `json:"eventId"`
	ICalUID    string        `json:"icalUid"`
	Title      string        `json:"title"`
	StartsAt   job.Timestamp `json:"startsAt"`
	EndsAt     job.Timestamp `json:"endsAt"`
	MeetingURL *string       `json:"meetingUrl"`
	Record     bool          `json:"record"` // a bot is sent
	Reason     string        `json:"reason"` // why, or why not
	JobID      *uuid.UUID    `json:"jobId"`  // of the bot
}

// CalendarChanged reports what became of a meeting of a calendar. The name is
// CalendarEventScheduled, CalendarEventUpdated or CalendarEventCancelled.
func CalendarChanged(name string, meeting CalendarMeeting) Event {
	return Event{Name: name, fields: map[string]any{"meeting": meeting}}
}

// CalendarState is the state of a connected calendar, as of an event.
type CalendarState struct {
	CalendarID uuid.UUID `json:"calendarId"`
	Name       string    `json:"name"`
	State      string    `json:"state"`
	Previous   string    `json:"previous"`
	Error      *string   `json:"error"` // why it cannot be read
}

// CalendarStateOf reports that the state of a calendar changed.
func CalendarStateOf(calendar CalendarState) Event {
	return Event{Name: CalendarStateChanged, fields: map[string]any{"calendar": calendar}}
}

// Data returns the event's data object. sequence is the number of the event
// within its job or consumer, from which receivers see the order and gaps. The error is
// not nil only if the job's metadata is not JSON.
func (e Event) Data(sequence int64) (json.RawMessage, error) {
	fields := maps.Clone(e.fields)
	fields["event"], fields["sequence"] = e.Name, sequence
	return text.EncodeJSON(fields)
}

// Targets returns the distinct URLs to which an event of the job is posted by the job's
// own choice. A job without webhook URLs uses the consumer's default endpoint, which may be
// empty.
func Targets(j job.Job, defaultEndpoint, event string) []string {
	hooks := j.Webhooks
	if hooks == (job.Webhooks{}) {
		hooks = job.Webhooks{OnStatusChange: defaultEndpoint, OnFinalize: defaultEndpoint}
	}
	var targets []string
	switch event {
	case JobStatusChanged, BotPermissionResponse, BotCompetingDetected, BotCommandOutcome, BotStreamChanged, BotOutput:
		targets = []string{hooks.OnStatusChange}
	case JobFinalized, JobTranscriptReady:
		targets = []string{hooks.OnFinalize}
	case JobFailed:
		targets = []string{hooks.OnStatusChange, hooks.OnFinalize}
	}
	return slices.Compact(slices.DeleteFunc(targets, func(url string) bool { return url == "" }))
}

// The payload versions; docs/webhooks.md lists the differences.
const (
	Version1 = 1
	Version2 = 2
)

// NewDeliveryID returns a new delivery ID. IDs grow with time, so that inserts
// go to the end of an index.
func NewDeliveryID() string {
	id := job.NewID()
	return "dlv_" + hex.EncodeToString(id[:])
}

type envelope struct {
	DeliveryID string          `json:"deliveryId"`
	Event      string          `json:"event"`
	EmittedAt  job.Timestamp   `json:"emittedAt"`
	Attempt    int             `json:"attempt"`
	Version    int             `json:"version,omitempty"` // version 1 omits it
	Data       json.RawMessage `json:"data"`
}

// Body returns the request body of a try. Only the attempt differs between the
// tries of a delivery.
func Body(delivery Delivery) ([]byte, error) {
	message := envelope{
		DeliveryID: delivery.ID,
		Event:      delivery.Event,
		EmittedAt:  job.Timestamp(delivery.EmittedAt),
		Attempt:    delivery.Attempt,
		Version:    Version2,
		Data:       delivery.Data,
	}
	if delivery.Version == Version1 {
		var fields map[string]json.RawMessage
		err := json.Unmarshal(delivery.Data, &fields)
		delete(fields, "failure_code")
		delete(fields, "failure_detail")
		if err == nil {
			message.Data, err = text.EncodeJSON(fields)
		}
		if err != nil {
			return nil, fmt.Errorf("compose delivery %s for version 1: %w", delivery.ID, err)
		}
		message.Version = 0
	}
	return text.EncodeJSON(message)
}
