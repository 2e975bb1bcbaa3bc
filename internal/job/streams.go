package job

// StreamAudio selects the sound of a stream.
type StreamAudio string

// The sound of a stream.
const (
	StreamMixed        StreamAudio = "mixed"        // of all participants together
	StreamParticipants StreamAudio = "participants" // of each participant
	StreamBoth         StreamAudio = "both"
)

// DefaultSampleRate is the sample rate of a stream that does not name one.
const DefaultSampleRate = 16_000
