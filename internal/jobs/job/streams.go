package job

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
)

// StreamOptions are the options of a stream: a WebSocket to which the sound of the meeting
// is sent. Empty ones have the defaults of WithDefaults.
type StreamOptions struct {
	URL        string       `json:"url"`
	Audio      StreamAudio  `json:"audio,omitempty"`
	SampleRate int          `json:"sampleRate,omitempty"`
	Format     StreamFormat `json:"format,omitempty"`
	Send       bool         `json:"send,omitempty"` // the receiver sends sound to play into the meeting
	// Events are sent beside the sound. If it is nil, it depends on the format.
	Events []StreamEvent `json:"events,omitzero"`
}

// StreamAudio selects the sound of a stream.
type StreamAudio string

// The sound of a stream.
const (
	StreamMixed        StreamAudio = "mixed"        // of all participants together
	StreamParticipants StreamAudio = "participants" // of each participant
	StreamBoth         StreamAudio = "both"
)

// StreamFormat is the protocol of a stream.
type StreamFormat string

// The formats of streams: Standin's own, and those of other services.
const (
	StreamStandin     StreamFormat = "standin"
	StreamRecall      StreamFormat = "recall"
	StreamAttendee    StreamFormat = "attendee"
	StreamMeetingBaaS StreamFormat = "meetingbaas"
)

// StreamEvent is a kind of events of a job's live stream that its streams can have too.
type StreamEvent string

// The events of streams.
const (
	TranscriptEvents   StreamEvent = "transcript"   // what the live transcriber has heard
	CaptionEvents      StreamEvent = "caption"      // captions of the meeting platform
	ChatEvents         StreamEvent = "chat"         // chat messages
	ParticipantsEvents StreamEvent = "participants" // who is in the meeting
	SpeakingEvents     StreamEvent = "speaking"     // who speaks
)

// streamEvents are the events that a format has messages for.
var streamEvents = map[StreamFormat][]StreamEvent{
	StreamStandin:     {TranscriptEvents, CaptionEvents, ChatEvents, ParticipantsEvents, SpeakingEvents},
	StreamRecall:      {TranscriptEvents, ChatEvents, ParticipantsEvents, SpeakingEvents},
	StreamMeetingBaaS: {SpeakingEvents},
}

// DefaultSampleRate is the sample rate of a stream that does not name one.
const DefaultSampleRate = 16_000

// WithDefaults returns the options with defaults for empty ones.
func (o StreamOptions) WithDefaults() StreamOptions {
	o.Audio, o.Format = cmp.Or(o.Audio, StreamMixed), cmp.Or(o.Format, StreamStandin)
	if o.Format == StreamMeetingBaaS { // what its receivers expect
		o.SampleRate = cmp.Or(o.SampleRate, 24_000)
		if o.Events == nil {
			o.Events = []StreamEvent{SpeakingEvents}
		}
	}
	o.SampleRate = cmp.Or(o.SampleRate, DefaultSampleRate)
	return o
}

// streamRates are the sample rates that the receivers of a format know.
var streamRates = map[StreamFormat][]int{
	StreamStandin:     {8000, 16_000, 24_000, 32_000, 48_000},
	StreamRecall:      {16_000},
	StreamAttendee:    {8000, 16_000, 24_000},
	StreamMeetingBaaS: {16_000, 24_000, 32_000, 48_000},
}

// Check returns the name of the first option that cannot be used, and why; an empty name
// if there is none.
func (o StreamOptions) Check() (name, problem string) {
	address, err := url.Parse(o.URL)
	o = o.WithDefaults()
	switch {
	case err != nil || address.Scheme != "ws" && address.Scheme != "wss" || address.Hostname() == "" || address.Fragment != "":
		return "url", "must be a ws or wss URL with a host and without a fragment"
	case !slices.Contains(streamRates[o.Format], o.SampleRate):
		return "sampleRate", fmt.Sprintf("must be one of %v in the format %s", streamRates[o.Format], o.Format)
	case o.Format == StreamMeetingBaaS && o.Audio != StreamMixed:
		return "audio", "must be mixed in the format meetingbaas"
	case o.Format == StreamRecall && o.Send:
		return "send", "must be false in the format recall, which has no sound of receivers"
	}
	for _, event := range o.Events {
		if !slices.Contains(streamEvents[o.Format], event) {
			return "events", fmt.Sprintf("cannot have %s in the format %s", event, o.Format)
		}
	}
	return "", ""
}

// Host returns the host of the URL.
func (o StreamOptions) Host() string {
	address, err := url.Parse(o.URL)
	if err != nil {
		return ""
	}
	return address.Host
}

// StreamState is what happened to a stream.
type StreamState string

// The states of a stream.
const (
	StreamConnected    StreamState = "connected"
	StreamDisconnected StreamState = "disconnected" // it is connected again later
	StreamFailed       StreamState = "failed"       // it is not connected again
)

// StreamChange is a change of a stream's state.
type StreamChange struct {
	Stream int         `json:"stream"` // index in the option streams
	Host   string      `json:"host"`
	State  StreamState `json:"state"`
	Reason string      `json:"reason,omitempty"` // why it is not connected
}
