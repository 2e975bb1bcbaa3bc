package recorder

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"
)

// Settings configures a recording. Zero values mean the defaults in brackets.
type Settings struct {
	// AudioOnly records audio without video.
	AudioOnly bool
	// Width and Height are the size of the video in pixels [1280, 720]. The
	// recorded page is resized to it.
	Width, Height int
	// FramesPerSecond is the maximum frame rate [15]. A page that does not change
	// has fewer frames.
	FramesPerSecond int
	// VideoBitsPerSecond is the encoder's target [1,200,000].
	VideoBitsPerSecond int
	// ChunkTimeout is how long a running recording may produce no chunk before
	// it ends with a *StallError, unless the browser does not answer [15 s].
	ChunkTimeout time.Duration
	// Voice makes the recording contain the sound that MixBotAudio adds [only what is captured].
	Voice bool
	// ParticipantAudio stores the audio of each participant [nil: it is not
	// recorded].
	ParticipantAudio ParticipantTrackSink
	// Tracks stores what a platform's own streams have of each participant, besides ParticipantAudio.
	Tracks ParticipantTrackSink
	// Streams records the encoded video of each participant to Tracks instead of the page's picture, as soon as it is
	// sure that all of it comes.
	Streams bool
	// LiveSound receives the sound while it is recorded [nil: nobody does].
	LiveSound LiveSoundListener
	// MaxParticipantTracks is how many participants are recorded at a time [16].
	MaxParticipantTracks int
	// Log receives errors that do not end the recording [discarded].
	Log *slog.Logger
	// AllowAddress allows the browser to access the recorder's chunk server, at a
	// host and port and below a secret path, if the browser uses a proxy. revoke
	// ends that [nil: the browser needs no permission].
	AllowAddress func(hostPort, pathPrefix string) (revoke func(), err error)
}

// withDefaults returns the settings with defaults for zero values.
func (s Settings) withDefaults() Settings {
	if s.Width == 0 || s.Height == 0 {
		s.Width, s.Height = 1280, 720
	}
	s.FramesPerSecond = cmp.Or(s.FramesPerSecond, 15)
	s.VideoBitsPerSecond = cmp.Or(s.VideoBitsPerSecond, 1_200_000)
	s.ChunkTimeout = cmp.Or(s.ChunkTimeout, 15*time.Second)
	s.MaxParticipantTracks = cmp.Or(s.MaxParticipantTracks, 16)
	s.Log = cmp.Or(s.Log, slog.New(slog.DiscardHandler))
	if s.AllowAddress == nil {
		s.AllowAddress = func(string, string) (func(), error) { return func() {}, nil }
	}
	return s
}

// mimeType returns H.264 and Opus, or Opus only, in MP4. Chromium writes one MP4
// fragment per key frame, so an incomplete file is playable.
func (s Settings) mimeType() string {
	if s.AudioOnly {
		return "audio/mp4;codecs=opus"
	}
	// The lowest H.264 level for the size and frame rate, as in the codecs parameter (ISO/IEC 14496-10, table A-1).
	const macroblock = 16
	blocks := ((s.Width + macroblock - 1) / macroblock) * ((s.Height + macroblock - 1) / macroblock)
	level := 0x2A
	for _, limit := range []struct{ level, blocks, blocksPerSecond int }{
		{0x28, 8_192, 245_760}, {0x20, 5_120, 216_000}, {0x1F, 3_600, 108_000},
	} {
		if blocks <= limit.blocks && blocks*s.FramesPerSecond <= limit.blocksPerSecond {
			level = limit.level
		}
	}
	return fmt.Sprintf("video/mp4;codecs=avc1.42E0%02X,opus", level)
}
