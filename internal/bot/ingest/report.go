package ingest

import "time"

// ReportName is the name of a bot's report. It is uploaded repeatedly during the
// meeting, so that the service has the latest version if the bot is lost.
const ReportName = "report.json"

// CapturePrefix begins the names of captures: files that keep what a page showed
// when a bot did not recognize it. See package capture.
const CapturePrefix = "capture-"

// End reasons of a bot whose meeting may go on without it. Such a bot is lost, and its exit
// does not end the job.
const (
	EndStopped         = "bot_stopped"      // its process was stopped from outside: by SIGTERM, a drain or an eviction
	EndRecordingFailed = "recording_failed" // it could not start a recorder for too long
)

// EndRevoked is the end reason of a bot whose platform demands that what was recorded is deleted.
const EndRevoked = "revoked"

// Report is a bot's part of the manifest.
type Report struct {
	Attempt     int             `json:"attempt"`
	BotVersion  string          `json:"botVersion"`
	JoinedAt    time.Time       `json:"joinedAt,omitzero"`   // the join button was pressed
	AdmittedAt  time.Time       `json:"admittedAt,omitzero"` // the bot was in the meeting
	LeftAt      time.Time       `json:"leftAt,omitzero"`
	SavedAt     time.Time       `json:"savedAt,omitzero"`    // the last time of which the report tells
	EndReason   string          `json:"endReason,omitempty"` // host_ended, removed, alone, …
	EndDetail   string          `json:"endDetail,omitempty"`
	Parts       []RecordingPart `json:"stretches"`
	Gaps        []Gap           `json:"gaps,omitempty"`
	People      []Person        `json:"people,omitempty"`
	Speech      []Speech        `json:"speech,omitempty"`
	AudioTracks []AudioTrack    `json:"voices,omitempty"`

	// MediaFaults are the times whose media is recorded but faulty.
	MediaFaults []MediaFault `json:"mediaFaults,omitempty"`

	// WithoutRecording is set by a bot that records nothing by its job's choice: who was
	// there and what was written is all of its result.
	WithoutRecording bool `json:"withoutRecording,omitempty"`

	// SpeechSources are the kinds of evidence of who spoke: page and audio.
	SpeechSources []string `json:"speechSources,omitempty"`
}

// RecordingPart is a part of the recording without interruption. Its segments,
// concatenated, are one fragmented MP4 file.
type RecordingPart struct {
	Number    int       `json:"number"` // 0, 1, …, within the attempt
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"` // unset while it is being recorded
	Segments  int       `json:"segments"`         // recorded so far
	Complete  bool      `json:"complete"`         // nothing is missing at its end
	EndedBy   string    `json:"endedBy,omitempty"`
	SoundOnly bool      `json:"soundOnly,omitempty"` // its picture is not needed: tracks have it
}

// Gap is a time during the meeting that was not recorded, although that was asked for or is paused.
type Gap struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to,omitzero"` // unset while nothing is recorded, also after the bot left
	Reason string    `json:"reason"`
}

// MaxMediaFaults limits the faults in a report.
const MaxMediaFaults = 1000

// MediaFault is a time in which the recorded media was faulty: no_sound or
// frozen_picture.
type MediaFault struct {
	Kind string    `json:"kind"`
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
}

// OwnID is the ID of the bot itself among the participants. It is one of them if it spoke.
const OwnID = "standin"

// Person is a participant.
type Person struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	JoinedAt time.Time `json:"joinedAt"`
	LeftAt   time.Time `json:"leftAt,omitzero"`
}

// Speech is a time during which a person spoke.
type Speech struct {
	PersonID string    `json:"personId"`
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
}

// AudioTrack is one participant's audio, recorded separately and without
// interruption, or, with a Kind, what else a platform sends of each participant. Its segments, concatenated, are one fragmented MP4 file.
type AudioTrack struct {
	Number    int       `json:"number"` // 0, 1, …, within the attempt
	StartedAt time.Time `json:"startedAt"`
	Segments  int       `json:"segments"`           // recorded so far
	Complete  bool      `json:"complete"`           // nothing is missing at its end
	EndedBy   string    `json:"endedBy,omitempty"`  // why it is not complete
	PersonID  string    `json:"personId,omitempty"` // its participant, if known for certain
	Kind      string    `json:"kind,omitempty"`     // as in the manifest; empty: participant_audio

	OwnedUntil time.Time `json:"ownedUntil,omitzero"` // what follows is of nobody who is known
}
