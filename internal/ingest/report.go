package ingest

import "time"

// ReportName is the media name under which a bot uploads its report. It is
// uploaded while the meeting goes on, each time whole, so that the last one
// serves when the bot is lost.
const ReportName = "report.json"

// Report is what a bot saw of a meeting: all that the manifest needs and only
// the bot knows.
type Report struct {
	Attempt     int             `json:"attempt"`
	BotVersion  string          `json:"botVersion"`
	JoinedAt    time.Time       `json:"joinedAt,omitzero"`   // join was clicked
	AdmittedAt  time.Time       `json:"admittedAt,omitzero"` // seen inside the meeting
	LeftAt      time.Time       `json:"leftAt,omitzero"`
	EndReason   string          `json:"endReason,omitempty"` // host_ended, removed, alone, …
	EndDetail   string          `json:"endDetail,omitempty"`
	Parts       []RecordingPart `json:"stretches"`
	Gaps        []Gap           `json:"gaps,omitempty"`
	People      []Person        `json:"people,omitempty"`
	Speech      []Speech        `json:"speech,omitempty"`
	AudioTracks []AudioTrack    `json:"voices,omitempty"`
}

// Stretch is a run of media recorded without interruption: its segments, put
// one behind the other, are one fragmented MP4 file.
type RecordingPart struct {
	Number    int       `json:"number"` // 0, 1, …, within the attempt
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"` // unset while it goes on
	Segments  int       `json:"segments"`         // how many were recorded so far
	Complete  bool      `json:"complete"`         // ended in order: nothing of its end is missing
	EndedBy   string    `json:"endedBy,omitempty"`
}

// Gap is a time in which the meeting was on and nothing was kept.
type Gap struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Reason string    `json:"reason"`
}

// Person was seen in the roster.
type Person struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	JoinedAt time.Time `json:"joinedAt"`
	LeftAt   time.Time `json:"leftAt,omitzero"`
}

// Speech is a time in which a person spoke.
type Speech struct {
	PersonID string    `json:"personId"`
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
}

// Voice is what one stream of the call said by itself, recorded without
// interruption: its segments, put one behind the other, are one fragmented MP4
// file.
type AudioTrack struct {
	Number    int       `json:"number"` // 0, 1, …, within the attempt
	StartedAt time.Time `json:"startedAt"`
	Segments  int       `json:"segments"`           // how many were recorded so far
	Complete  bool      `json:"complete"`           // ended in order: nothing of its end is missing
	EndedBy   string    `json:"endedBy,omitempty"`  // why it did not
	PersonID  string    `json:"personId,omitempty"` // whose it is, where the page showed that beyond doubt
}
