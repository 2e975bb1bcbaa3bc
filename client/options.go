package client

import "time"

// Options are the options of a job beside Recording. Empty fields are the settings of the
// service; in a patch, they do not change.
type Options struct {
	Title       string             `json:"title,omitempty"`       // of the meeting
	SignIn      string             `json:"signIn,omitempty"`      // never, ifRequired or always
	Account     string             `json:"account,omitempty"`     // ID, label or group
	StartBefore *time.Time         `json:"startBefore,omitempty"` // when it is too late to send the bot
	Captions    *TextOptions       `json:"captions,omitempty"`
	Chat        *bool              `json:"chat,omitempty"` // record the chat of the meeting
	Transcript  *TranscriptOptions `json:"transcript,omitempty"`
	Consent     *ConsentOptions    `json:"consent,omitempty"`
	Streams     []Stream           `json:"streams,omitempty"`  // at most 4
	Output      *OutputOptions     `json:"output,omitempty"`   // nil: the bot plays and shows nothing
	Simulate    *Simulation        `json:"simulate,omitempty"` // with test keys only
}

// TextOptions configure captions.
type TextOptions struct {
	Enabled  *bool  `json:"enabled,omitempty"`
	Language string `json:"language,omitempty"` // that is spoken, as a BCP 47 tag
}

// TranscriptOptions configure the transcript.
type TranscriptOptions struct {
	Enabled  *bool    `json:"enabled,omitempty"`
	Language string   `json:"language,omitempty"` // that is spoken, as a BCP 47 tag
	Live     *bool    `json:"live,omitempty"`     // while the meeting runs too
	Keyterms []string `json:"keyterms,omitempty"` // words and names that are likely
}

// ConsentOptions configure the permission to record.
type ConsentOptions struct {
	Required *bool `json:"required,omitempty"` // ask the host, and record only when it is granted
}

// Stream is a WebSocket that receives the sound of the meeting. Empty fields have their
// defaults.
type Stream struct {
	URL        string   `json:"url"`                  // ws or wss
	Audio      string   `json:"audio,omitempty"`      // mixed (default), participants or both
	SampleRate int      `json:"sampleRate,omitempty"` // 8000, 16000 (default), 24000 or 48000
	Format     string   `json:"format,omitempty"`     // standin (default), recall, attendee or meetingbaas
	Send       bool     `json:"send,omitempty"`       // the receiver sends sound that the bot plays
	Events     []string `json:"events,omitempty"`     // transcript, caption, chat, participants, speaking
}

// OutputOptions allow the bot to play sound and to show pictures in the meeting.
type OutputOptions struct {
	OnJoin       *OutputOnJoin  `json:"onJoin,omitempty"`       // what it plays when it is admitted
	ReplayOnJoin bool           `json:"replayOnJoin,omitempty"` // also when it was out of the meeting and is back
	Camera       *CameraOptions `json:"camera,omitempty"`       // what it shows from the start
}

// OutputOnJoin is an audio file, by its URL, or a text to speak.
type OutputOnJoin struct {
	URI      string `json:"uri,omitempty"`
	Text     string `json:"text,omitempty"`
	Voice    string `json:"voice,omitempty"`
	Language string `json:"language,omitempty"` // of the text, as a BCP 47 tag
}

// CameraOptions are what a camera shows. Exactly one field is set.
type CameraOptions struct {
	Image    *WebPage `json:"image,omitempty"` // the URL of an image
	Page     *WebPage `json:"page,omitempty"`
	NameCard bool     `json:"nameCard,omitempty"` // a card with the bot's name
}

// Simulation is what happens to the bot of a test job. Empty fields have the defaults of
// the outcome.
type Simulation struct {
	Outcome    string   `json:"outcome,omitempty"`    // success when empty
	Seconds    *float64 `json:"seconds,omitempty"`    // length of the meeting, up to 3600
	Speed      float64  `json:"speed,omitempty"`      // 1 to 100
	Permission string   `json:"permission,omitempty"` // granted, denied or timeout
}
