// Package recording defines what a recording is: its manifest, media files, gaps
// and texts, and the uploads of bots from which it is made. Package storage stores
// recordings, and package build makes the media files and the manifest from the
// uploads.
package recording

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"standin/internal/jobs/job"
)

// SchemaVersion is the version of the manifest that this package writes.
// api/manifest.schema.json describes it.
const SchemaVersion = 1

// Manifest describes the recording of a meeting. Offsets are milliseconds of
// elapsed time since Timeline.RecordingStartedAt, including gaps.
type Manifest struct {
	SchemaVersion int             `json:"schemaVersion"`
	Revision      int             `json:"revision,omitempty"` // 0 as finalized; 2 and more after files were attached
	JobID         string          `json:"jobId"`
	ExternalID    string          `json:"externalId"`
	Platform      string          `json:"platform"`
	MeetingURL    string          `json:"meetingUrl"`
	Metadata      json.RawMessage `json:"metadata"` // a JSON object
	Bot           Bot             `json:"bot"`
	Timeline      Timeline        `json:"timeline"`
	End           End             `json:"end"`
	Partial       bool            `json:"partial"` // true when there are gaps that were not requested, or other media is missing
	Gaps          []Gap           `json:"gaps"`
	MediaFaults   []MediaFault    `json:"mediaFaults"`
	Media         []Media         `json:"media"`
	VideoGaps     []VideoGap      `json:"videoGaps,omitempty"`
	Participants  []Participant   `json:"participants"`
	Speech        []Speech        `json:"speech"`
	SpeechSource  SpeechSource    `json:"speechSource"`
	Consent       []Consent       `json:"consent"`
}

// Summarize sets what the manifest has of a job's summary.
func (m Manifest) Summarize(s *job.Summary) {
	s.EndReason, s.Partial, s.MediaURI, s.Captions, s.DurationMs, s.Bytes = m.End.Reason, m.Partial, "", false, 0, 0
	hasVideo := false
	for _, media := range m.Media {
		s.Bytes += media.Bytes
		switch media.Kind {
		case Video, Audio:
			s.DurationMs = max(s.DurationMs, media.StartOffsetMs+media.DurationMs)
			if s.MediaURI == "" || media.Kind == Video && !hasVideo {
				s.MediaURI, hasVideo = media.URI, media.Kind == Video
			}
		case Captions:
			s.Captions = true
		}
	}
	if from, to := m.Timeline.AdmittedAt, m.Timeline.LeftAt; s.MediaURI == "" && !from.IsZero() && to.After(from.Time) {
		s.DurationMs = to.Sub(from.Time).Milliseconds()
	}
	s.Participants = nil
	for _, p := range m.Participants[:min(len(m.Participants), job.MaxSummaryParticipants)] {
		s.Participants = append(s.Participants, job.Participant{ID: p.ID, Name: p.Name})
	}
}

// Bot describes the bot that recorded.
type Bot struct {
	Name    string  `json:"name"`
	Version *string `json:"version"` // nil when no report has it
}

// Timeline holds the times of a bot's stay in the meeting; zero where unknown.
type Timeline struct {
	JoinedAt           Instant `json:"joinedAt"`   // the bot clicked the join button
	AdmittedAt         Instant `json:"admittedAt"` // the bot was in the meeting
	RecordingStartedAt Instant `json:"recordingStartedAt"`
	RecordingStoppedAt Instant `json:"recordingStoppedAt"`
	LeftAt             Instant `json:"leftAt"`
}

// Origin is the time to which offsets relate: the start of the recording, or admission
// if nothing was to be recorded; zero where unknown.
func (t Timeline) Origin() time.Time {
	if t.RecordingStartedAt.IsZero() {
		return t.AdmittedAt.Time
	}
	return t.RecordingStartedAt.Time
}

// End describes why the bot left the meeting.
type End struct {
	Reason string  `json:"reason"`
	Detail *string `json:"detail"` // nil when there is none
}

// EndUnknown is the end reason when none was reported.
const EndUnknown = "unknown"

// Gap is a period of a recording without media.
type Gap struct {
	StartMs int64  `json:"startMs"`
	EndMs   int64  `json:"endMs"`
	Reason  string `json:"reason"`
}

// MediaFault is a period of a recording whose media is faulty.
type MediaFault struct {
	Kind    string `json:"kind"` // no_sound, frozen_picture, no_captions or no_chat
	StartMs int64  `json:"startMs"`
	EndMs   int64  `json:"endMs"`
}

// VideoGap is a period within a file for which there is no video of its participant. The last picture stays.
type VideoGap struct {
	Name    string `json:"name"` // of the file
	StartMs int64  `json:"startMs"`
	EndMs   int64  `json:"endMs"`
}

// Media is a file with its URL.
type Media struct {
	File
	URI string `json:"uri"`
}

// Participant is a person in the roster.
type Participant struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	JoinedAt Instant `json:"joinedAt"`
	LeftAt   Instant `json:"leftAt"` // zero when unknown
}

// Speech is a period in which a participant spoke.
type Speech struct {
	ParticipantID string `json:"participantId"`
	StartMs       int64  `json:"startMs"`
	EndMs         int64  `json:"endMs"`
}

// SpeechSource is the evidence by which the speech is known.
type SpeechSource string

// The kinds of evidence.
const (
	SpeechUnknown        SpeechSource = "none" // nothing is known, and nobody is listed
	SpeechByPage         SpeechSource = "page" // the meeting page marks who speaks
	SpeechByAudio        SpeechSource = "audio"
	SpeechByPageAndAudio SpeechSource = "page_and_audio"
)

// Consent is a request for the host's permission to record, with its outcome.
type Consent struct {
	CommandID   string         `json:"commandId"`
	RequestedAt Instant        `json:"requestedAt"`
	Outcome     ConsentOutcome `json:"outcome"`     // null without a response
	RespondedAt Instant        `json:"respondedAt"` // zero without a response
}

// ConsentOutcome is the outcome of a request; empty without a response.
type ConsentOutcome string

// The outcomes (docs/internals/states.md).
const (
	ConsentGranted ConsentOutcome = "granted"
	ConsentDenied  ConsentOutcome = "denied"
	ConsentTimeout ConsentOutcome = "timeout"
)

// MarshalJSON returns the outcome as a JSON string, or null if it is empty.
func (o ConsentOutcome) MarshalJSON() ([]byte, error) {
	if o == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(o))
}

// Instant is a time whose JSON is RFC 3339 in UTC with milliseconds and a Z, or
// null if it is zero.
type Instant struct{ time.Time }

// MarshalJSON returns the time as a JSON string, or null if it is zero.
func (i Instant) MarshalJSON() ([]byte, error) { return json.Marshal(job.NullTimestamp(i.Time)) }

// UnmarshalJSON parses an RFC 3339 time or null.
func (i *Instant) UnmarshalJSON(data []byte) error {
	var at *job.Timestamp
	if err := json.Unmarshal(data, &at); err != nil {
		return fmt.Errorf("parse an instant: %w", err)
	}
	*i = Instant{}
	if at != nil {
		i.Time = at.Time().UTC()
	}
	return nil
}

// Reasons of gaps that the service determines.
const (
	GapBotLost      = "bot_lost"      // one bot was lost, until the next one recorded
	GapMediaLost    = "media_lost"    // recording had started, but the media is missing
	GapNotRecording = "not_recording" // the recorder was not running, for example because its start failed
)

// Reasons of gaps that bots report.
const (
	GapDiskFull    = "disk_full" // the spool or its disk is full
	GapPaused      = "paused"
	GapStalled     = "stalled"      // the machine did not let the browser run
	GapNetworkLost = "network_lost" // nothing arrived at the browser
	GapNoSound     = "no_sound"     // the same as the kind of the MediaFault
)

// Requested reports whether a gap was requested. Such a gap is not a loss.
func (g Gap) Requested() bool { return g.Reason == GapPaused }

// WithinMedia reports whether a part goes on during a gap: it is silent.
func (g Gap) WithinMedia() bool {
	return g.Reason == GapStalled || g.Reason == GapNetworkLost || g.Reason == GapNoSound
}

// Filled reports whether the files contain the time of a gap: silence, and the last picture. They
// begin with the first part, and do not contain pauses.
func (g Gap) Filled() bool { return g.WithinMedia() || g.StartMs > 0 && !g.Requested() }

// MediaPosition converts an offset of a recording to a position in its video or
// mixed audio, which has only the gaps that are filled.
func MediaPosition(offsetMs int64, gaps []Gap) time.Duration {
	position := offsetMs
	for _, gap := range gaps {
		if !gap.Filled() {
			position -= max(0, min(gap.EndMs, offsetMs)-gap.StartMs)
		}
	}
	return time.Duration(max(0, position)) * time.Millisecond
}

// MediaKind is the kind of a media file (api/manifest.schema.json).
type MediaKind string

// The kinds of media.
const (
	Video            MediaKind = "video"
	Audio            MediaKind = "audio"
	ParticipantAudio MediaKind = "participant_audio"
	ParticipantVideo MediaKind = "participant_video"
	ScreenShare      MediaKind = "screen_share"
	Chat             MediaKind = "chat"
	Captions         MediaKind = "captions"
	Transcript       MediaKind = "transcript"
)

// File describes a finished media file.
type File struct {
	Name          string    `json:"name"`
	Kind          MediaKind `json:"kind"`
	ContentType   string    `json:"contentType"`
	Codecs        string    `json:"codecs"` // the codecs parameter of RFC 6381; empty for text
	Bytes         int64     `json:"bytes"`
	SHA256        string    `json:"sha256"` // hex
	DurationMs    int64     `json:"durationMs"`
	StartOffsetMs int64     `json:"startOffsetMs"` // position in the recording
	ParticipantID string    `json:"participantId,omitempty"`
	Width         int       `json:"width,omitempty"`
	Height        int       `json:"height,omitempty"`
}

// TextsVersion is the version of the files with texts that this package writes.
// api/texts.schema.json describes them.
const TextsVersion = 1

// Texts is the content of chat.json or captions.json.
type Texts struct {
	SchemaVersion int       `json:"schemaVersion"`
	JobID         string    `json:"jobId"`
	Kind          MediaKind `json:"kind"`
	Texts         []Text    `json:"texts"` // sorted by start
}

// Text is a chat message or a caption. Offsets are like those of the manifest.
type Text struct {
	ParticipantID *string `json:"participantId"` // nil if unknown
	Author        *string `json:"author"`        // the name on the page; nil if unknown
	Text          string  `json:"text"`
	Language      *string `json:"language"` // BCP 47, of a caption; nil if unknown
	StartMs       int64   `json:"startMs"`
	EndMs         int64   `json:"endMs"`
	StartedAt     Instant `json:"startedAt"`
}

// MediaURI returns the URL of a job's media file.
func MediaURI(baseURL, jobID, name string) string {
	return jobURI(baseURL, jobID) + "/media/" + name
}

// ManifestURI returns the URL of a job's manifest.
func ManifestURI(baseURL, jobID string) string {
	return jobURI(baseURL, jobID) + "/manifest"
}

func jobURI(baseURL, jobID string) string {
	return strings.TrimSuffix(baseURL, "/") + "/api/v1/jobs/" + jobID
}
