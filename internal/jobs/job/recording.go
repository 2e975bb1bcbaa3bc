package job

import "slices"

// RecordingOptions are the options of a job under recording in api/openapi.yaml. An empty
// one leaves the consumer's, or else the service's, setting as it is.
type RecordingOptions struct {
	Mode             RecordingMode `json:"mode,omitempty"`
	Layout           Layout        `json:"layout,omitempty"`
	Resolution       Resolution    `json:"resolution,omitempty"`
	ParticipantAudio *bool         `json:"participantAudio,omitempty"`
	Capture          Capture       `json:"capture,omitempty"`
}

// Or returns the options with those of other in place of the empty ones.
func (o RecordingOptions) Or(other RecordingOptions) RecordingOptions { return or(o, other) }

// RecordingMode selects what is recorded.
type RecordingMode string

// The recording modes.
const (
	RecordVideo   RecordingMode = "video" // video and audio
	RecordAudio   RecordingMode = "audio" // audio only
	RecordNothing RecordingMode = "none"  // attendance and texts only
)

// RecordsLess reports whether a mode is set and records less than another. An empty other
// mode is video.
func (m RecordingMode) RecordsLess(other RecordingMode) bool {
	order := []RecordingMode{RecordNothing, RecordAudio, RecordVideo}
	if other == "" {
		other = RecordVideo
	}
	return m != "" && slices.Index(order, m) < slices.Index(order, other)
}

// Capture selects of what a video is recorded.
type Capture string

// The captures.
const (
	CaptureTab     Capture = "tab"     // the picture of the meeting page
	CaptureStreams Capture = "streams" // the video of each participant, as it is received
)

// Layout selects what the recorded picture shows.
type Layout string

// The layouts.
const (
	LayoutSpeaker Layout = "speaker" // shared content or the active speaker large, others small
	LayoutGallery Layout = "gallery" // everyone in places of the same size
	LayoutContent Layout = "content" // shared content as large as possible, beside the active speaker
	LayoutPage    Layout = "page"    // the page as a participant sees it
)

// Resolution is the size of the recorded picture.
type Resolution string

// The resolutions.
const (
	Resolution720p  Resolution = "720p"  // 1280x720
	Resolution1080p Resolution = "1080p" // 1920x1080
)
