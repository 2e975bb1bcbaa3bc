// Package ingest holds the messages between a bot and the service, as they
// stand on the wire, and the token that a bot shows. Both sides import it; it
// knows neither of them, and neither HTTP nor a database.
package ingest

import (
	"encoding/json"
	"time"

	"standin/internal/job"
)

// Paths of the ingest surface below the service's base URL.
const (
	EventPath     = "/api/v1/ingest"
	HeartbeatPath = "/api/v1/ingest/heartbeat"
	MediaPath     = "/api/v1/ingest/media" // + /{jobId}/{attempt}/{name}
)

// Headers of a media upload. The body is refused unless it agrees with them.
const (
	// ChecksumHeader carries the hex SHA-256 of the body.
	ChecksumHeader = "x-content-sha256"
)

// Event is one thing that happened to a bot (specification, IngestEvent).
type Event struct {
	Kind      job.Trigger     `json:"kind"`
	JobID     string          `json:"jobId"`
	Attempt   int             `json:"attempt"`
	EmittedAt time.Time       `json:"emittedAt"`
	Data      json.RawMessage `json:"data,omitempty"` // an object: EventData and whatever else
}

// EventData holds the keys of an event's data that the service reads
// (contract, State machine). Others are kept and ignored.
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
}

// ReadEventData reads the keys that the service knows, each by itself: a key of
// the wrong type is ignored like an unknown one, for data is free-form
// (specification, IngestEvent).
func ParseEventData(raw json.RawMessage) EventData {
	var keys map[string]json.RawMessage
	var data EventData
	if json.Unmarshal(raw, &keys) != nil {
		return data
	}
	for key, into := range map[string]*string{
		"failureCode": &data.FailureCode, "failureDetail": &data.FailureDetail, "outcome": &data.Outcome, "detail": &data.Detail,
		"detectedBotName": &data.DetectedBotName, "manifestUri": &data.ManifestURI, "endReason": &data.EndReason,
	} {
		readKey(keys[key], into)
	}
	readKey(keys["granted"], &data.Granted)
	readKey(keys["leftMeeting"], &data.LeftMeeting)
	return data
}

// readKey reads a value that may be missing; one of another type is left alone.
func readKey[T any](raw json.RawMessage, into *T) {
	var value T
	if json.Unmarshal(raw, &value) == nil {
		*into = value
	}
}

// EventAnswer is the service's answer to an event.
type EventResponse struct {
	OK       bool       `json:"ok"`
	Applied  bool       `json:"applied"`
	Reason   job.Reason `json:"reason,omitempty"` // only when not applied
	Status   job.Status `json:"status"`
	Commands []Command  `json:"commands"`
}

// Heartbeat says that a bot lives and which commands it has taken.
type Heartbeat struct {
	JobID   string   `json:"jobId"`
	Attempt int      `json:"attempt"`
	Acked   []string `json:"acked,omitempty"`
	Stats   *Stats   `json:"stats,omitempty"`
}

// Stats is what a bot tells of itself with a heartbeat.
type Stats struct {
	BytesRecorded  int64 `json:"bytesRecorded"`           // media bytes written to the spool
	BytesUploaded  int64 `json:"bytesUploaded"`           // of these, acknowledged by the service
	FinalBytes     int64 `json:"bytesToHandIn,omitempty"` // in the finished files, once they are being handed in
	FinalBytesSent int64 `json:"bytesHandedIn,omitempty"` // of these, sent
	EventsWaiting  int   `json:"eventsWaiting"`           // events not yet acknowledged
	RecordedMillis int64 `json:"recordedMillis"`          // length of the recording so far

	// What the bot and its browser take of their machine; 0 where that cannot
	// be had.
	CoresUsed   float64 `json:"coresUsed,omitempty"`   // over the last seconds, in processors
	MemoryBytes int64   `json:"memoryBytes,omitempty"` // what processes share is divided among them
}

// HeartbeatAnswer carries the commands that wait for the bot.
type HeartbeatResponse struct {
	OK          bool       `json:"ok"`
	Status      job.Status `json:"status"`
	Commands    []Command  `json:"commands"`
	NextSeconds int        `json:"nextSeconds"` // when the service wants to hear again
}

// Command is something a bot is told to do. It is sent with every answer
// until the bot acknowledges it.
type Command struct {
	ID   string          `json:"id"`
	Kind CommandKind     `json:"kind"`
	Args json.RawMessage `json:"args,omitempty"`
}

// CommandKind is a verb of the specification.
type CommandKind string

// The verbs of the specification.
const (
	RequestRecordingPermission CommandKind = "request_recording_permission"
	PauseRecording             CommandKind = "pause_recording"
	ResumeRecording            CommandKind = "resume_recording"
	StopRecording              CommandKind = "stop_recording"
	LeaveCall                  CommandKind = "leave_call"
	SendChatMessage            CommandKind = "send_chat_message"
	PinParticipant             CommandKind = "pin_participant"
)
