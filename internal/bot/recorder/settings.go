package recorder

import (
	"fmt"
	"log/slog"
	"time"
)

// Settings say how to record. Zero values take the defaults in brackets.
type Settings struct {
	// AudioOnly records the sound alone: no picture is taken or encoded.
	AudioOnly bool
	// Width and Height are the picture's size in pixels [1280, 720]. The
	// recorded page is resized to it.
	Width, Height int
	// FramesPerSecond is the most frames that are taken in a second [15]. A
	// page that does not change gives fewer.
	FramesPerSecond int
	// VideoBitsPerSecond and AudioBitsPerSecond are the encoder's targets
	// [1,200,000 and 64,000].
	VideoBitsPerSecond, AudioBitsPerSecond int
	// SoundThreshold is the loudness, as root mean square of samples between
	// -1 and 1, above which the page counts as making sound [0.003, about
	// -50 dBFS].
	SoundThreshold float64
	// ChunkTimeout is how long a running recording may bring no chunk before
	// it ends with a *StallError [15 s].
	ChunkTimeout time.Duration
	// ParticipantAudio takes what each stream of the page's calls says by itself [nobody
	// does, and it is not recorded].
	ParticipantAudio ParticipantTrackSink
	// MaxParticipantTracks is how many are recorded at a time [16], and ParticipantBitsPerSecond
	// the encoder's target for one [32,000].
	MaxParticipantTracks, ParticipantBitsPerSecond int
	// Log is told what goes wrong with voices, which ends nothing [discarded].
	Log *slog.Logger
	// AllowAddress lets the browser reach the recorder's own listener where something
	// stands between them: a host and port, and only below a secret path. The
	// function it returns takes that back [nothing is in the way].
	AllowAddress func(hostPort, pathPrefix string) (withdraw func(), err error)
}

// withDefaults fills in what was left out.
func (s Settings) withDefaults() Settings {
	if s.Width == 0 || s.Height == 0 {
		s.Width, s.Height = 1280, 720
	}
	if s.FramesPerSecond == 0 {
		s.FramesPerSecond = 15
	}
	if s.VideoBitsPerSecond == 0 {
		s.VideoBitsPerSecond = 1_200_000
	}
	if s.AudioBitsPerSecond == 0 {
		s.AudioBitsPerSecond = 64_000
	}
	if s.SoundThreshold == 0 {
		s.SoundThreshold = 0.003
	}
	if s.ChunkTimeout == 0 {
		s.ChunkTimeout = 15 * time.Second
	}
	if s.MaxParticipantTracks == 0 {
		s.MaxParticipantTracks = 16
	}
	if s.ParticipantBitsPerSecond == 0 {
		s.ParticipantBitsPerSecond = 32_000
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.AllowAddress == nil {
		s.AllowAddress = func(string, string) (func(), error) { return func() {}, nil }
	}
	return s
}

// soundType is Opus in MP4.
const soundType = "audio/mp4;codecs=opus"

// mimeType is H.264 and Opus in MP4, or Opus alone: Chromium writes that
// container as a fragment for each key frame, so what was written stays playable.
func (s Settings) mimeType() string {
	if s.AudioOnly {
		return soundType
	}
	return fmt.Sprintf("video/mp4;codecs=avc1.42E0%02X,opus", s.level())
}

// level is the lowest level of H.264 that holds the picture, as its codecs
// parameter has it (ISO/IEC 14496-10, table A-1).
func (s Settings) level() int {
	const block = 16
	blocks := ((s.Width + block - 1) / block) * ((s.Height + block - 1) / block)
	for _, known := range []struct{ level, blocks, blocksPerSecond int }{
		{0x1F, 3_600, 108_000}, {0x20, 5_120, 216_000}, {0x28, 8_192, 245_760},
	} {
		if blocks <= known.blocks && blocks*s.FramesPerSecond <= known.blocksPerSecond {
			return known.level
		}
	}
	return 0x2A
}
