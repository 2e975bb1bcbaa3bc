// Package ingest defines the messages between a bot and the service, and the
// token of a bot. The operations are in api/openapi.yaml.
package ingest

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
)

// Paths of the ingest operations below the service's base URL.
const (
	EventPath     = "/api/v1/ingest"
	HeartbeatPath = "/api/v1/ingest/heartbeat"
	MediaPath     = "/api/v1/ingest/media" // + /{jobId}/{attempt}/{name}
	SignPath      = "/api/v1/ingest/sign"
)

// ChecksumHeader is the header of a media upload with the hex SHA-256 of the body.
const ChecksumHeader = "x-content-sha256"

// DirectUpload asks where the object store itself takes a file.
type DirectUpload struct {
	JobID   string `json:"jobId"`
	Attempt int    `json:"attempt"`
	Name    string `json:"name"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"` // hex
}

// SignedUpload is a PUT of the file, without credentials of the bot. The URL is a secret, and empty if the service has to take
// the file.
type SignedUpload struct {
	URL     string      `json:"url,omitempty"`
	Headers http.Header `json:"headers,omitempty"`
}

// SignExpiry is how long a signed upload may begin.
const SignExpiry = time.Minute

// Signer signs the upload of an object that does not exist, with this content type, size, SHA-256 (hex) and metadata.
type Signer func(ctx context.Context, key, contentType string, size int64, sha256 string, metadata map[string]string) (SignedUpload, error)

// AttemptHeader is the header with "<jobId>:<attempt>". A message with it is read even when
// strangers keep the service busy.
const AttemptHeader = "x-standin-attempt"

// Event is a lifecycle event of a bot.
type Event struct {
	Kind      job.Trigger     `json:"kind"`
	JobID     string          `json:"jobId"`
	Attempt   int             `json:"attempt"`
	EmittedAt time.Time       `json:"emittedAt"`
	Data      json.RawMessage `json:"data,omitempty"` // an object: EventData and other keys
}

// EventData holds the keys of an event's data that the service reads. Other keys
// are stored and ignored.
type EventData struct {
	FailureCode     string `json:"failureCode,omitempty"`
	FailureDetail   string `json:"failureDetail,omitempty"`
	Granted         *bool  `json:"granted,omitempty"`
	Outcome         string `json:"outcome,omitempty"` // granted, denied or timeout
	Detail          string `json:"detail,omitempty"`
	DetectedBotName string `json:"detectedBotName,omitempty"`
	LeftMeeting     *bool  `json:"leftMeeting,omitempty"`
	ManifestURI     string `json:"manifestUri,omitempty"`
	EndReason       string `json:"endReason,omitempty"`
	CommandID       string `json:"commandId,omitempty"` // of output
	Command         string `json:"command,omitempty"`   // its kind
	Reason          string `json:"reason,omitempty"`    // OutputFailure
}

// ParseEventData decodes the keys of EventData. Data is free-form, so a key of the
// wrong type is ignored like an unknown one.
func ParseEventData(raw json.RawMessage) EventData {
	var keys map[string]json.RawMessage
	var data EventData
	if json.Unmarshal(raw, &keys) != nil {
		return data
	}
	for key, into := range map[string]*string{
		"failureCode": &data.FailureCode, "failureDetail": &data.FailureDetail, "outcome": &data.Outcome, "detail": &data.Detail,
		"detectedBotName": &data.DetectedBotName, "manifestUri": &data.ManifestURI, "endReason": &data.EndReason,
		"commandId": &data.CommandID, "command": &data.Command, "reason": &data.Reason,
	} {
		parseKey(keys[key], into)
	}
	parseKey(keys["granted"], &data.Granted)
	parseKey(keys["leftMeeting"], &data.LeftMeeting)
	return data
}

// Consented reports whether the host has granted the permission to record. If granted and
// outcome contradict each other, the host has not.
func (d EventData) Consented() bool {
	return (d.Granted != nil || d.Outcome != "") && (d.Granted == nil || *d.Granted) && (d.Outcome == "" || d.Outcome == "granted")
}

// parseKey decodes a value into into, unless it is missing or of another type.
func parseKey[T any](raw json.RawMessage, into *T) {
	var value T
	if json.Unmarshal(raw, &value) == nil {
		*into = value
	}
}

// EventResponse is the response to an event.
type EventResponse struct {
	OK       bool       `json:"ok"`
	Applied  bool       `json:"applied"`
	Reason   job.Reason `json:"reason,omitempty"` // only when not applied
	Status   job.Status `json:"status"`
	Commands []Command  `json:"commands"`
}

// Heartbeat reports that a bot is running and which commands it acknowledges.
type Heartbeat struct {
	JobID   string   `json:"jobId"`
	Attempt int      `json:"attempt"`
	Acked   []string `json:"acked,omitempty"`
	// Failed says why commands in Acked could not be executed, by their ID.
	Failed map[string]string `json:"failed,omitempty"`
	// Executing are commands that the bot is executing. They are not in the response, which
	// can therefore wait for another one.
	Executing []string `json:"executing,omitempty"`
	Stats     *Stats   `json:"stats,omitempty"`
}

// Stats is the statistics of a bot in a heartbeat.
type Stats struct {
	BytesRecorded  int64 `json:"bytesRecorded"`            // bytes of media in the spool
	BytesUploaded  int64 `json:"bytesUploaded"`            // of these, uploaded
	FinalBytes     int64 `json:"finalBytes,omitempty"`     // size of the final files, once they are uploaded
	FinalBytesSent int64 `json:"finalBytesSent,omitempty"` // of FinalBytes
	EventsWaiting  int   `json:"eventsWaiting"`            // events not yet acknowledged
	RecordedMillis int64 `json:"recordedMillis"`           // length of the recording

	// Usage of the machine by the bot and its browser; 0 if unknown.
	CoresUsed   float64 `json:"coresUsed,omitempty"`   // processors over the last seconds
	MemoryBytes int64   `json:"memoryBytes,omitempty"` // shared memory is divided among its processes

	CoreSeconds float64 `json:"coreSeconds,omitempty"`      // of processors since the bot began
	GiBSeconds  float64 `json:"memoryGiBSeconds,omitempty"` // of memory

	Roster *LiveRoster `json:"roster,omitempty"` // who is in the meeting; nil before the bot is
}

// LiveRoster is who is in the meeting.
type LiveRoster struct {
	Participants []LiveParticipant `json:"participants"` // at most MaxLiveParticipants
}

// LiveParticipant is a participant who is in the meeting.
type LiveParticipant struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Speaking bool   `json:"speaking,omitempty"`
}

// MaxLiveParticipants limits a LiveRoster. api/openapi.yaml repeats it.
const MaxLiveParticipants = 100

// MaxCommandFailure is the maximum length of a reason in Heartbeat.Failed, in
// characters. api/openapi.yaml repeats it.
const MaxCommandFailure = 500

// HeartbeatResponse is the response to a heartbeat.
type HeartbeatResponse struct {
	OK          bool       `json:"ok"`
	Status      job.Status `json:"status"`
	Commands    []Command  `json:"commands"`
	NextSeconds int        `json:"nextSeconds"`           // until the next heartbeat
	Screenshots bool       `json:"screenshots,omitempty"` // somebody watches: send pictures of the page
}

// Command is a command to a bot. Every response carries it until the bot
// acknowledges it.
type Command struct {
	ID   string          `json:"id"`
	Kind CommandKind     `json:"kind"`
	Args json.RawMessage `json:"args,omitempty"`
}

// QueuedCommand is a Command as the service stores it.
type QueuedCommand struct {
	ID        uuid.UUID // version 7: in the order of creation
	JobID     uuid.UUID
	Kind      CommandKind
	Args      json.RawMessage // an object, or empty
	CreatedAt time.Time
}

// CommandKind is the kind of a command.
type CommandKind string

// The kinds of commands.
const (
	RequestRecordingPermission CommandKind = "request_recording_permission"
	PauseRecording             CommandKind = "pause_recording"
	ResumeRecording            CommandKind = "resume_recording"
	StopRecording              CommandKind = "stop_recording"
	LeaveCall                  CommandKind = "leave_call"
	SendChatMessage            CommandKind = "send_chat_message"
	PinParticipant             CommandKind = "pin_participant"
	PlayAudio                  CommandKind = "play_audio"
	Speak                      CommandKind = "speak"
	StopOutput                 CommandKind = "stop_output"
	SetCamera                  CommandKind = "set_camera"
	ShareScreen                CommandKind = "share_screen"
)
