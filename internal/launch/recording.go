package launch

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"standin/internal/jobs/job"
)

// Recording configures how bots record. Zero values are the bot's defaults.
type Recording struct {
	Mode             job.RecordingMode `json:"mode,omitempty" name:"recording-mode" env:"STANDIN_RECORDING_MODE" default:"video" enum:"video,audio,none" help:"What is recorded: video (with audio), audio, or none: only who is in the meeting, who speaks, and texts. A job's option recording.mode can only record less."`
	Layout           job.Layout        `json:"layout,omitempty" name:"recording-layout" env:"STANDIN_RECORDING_LAYOUT" default:"speaker" enum:"speaker,gallery,content,page" help:"What the recorded video shows: shared content or the active speaker large (speaker), everyone in equal tiles (gallery), shared content as large as possible (content), or the meeting page as it is (page). A job's option recording.layout overrides it."`
	Picture          PictureSize       `json:"picture,omitzero" name:"picture-size" env:"STANDIN_PICTURE_SIZE" default:"1280x720" placeholder:"WIDTHxHEIGHT" help:"Size of the recorded video in pixels, 320x180 to 1920x1080, even numbers. A job's option recording.resolution overrides it."`
	FrameRate        int               `json:"frameRate,omitempty" env:"STANDIN_FRAME_RATE" default:"15" help:"Maximum frames per second, 1 to 30."`
	VideoBitRate     BitRate           `json:"videoBitRate,omitempty" env:"STANDIN_VIDEO_BITRATE" name:"video-bitrate" default:"1200k" help:"Video bits per second, 100k to 10M."`
	ParticipantAudio ParticipantAudio  `json:"participantAudio,omitempty" env:"STANDIN_PARTICIPANT_AUDIO" default:"on" enum:"on,off,never" help:"Record the audio of each participant separately as well, where the meeting's page exposes it: on, off or never. A job's option recording.participantAudio (true, false) overrides on and off."`
	Capture          job.Capture       `json:"capture,omitempty" name:"recording-capture" env:"STANDIN_RECORDING_CAPTURE" default:"tab" enum:"tab,streams" help:"What is recorded of the video: the picture of the meeting page (tab), or the video of each participant as it is received (streams), which costs much less. A job's option recording.capture overrides it."`

	Chat     Texts `json:"chat,omitempty" env:"STANDIN_CHAT" default:"off" enum:"on,off" type:"onoff" negatable:"" help:"Keep the meeting's chat open, hidden from the recording, and record its messages: on or off. A job's option chat (true, false) overrides it."`
	Captions Texts `json:"captions,omitempty" env:"STANDIN_CAPTIONS" default:"off" enum:"on,off" type:"onoff" negatable:"" help:"Turn on the platform's live captions, hidden from the recording, and record them: on or off. A job's option captions.enabled (true, false) overrides it."`

	Output        bool               `json:"output,omitempty" kong:"-"`        // the job allows the bot to be heard and seen
	OutputOptions *job.OutputOptions `json:"outputOptions,omitempty" kong:"-"` // nil: it plays and shows nothing by itself

	CaptionsLanguage string `json:"captionsLanguage,omitempty" env:"STANDIN_CAPTIONS_LANGUAGE" placeholder:"TAG" help:"Language of live captions, a BCP 47 tag such as en-US. Bots select it on Meet; elsewhere it only labels the files. A job's option captions.language overrides it. Default: unknown."`
}

// ParticipantAudio selects whether the audio of each participant is recorded
// separately as well.
type ParticipantAudio string

// The settings of ParticipantAudio. A job's options override on and off.
const (
	ParticipantAudioOn    ParticipantAudio = "on"
	ParticipantAudioOff   ParticipantAudio = "off"
	ParticipantAudioNever ParticipantAudio = "never"
)

// Texts selects whether the texts of a kind are read all the time. A job's
// options override it.
type Texts string

// The settings of Texts.
const (
	TextsOn  Texts = "on"
	TextsOff Texts = "off"
)

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
	checkRange("the video bit rate", int(r.VideoBitRate), minBitRate, maxBitRate, " bits per second")
	if r.CaptionsLanguage != "" && !job.IsLanguageTag(r.CaptionsLanguage) {
		errs = append(errs, fmt.Errorf("the language of captions is %q; it can be a tag such as en-US", r.CaptionsLanguage))
	}
	return errors.Join(errs...)
}

// WithOptions applies a job's options. A job can record less than the service's mode,
// but not more.
func (r Recording) WithOptions(options job.Options) Recording {
	if options.Recording.Mode.RecordsLess(r.Mode) {
		r.Mode = options.Recording.Mode
	}
	r.Layout, r.Capture = cmp.Or(options.Recording.Layout, r.Layout), cmp.Or(options.Recording.Capture, r.Capture)
	if picture, ok := resolutions[options.Recording.Resolution]; ok {
		before, after := cmp.Or(r.Picture.Width*r.Picture.Height, defaultPixels), picture.Width*picture.Height
		if before != after {
			rate := int64(cmp.Or(r.VideoBitRate, defaultBitRate)) * int64(after) / int64(before)
			r.VideoBitRate = BitRate(min(max(rate, minBitRate), maxBitRate))
		}
		r.Picture = picture
	}
	if enabled := options.Recording.ParticipantAudio; enabled != nil && r.ParticipantAudio != ParticipantAudioNever {
		r.ParticipantAudio = ParticipantAudioOff
		if *enabled {
			r.ParticipantAudio = ParticipantAudioOn
		}
	}
	for setting, enabled := range map[*Texts]*bool{&r.Chat: options.Chat, &r.Captions: options.Captions.Enabled} {
		if enabled == nil {
			continue
		}
		*setting = TextsOff
		if *enabled {
			*setting = TextsOn
		}
	}
	r.OutputOptions = options.Output
	r.Output = options.Output != nil || slices.ContainsFunc(options.Streams, func(s job.StreamOptions) bool { return s.Send })
	r.CaptionsLanguage = cmp.Or(options.Captions.Language, r.CaptionsLanguage)
	return r
}

// resolutions are the sizes of the resolutions that a job can choose.
var resolutions = map[job.Resolution]PictureSize{
	job.Resolution720p:  {Width: 1280, Height: 720},
	job.Resolution1080p: {Width: 1920, Height: 1080},
}

// The bot's defaults of Picture and VideoBitRate, and the range of the bit rate.
const (
	defaultPixels  = 1280 * 720
	defaultBitRate = 1_200_000
	minBitRate     = 100_000
	maxBitRate     = 10_000_000
)

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
