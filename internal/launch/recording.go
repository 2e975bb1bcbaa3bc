package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Names of the environment variables that tell a bot how to record. The first
// ones are its operator's, the last two its job's.
const (
	EnvRecordingMode         = "STANDIN_RECORDING_MODE"
	EnvPictureSize           = "STANDIN_PICTURE_SIZE"
	EnvFrameRate             = "STANDIN_FRAME_RATE"
	EnvVideoBitRate          = "STANDIN_VIDEO_BITRATE"
	EnvAudioBitRate          = "STANDIN_AUDIO_BITRATE"
	EnvParticipantAudio      = "STANDIN_PARTICIPANT_AUDIO"
	EnvParticipantAudioLimit = "STANDIN_PARTICIPANT_AUDIO_LIMIT"

	EnvWishedMode             = "STANDIN_BOT_RECORDING_MODE"
	EnvWishedParticipantAudio = "STANDIN_BOT_PARTICIPANT_AUDIO"
)

// RecordingMode is what of a meeting is recorded.
type RecordingMode string

// The modes.
const (
	RecordVideo RecordingMode = "video" // picture and sound
	RecordAudio RecordingMode = "audio" // the sound alone
)

// ParticipantAudio says whether each participant's own sound is recorded too.
type ParticipantAudio string

// The choices: for the first two a job's word goes before the operator's.
const (
	ParticipantAudioOn    ParticipantAudio = "on"
	ParticipantAudioOff   ParticipantAudio = "off"
	ParticipantAudioNever ParticipantAudio = "never"
)

// Recording is how bots record. Zero values leave a bot its defaults.
type Recording struct {
	Mode                  RecordingMode
	Picture               PictureSize
	FrameRate             int // pictures a second, at most
	VideoBitRate          BitRate
	AudioBitRate          BitRate
	ParticipantAudio      ParticipantAudio
	ParticipantAudioLimit int // participants at a time
}

// Check finds what cannot be recorded. The bounds are those within which the
// browser's encoders, which work in software, keep up and make something of use.
func (r Recording) Check() error {
	var wrong []error
	within := func(name string, value, least, most int, unit string) {
		if value != 0 && (value < least || value > most) {
			wrong = append(wrong, fmt.Errorf("%s is %d%s; it can be %d to %d", name, value, unit, least, most))
		}
	}
	within("the picture's width", r.Picture.Width, 320, 1920, " pixels")
	within("the picture's height", r.Picture.Height, 180, 1080, " pixels")
	if r.Picture.Width%2 != 0 || r.Picture.Height%2 != 0 {
		wrong = append(wrong, fmt.Errorf("the picture is %s; the encoder needs even numbers", r.Picture))
	}
	within("the frame rate", r.FrameRate, 1, 30, " a second")
	within("the picture's bit rate", int(r.VideoBitRate), 100_000, 10_000_000, " bits a second")
	within("the sound's bit rate", int(r.AudioBitRate), 16_000, 256_000, " bits a second")
	within("the limit of participants' own sound", r.ParticipantAudioLimit, 1, 64, "")
	return errors.Join(wrong...)
}

// Environment returns what is set as environment variables.
func (r Recording) Environment() []string {
	var env []string
	set := func(name, value string, is bool) {
		if is {
			env = append(env, name+"="+value)
		}
	}
	set(EnvRecordingMode, string(r.Mode), r.Mode != "")
	set(EnvPictureSize, r.Picture.String(), r.Picture != PictureSize{})
	set(EnvFrameRate, strconv.Itoa(r.FrameRate), r.FrameRate != 0)
	set(EnvVideoBitRate, r.VideoBitRate.String(), r.VideoBitRate != 0)
	set(EnvAudioBitRate, r.AudioBitRate.String(), r.AudioBitRate != 0)
	set(EnvParticipantAudio, string(r.ParticipantAudio), r.ParticipantAudio != "")
	set(EnvParticipantAudioLimit, strconv.Itoa(r.ParticipantAudioLimit), r.ParticipantAudioLimit != 0)
	return env
}

// Wishes are what a job says about its recording. Metadata is the consumer's
// own, so what does not say it in these words says nothing.
type Wishes struct {
	Mode             RecordingMode // empty: none
	ParticipantAudio string        // "true", "false" or empty
}

// ReadWishes reads them from a job's metadata.
func ReadWishes(metadata json.RawMessage) Wishes {
	var keys struct {
		RecordingMode    any `json:"recordingMode"`
		ParticipantAudio any `json:"participantAudio"`
	}
	_ = json.Unmarshal(metadata, &keys) // what is not there wishes nothing
	var wishes Wishes
	if mode, ok := keys.RecordingMode.(string); ok && (RecordingMode(mode) == RecordAudio || RecordingMode(mode) == RecordVideo) {
		wishes.Mode = RecordingMode(mode)
	}
	if wanted, ok := keys.ParticipantAudio.(bool); ok {
		wishes.ParticipantAudio = strconv.FormatBool(wanted)
	}
	return wishes
}

// environment returns the wishes as environment variables.
func (w Wishes) environment() []string {
	var env []string
	if w.Mode != "" {
		env = append(env, EnvWishedMode+"="+string(w.Mode))
	}
	if w.ParticipantAudio != "" {
		env = append(env, EnvWishedParticipantAudio+"="+w.ParticipantAudio)
	}
	return env
}

// For is how one job is recorded: a job can do without a picture that its
// operator would take, and not with one that he would not; it decides about
// participants' own sound unless he has ruled that out.
func (r Recording) For(wishes Wishes) Recording {
	if wishes.Mode == RecordAudio {
		r.Mode = RecordAudio
	}
	if r.ParticipantAudio != ParticipantAudioNever {
		switch wishes.ParticipantAudio {
		case "true":
			r.ParticipantAudio = ParticipantAudioOn
		case "false":
			r.ParticipantAudio = ParticipantAudioOff
		}
	}
	return r
}

// PictureSize is a picture's size in pixels, as people set it: 1280x720.
type PictureSize struct{ Width, Height int }

// UnmarshalText implements encoding.TextUnmarshaler, for settings.
func (s *PictureSize) UnmarshalText(text []byte) error {
	width, height, found := strings.Cut(string(text), "x")
	w, widthErr := strconv.ParseUint(width, 10, 16)
	h, heightErr := strconv.ParseUint(height, 10, 16)
	if !found || widthErr != nil || heightErr != nil || w == 0 || h == 0 {
		return fmt.Errorf("%q is no size of a picture: give width and height in pixels, as in 1280x720", text)
	}
	*s = PictureSize{Width: int(w), Height: int(h)}
	return nil
}

// String is the size as UnmarshalText reads it.
func (s PictureSize) String() string { return fmt.Sprintf("%dx%d", s.Width, s.Height) }

// BitRate is in bits a second, as people set it: 1200000, 1200k or 1.2M.
type BitRate int

// UnmarshalText implements encoding.TextUnmarshaler, for settings.
func (b *BitRate) UnmarshalText(text []byte) error {
	number, factor := string(text), 1.0
	if short, thousands := strings.CutSuffix(number, "k"); thousands {
		number, factor = short, 1e3
	} else if short, millions := strings.CutSuffix(number, "M"); millions {
		number, factor = short, 1e6
	}
	value, err := strconv.ParseFloat(number, 64)
	if bits := value * factor; err != nil || !(bits >= 1 && bits <= math.MaxInt32) {
		return fmt.Errorf("%q is no bit rate: give bits a second, as in 1200000, 1200k or 1.2M", text)
	}
	*b = BitRate(math.Round(value * factor))
	return nil
}

// String is the bit rate as UnmarshalText reads it.
func (b BitRate) String() string {
	switch {
	case b != 0 && b%1_000_000 == 0:
		return strconv.Itoa(int(b/1_000_000)) + "M"
	case b != 0 && b%1000 == 0:
		return strconv.Itoa(int(b/1000)) + "k"
	}
	return strconv.Itoa(int(b))
}
