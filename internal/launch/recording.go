package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Recording configures how bots record. Zero values are the bot's defaults.
type Recording struct {
	Mode                  RecordingMode    `json:"mode,omitempty"`
	Picture               PictureSize      `json:"picture,omitzero"`
	FrameRate             int              `json:"frameRate,omitempty"` // maximum frames per second
	VideoBitRate          BitRate          `json:"videoBitRate,omitempty"`
	AudioBitRate          BitRate          `json:"audioBitRate,omitempty"`
	ParticipantAudio      ParticipantAudio `json:"participantAudio,omitempty"`
	ParticipantAudioLimit int              `json:"participantAudioLimit,omitempty"` // concurrent participants

	Chat             Texts  `json:"chat,omitempty"`             // keeps the chat open
	Captions         Texts  `json:"captions,omitempty"`         // turns on live captions
	CaptionsLanguage string `json:"captionsLanguage,omitempty"` // of the captions, BCP 47; empty: unknown
}

// RecordingMode selects what is recorded.
type RecordingMode string

// The recording modes.
const (
	RecordVideo RecordingMode = "video" // video and audio
	RecordAudio RecordingMode = "audio" // audio only
)

// ParticipantAudio selects whether the audio of each participant is recorded
// separately as well.
type ParticipantAudio string

// The settings of ParticipantAudio. A job's metadata overrides on and off.
const (
	ParticipantAudioOn    ParticipantAudio = "on"
	ParticipantAudioOff   ParticipantAudio = "off"
	ParticipantAudioNever ParticipantAudio = "never"
)

// Texts selects whether the texts of a kind are read all the time. A job's
// metadata overrides it.
type Texts string

// The settings of Texts.
const (
	TextsOn  Texts = "on"
	TextsOff Texts = "off"
)

// language matches a BCP 47 tag, roughly.
var language = regexp.MustCompile(`^[A-Za-z0-9]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$`)

// Check returns an error that names every setting out of range. The ranges are
// those in which software encoding keeps up and the result is usable.
func (r Recording) Check() error {
	var errs []error
	checkRange := func(name string, value, least, most int, unit string) {
		if value != 0 && (value < least || value > most) {
			errs = append(errs, fmt.Errorf("%s is %d%s; it can be %d to %d", name, value, unit, least, most))
		}
	}
	checkRange("the picture's width", r.Picture.Width, 320, 1920, " pixels")
	checkRange("the picture's height", r.Picture.Height, 180, 1080, " pixels")
	if r.Picture.Width%2 != 0 || r.Picture.Height%2 != 0 {
		errs = append(errs, fmt.Errorf("the picture size is %s; the encoder needs even numbers", r.Picture))
	}
	checkRange("the frame rate", r.FrameRate, 1, 30, " frames per second")
	checkRange("the video bit rate", int(r.VideoBitRate), 100_000, 10_000_000, " bits per second")
	checkRange("the audio bit rate", int(r.AudioBitRate), 16_000, 256_000, " bits per second")
	checkRange("the participant audio limit", r.ParticipantAudioLimit, 1, 64, "")
	if r.CaptionsLanguage != "" && !language.MatchString(r.CaptionsLanguage) {
		errs = append(errs, fmt.Errorf("the language of captions is %q; it can be a tag such as en-US", r.CaptionsLanguage))
	}
	return errors.Join(errs...)
}

// WithMetadata applies a job's metadata: recordingMode "audio" drops the video;
// participantAudio, chat and captions (booleans) override on and off; and
// captionsLanguage is the language of the captions. Other values are ignored, because metadata
// belongs to the consumer.
func (r Recording) WithMetadata(metadata json.RawMessage) Recording {
	var keys struct {
		RecordingMode    any `json:"recordingMode"`
		ParticipantAudio any `json:"participantAudio"`
		Chat             any `json:"chat"`
		Captions         any `json:"captions"`
		CaptionsLanguage any `json:"captionsLanguage"`
	}
	_ = json.Unmarshal(metadata, &keys) // invalid metadata changes nothing
	if keys.RecordingMode == string(RecordAudio) {
		r.Mode = RecordAudio
	}
	if enabled, ok := keys.ParticipantAudio.(bool); ok && r.ParticipantAudio != ParticipantAudioNever {
		r.ParticipantAudio = ParticipantAudioOff
		if enabled {
			r.ParticipantAudio = ParticipantAudioOn
		}
	}
	for setting, value := range map[*Texts]any{&r.Chat: keys.Chat, &r.Captions: keys.Captions} {
		if enabled, ok := value.(bool); ok {
			*setting = TextsOff
			if enabled {
				*setting = TextsOn
			}
		}
	}
	if tag, ok := keys.CaptionsLanguage.(string); ok && language.MatchString(tag) {
		r.CaptionsLanguage = tag
	}
	return r
}

// PictureSize is a size in pixels, written as 1280x720.
type PictureSize struct{ Width, Height int }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *PictureSize) UnmarshalText(text []byte) error {
	width, height, found := strings.Cut(string(text), "x")
	w, widthErr := strconv.ParseUint(width, 10, 16)
	h, heightErr := strconv.ParseUint(height, 10, 16)
	if !found || widthErr != nil || heightErr != nil || w == 0 || h == 0 {
		return fmt.Errorf("%q is not a picture size: give width and height in pixels, as in 1280x720", text)
	}
	*s = PictureSize{Width: int(w), Height: int(h)}
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (s PictureSize) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String returns the size in the form that UnmarshalText reads.
func (s PictureSize) String() string { return fmt.Sprintf("%dx%d", s.Width, s.Height) }

// BitRate is a number of bits per second, written as 1200000, 1200k or 1.2M.
type BitRate int

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *BitRate) UnmarshalText(text []byte) error {
	number, factor := string(text), 1.0
	if short, thousands := strings.CutSuffix(number, "k"); thousands {
		number, factor = short, 1e3
	} else if short, millions := strings.CutSuffix(number, "M"); millions {
		number, factor = short, 1e6
	}
	value, err := strconv.ParseFloat(number, 64)
	if bits := value * factor; err != nil || !(bits >= 1 && bits <= math.MaxInt32) {
		return fmt.Errorf("%q is not a bit rate: give bits per second, as in 1200000, 1200k or 1.2M", text)
	}
	*b = BitRate(math.Round(value * factor))
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (b BitRate) MarshalText() ([]byte, error) { return []byte(strconv.Itoa(int(b))), nil }
