package ingest

import (
	"time"

	"standin/internal/job"
)

// OutputPath is the path of the operation by which a bot reads the sound of a command:
// PCM S16LE, mono, 48 kHz.
const OutputPath = "/api/v1/ingest/output" // + /{jobId}/{attempt}/{commandId}

// MaxSound is the maximum length of a sound. MaxSoundBytes is its size.
const (
	MaxSound      = 10 * time.Minute
	MaxSoundBytes = int64(MaxSound/time.Second) * 48_000 * 2
)

// SoundArgs are the arguments of PlayAudio and Speak.
type SoundArgs struct {
	Interrupt bool `json:"interrupt,omitempty"` // stop what is being played, and what waits
}

// OutputStates are the states of output, by the events of bots.
var OutputStates = map[job.Trigger]string{job.BotOutputStarted: "started", job.BotOutputFinished: "finished", job.BotOutputFailed: "failed"}

// OutputFailure is why output failed.
type OutputFailure string

// The reasons. api/openapi.yaml repeats them.
const (
	MutedByHost       OutputFailure = "muted_by_host"
	Interrupted       OutputFailure = "interrupted"
	NoMicrophone      OutputFailure = "no_microphone"      // the page has none, or none in use
	MicrophoneRefused OutputFailure = "microphone_refused" // the page does not turn it on
	OutputUnavailable OutputFailure = "unavailable"
)
