package job

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// Options are a job's options: those of its request, or with those in its metadata. Empty
// ones leave the settings of the consumer, or else of the service, as they are.
type Options struct {
	Title       string            `json:"title,omitempty"`
	StartBefore Timestamp         `json:"startBefore,omitzero"` // the latest start of a first bot; the end of a calendar event
	Recording   RecordingOptions  `json:"recording,omitzero"`
	Captions    TextOptions       `json:"captions,omitzero"`
	Chat        *bool             `json:"chat,omitempty"`
	Transcript  TranscriptOptions `json:"transcript,omitzero"`
	Consent     ConsentOptions    `json:"consent,omitzero"`
	Streams     []StreamOptions   `json:"streams,omitempty"`
	Output      *OutputOptions    `json:"output,omitempty"`
	SignIn      SignIn            `json:"signIn,omitempty"`
	Account     string            `json:"account,omitempty"`  // ID, label or group of accounts
	Simulate    *Simulation       `json:"simulate,omitempty"` // of test jobs
}

// SignIn is when a bot signs in to the platform with an account.
type SignIn string

// When bots sign in.
const (
	SignInNever      SignIn = "never"
	SignInIfRequired SignIn = "ifRequired" // if an account is on the invitation, or a guest is refused
	SignInAlways     SignIn = "always"
)

// TextOptions are the options of captions.
type TextOptions struct {
	Enabled  *bool  `json:"enabled,omitempty"`
	Language string `json:"language,omitempty"` // BCP 47
}

// TranscriptOptions are the options of transcripts.
type TranscriptOptions struct {
	Enabled  *bool    `json:"enabled,omitempty"`
	Language string   `json:"language,omitempty"` // BCP 47
	Live     *bool    `json:"live,omitempty"`     // while the meeting runs
	Keyterms []string `json:"keyterms,omitempty"` // words and names that are likely
}

// ConsentOptions are the options of asking for permission to record.
type ConsentOptions struct {
	Required *bool `json:"required,omitempty"`
}

// Simulation is what happens to the bot of a test job (docs/test-mode.md).
type Simulation struct {
	Outcome    string   `json:"outcome,omitempty"`
	Seconds    *float64 `json:"seconds,omitempty"`
	Speed      *float64 `json:"speed,omitempty"`
	Permission string   `json:"permission,omitempty"`
}

// Or returns the options with those of other in place of the empty ones.
func (o Options) Or(other Options) Options { return or(o, other) }

// or returns options with the fields of other in place of the empty ones, also in options below them.
func or[T any](options, other T) T {
	var fill func(to, from reflect.Value)
	fill = func(to, from reflect.Value) {
		for i := range to.NumField() {
			field := to.Field(i)
			_, isTime := field.Interface().(Timestamp)
			switch {
			case field.IsZero():
				field.Set(from.Field(i))
			case field.Kind() == reflect.Struct && !isTime:
				fill(field, from.Field(i))
			}
		}
	}
	fill(reflect.ValueOf(&options).Elem(), reflect.ValueOf(other))
	return options
}

// StartsInTime reports whether a bot that joins at a time starts before StartBefore, if that
// is set.
func (o Options) StartsInTime(joinAt time.Time) bool {
	return o.StartBefore.IsZero() || joinAt.Before(o.StartBefore.Time())
}

// Resolved returns the job's options: those of its request, or else those in its
// metadata.
func (j Job) Resolved() Options {
	options, _ := parseOptions(j.Metadata, j.Options) // the API names what is unusable
	return j.Options.Or(options)
}

// UnusableMetadata returns a sentence for each option in the job's metadata whose value
// cannot be used. It is ignored, but for recordingPermission: a bot that does not know
// asks.
func (j Job) UnusableMetadata() []string {
	_, unusable := parseOptions(j.Metadata, j.Options)
	return unusable
}

// parseOptions reads the options in a job's metadata. The rest of it belongs to the
// consumer. unusable is without the keys that the options of the request replace.
func parseOptions(metadata json.RawMessage, request Options) (o Options, unusable []string) {
	var keys struct {
		Title               any        `json:"title"`
		RecordingMode       any        `json:"recordingMode"`
		ParticipantAudio    choice     `json:"participantAudio"`
		Chat                choice     `json:"chat"`
		Captions            choice     `json:"captions"`
		CaptionsLanguage    any        `json:"captionsLanguage"`
		Transcript          choice     `json:"transcript"`
		RecordingPermission permission `json:"recordingPermission"`
	}
	if json.Unmarshal(metadata, &keys) != nil {
		return Options{}, nil // another shape has no options
	}
	o.Title, _ = keys.Title.(string)
	complain := func(replaced bool, sentence string) {
		if !replaced {
			unusable = append(unusable, sentence)
		}
	}
	switch keys.RecordingMode {
	case nil:
	case "video", "audio", "none":
		o.Recording.Mode = RecordingMode(keys.RecordingMode.(string))
	default:
		complain(request.Recording.Mode != "", `metadata.recordingMode is ignored: it is not "video", "audio" or "none".`)
	}
	for _, one := range []struct {
		name      string
		choice    choice
		to        **bool
		requested *bool
	}{
		{"participantAudio", keys.ParticipantAudio, &o.Recording.ParticipantAudio, request.Recording.ParticipantAudio},
		{"chat", keys.Chat, &o.Chat, request.Chat},
		{"captions", keys.Captions, &o.Captions.Enabled, request.Captions.Enabled},
		{"transcript", keys.Transcript, &o.Transcript.Enabled, request.Transcript.Enabled},
	} {
		*one.to = one.choice.value
		if one.choice.unusable {
			complain(one.requested != nil, "metadata."+one.name+" is ignored: it is not true or false.")
		}
	}
	tag, isText := keys.CaptionsLanguage.(string)
	switch {
	case keys.CaptionsLanguage == nil:
	case isText && IsLanguageTag(tag):
		o.Captions.Language = tag
	default:
		complain(request.Captions.Language != "", `metadata.captionsLanguage is ignored: it is not a language tag such as "en-US".`)
	}
	if keys.RecordingPermission.required {
		o.Consent.Required = &keys.RecordingPermission.required
	}
	if keys.RecordingPermission.unusable {
		complain(request.Consent.Required != nil, `metadata.recordingPermission is not "required" or false, so the bot asks for permission.`)
	}
	return o, unusable
}

// choice is a key that is true or false. Null leaves it open.
type choice struct {
	value    *bool
	unusable bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *choice) UnmarshalJSON(text []byte) error {
	*c = choice{}
	if json.Unmarshal(text, &c.value) != nil {
		*c = choice{unusable: true}
	}
	return nil
}

// permission is the key recordingPermission. One of several spellings of the key, such
// as RecordingPermission, is enough to require it.
type permission struct{ required, unusable bool }

// UnmarshalJSON implements json.Unmarshaler.
func (p *permission) UnmarshalJSON(text []byte) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	switch value {
	case false:
	case "required", true:
		p.required = true
	default:
		p.required, p.unusable = true, true
	}
	return nil
}

// IsLanguageTag reports whether a text has the form of a BCP 47 tag, roughly.
func IsLanguageTag(text string) bool { return languageTag.MatchString(text) }

var languageTag = regexp.MustCompile(`^[A-Za-z0-9]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$`)

// Title returns the title of the meeting, as the request for the job or the metadata have
// it: title, or the subject of a calendar invite. It is empty without one.
func (j Job) Title() string {
	if j.Options.Title != "" {
		return j.Options.Title
	}
	var keys struct{ Title, Subject any }
	_ = json.Unmarshal(j.Metadata, &keys) // another shape has no title
	for _, value := range []any{keys.Title, keys.Subject} {
		if text, _ := value.(string); strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}
