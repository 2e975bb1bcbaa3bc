package ingest

import (
	"encoding/binary"
	"errors"
	"time"
)

// SoundPath is the path of a bot's WebSocket for live sound below the service's base
// URL, + /{jobId}/{attempt}. The bot connects when its recording starts. Text messages
// are a SoundMessage, binary ones sound: of the bot, EncodeSound; of the service, samples
// to play into the meeting.
const SoundPath = "/api/v1/ingest/sound"

// The format of sound between a bot and the service: PCM, signed 16-bit little-endian,
// mono. Frames of the bot have the same length.
const (
	SoundRate          = 48_000         // samples per second
	FLACFrameSamples   = SoundRate / 10 // of a participant's track in FLAC, whose container does not tell it
	SoundFrameDuration = 20 * time.Millisecond
	SoundFrameSamples  = 960
	SoundFrameBytes    = 2 * SoundFrameSamples
)

// MaxPlayedBytes limits a binary message of the service: a second of sound.
const MaxPlayedBytes = 2 * SoundRate

// Limits of the participants in the messages of a bot.
const (
	MaxSoundSources = 1000
	MaxSoundText    = 1000 // characters of an ID or a name
	MaxSpeaking     = 8    // participants who speak at a time
)

// Types of a SoundMessage.
const (
	SoundStart       = "start"        // of the bot: StartedAt; the first message
	SoundParticipant = "participant"  // of the bot: Source and its participant; none if it is unknown again
	SoundSpeaking    = "speaking"     // of the bot: Speaking
	SoundEnd         = "end"          // of the bot: it has left the meeting
	SoundWant        = "want"         // of the service: Wanted
	SoundStopPlaying = "stop_playing" // of the service: forget the samples that were not played yet
)

// SoundMessage is a text message on a bot's connection for sound.
type SoundMessage struct {
	Type      string    `json:"type"`
	StartedAt time.Time `json:"startedAt,omitzero"` // start of the attempt's recording
	SentUntil time.Time `json:"sentUntil,omitzero"` // end of the mixed sound that an earlier connection took; zero if none did
	Source    int       `json:"source,omitempty"`   // of frames
	ID        string    `json:"id,omitempty"`       // of a participant
	Name      string    `json:"name,omitempty"`     // of a participant
	// Speaking are those who speak from now on, at most MaxSpeaking.
	Speaking []SoundSpeaker `json:"speaking,omitempty"`
	SoundWanted
}

// SoundSpeaker is a participant who speaks.
type SoundSpeaker struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

// SoundWanted is the sound that the service wants.
type SoundWanted struct {
	Mixed        bool `json:"mixed,omitempty"`
	Participants bool `json:"participants,omitempty"`
}

// SoundFrame is SoundFrameDuration of sound.
type SoundFrame struct {
	Source int       // 0: mixed, otherwise the audio of one participant
	At     time.Time // of the first sample, in the report's clock
	PCM    []byte    // SoundFrameBytes
}

const soundHeaderBytes = 12

// EncodeSound returns the binary message with a frame: its source, its time in Unix
// microseconds, and its samples.
func EncodeSound(frame SoundFrame) []byte {
	message := make([]byte, 0, soundHeaderBytes+len(frame.PCM))
	message = binary.LittleEndian.AppendUint32(message, uint32(frame.Source))         //nolint:gosec // a bot counts from 0
	message = binary.LittleEndian.AppendUint64(message, uint64(frame.At.UnixMicro())) //nolint:gosec // the inverse of DecodeSound
	return append(message, frame.PCM...)
}

// DecodeSound is the inverse of EncodeSound. The frame shares the message's memory.
func DecodeSound(message []byte) (SoundFrame, error) {
	if len(message) != soundHeaderBytes+SoundFrameBytes {
		return SoundFrame{}, errors.New("audio frame has an unexpected length")
	}
	source := binary.LittleEndian.Uint32(message)
	if source > MaxSoundSources {
		return SoundFrame{}, errors.New("a frame of sound has an unknown source")
	}
	at := time.UnixMicro(int64(binary.LittleEndian.Uint64(message[4:]))) //nolint:gosec // any time
	return SoundFrame{Source: int(source), At: at, PCM: message[soundHeaderBytes:]}, nil
}
