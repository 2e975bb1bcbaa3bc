package recording

// MediaKind is the kind of a media file (api/manifest.schema.json).
type MediaKind string

// The kinds of media.
const (
	Video            MediaKind = "video"
	Audio            MediaKind = "audio"
	ParticipantAudio MediaKind = "participant_audio"
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
	StartOffsetMs int64     `json:"startOffsetMs"` // of its beginning, from the start of the recording
	ParticipantID string    `json:"participantId,omitempty"`
	Width         int       `json:"width,omitempty"`
	Height        int       `json:"height,omitempty"`
}
