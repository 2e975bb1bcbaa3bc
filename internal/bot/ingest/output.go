package ingest

import (
	"bytes"
	"slices"
	"time"

	"standin/internal/jobs/job"
)

// OutputPath is the path of the operation by which a bot reads what a command makes it
// play or show. A sound is PCM S16LE, mono, 48 kHz. A picture is a JPEG image, and a video
// one for each of its pictures, one after the other.
const OutputPath = "/api/v1/ingest/output" // + /{jobId}/{attempt}/{commandId}

// The names of a job's own output, in place of the ID of a command.
const (
	OnJoinOutput = "on-join" // what the option output.onJoin plays
	CameraOutput = "camera"  // the image of the option output.camera
)

// MaxSound is the maximum length of a sound, and MaxSoundBytes its size.
const (
	MaxSound      = 10 * time.Minute
	MaxSoundBytes = int64(MaxSound/time.Second) * 48_000 * 2
)

// The pictures that a bot shows.
const (
	PictureWidth  = 1280 // pixels
	PictureHeight = 720
	VideoRate     = 10 // pictures per second
	MaxVideo      = 2 * time.Minute
	// MaxPictureBytes is the maximum size of an image, or of all pictures of a video.
	MaxPictureBytes = 64 << 20
)

// MaxOutputBytes is the maximum size of what a command makes a bot play or show.
const MaxOutputBytes = max(MaxSoundBytes, MaxPictureBytes)

// SoundArgs are the arguments of PlayAudio and Speak.
type SoundArgs struct {
	Interrupt bool `json:"interrupt,omitempty"` // stop what is being played, and what waits
}

// PictureArgs are the arguments of SetCamera and ShareScreen.
type PictureArgs struct {
	Show PictureKind `json:"show"`
	URI  string      `json:"uri,omitempty"` // of a page
}

// PictureKind is what a bot shows.
type PictureKind string

// The kinds of pictures. The bot reads an image or a video from the service.
const (
	ShowImage PictureKind = "image"
	ShowVideo PictureKind = "video"
	ShowPage  PictureKind = "page"
	ShowNone  PictureKind = "none"
)

// SplitPictures returns the JPEG images of a video, or the only one of an image.
func SplitPictures(content []byte) [][]byte {
	var pictures [][]byte
	for len(content) > 0 {
		end := len(content)
		if at := bytes.Index(content, jpegBoundary); at >= 0 {
			end = at + len(jpegBoundary)/2
		}
		pictures, content = append(pictures, content[:end]), content[end:]
	}
	return pictures
}

// jpegBoundary is the end of a JPEG image and the beginning of the next one.
var jpegBoundary = []byte{0xff, 0xd9, 0xff, 0xd8}

// OutputStates are the states of output, by the events of bots.
var OutputStates = map[job.Trigger]string{job.BotOutputStarted: "started", job.BotOutputFinished: "finished", job.BotOutputFailed: "failed"}

// OutputKinds are the kinds of output that events of bots name.
var OutputKinds = []string{
	string(PlayAudio), string(Speak), string(SetCamera), string(ShareScreen),
	OutputStream, OutputPage, OutputOnJoin, OutputCamera, otherOutput,
}

// KnownOutput returns the kind of output that an event of a bot names, or "other".
func KnownOutput(command string) string {
	if slices.Contains(OutputKinds, command) {
		return command
	}
	return otherOutput
}

// The kinds of output without a command, in the events of bots.
const (
	OutputStream = "stream"  // live sound of the receivers of streams
	OutputPage   = "page"    // sound of a page that is shown
	OutputOnJoin = "on_join" // of the option output.onJoin
	OutputCamera = "camera"  // of the option output.camera
	otherOutput  = "other"
)

// OutputFailure is why output failed.
type OutputFailure string

// The reasons. api/openapi.yaml repeats them.
const (
	StoppedByHost     OutputFailure = "stopped_by_host"
	Interrupted       OutputFailure = "interrupted"
	NoDevice          OutputFailure = "no_device"      // the page has none, or none in use
	DeviceRefused     OutputFailure = "device_refused" // the page does not turn it on
	OutputUnavailable OutputFailure = "unavailable"
)
