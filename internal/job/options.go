package job

import (
	"encoding/json"
	"regexp"
)

// Options are a job's options. Nil and empty ones leave the settings of the service as
// they are.
type Options struct {
	Recording         RecordingOptions // in metadata: recordingMode and participantAudio
	Chat              *bool
	Captions          *bool
	CaptionsLanguage  string
	Transcript        *bool
	RequirePermission bool // recordingPermission
}

// Resolved returns the job's options: those of its request, or else those in its
// metadata.
func (j Job) Resolved() Options {
	options, _ := ParseOptions(j.Metadata) // the API names what is unusable
	options.Recording = j.Options.Recording.Or(options.Recording)
	return options
}

// ParseOptions reads the options in a job's metadata. The rest of it belongs to the
// consumer. unusable has a sentence for each option whose value cannot be used, which is
// ignored, but for recordingPermission: a bot that does not know asks.
func ParseOptions(metadata json.RawMessage) (o Options, unusable []string) {
	var keys struct {
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
	switch keys.RecordingMode {
	case nil:
	case "video", "audio", "none":
		o.Recording.Mode = RecordingMode(keys.RecordingMode.(string))
	default:
		unusable = append(unusable, `metadata.recordingMode is ignored: it is not "video", "audio" or "none".`)
	}
	for _, one := range []struct {
		name   string
		choice choice
		to     **bool
	}{
		{"participantAudio", keys.ParticipantAudio, &o.Recording.ParticipantAudio}, {"chat", keys.Chat, &o.Chat},
		{"captions", keys.Captions, &o.Captions}, {"transcript", keys.Transcript, &o.Transcript},
	} {
		*one.to = one.choice.value
		if one.choice.unusable {
			unusable = append(unusable, "metadata."+one.name+" is ignored: it is not true or false.")
		}
	}
	tag, isText := keys.CaptionsLanguage.(string)
	switch {
	case keys.CaptionsLanguage == nil:
	case isText && IsLanguageTag(tag):
		o.CaptionsLanguage = tag
	default:
		unusable = append(unusable, `metadata.captionsLanguage is ignored: it is not a language tag such as "en-US".`)
	}
	o.RequirePermission = keys.RecordingPermission.required
	if keys.RecordingPermission.unusable {
		unusable = append(unusable, `metadata.recordingPermission is not "required" or false, so the bot asks for permission.`)
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
	c.value, c.unusable = nil, false
	if json.Unmarshal(text, &c.value) != nil {
		c.value, c.unusable = nil, true
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
