package launch_test

import (
	"slices"
	"strings"
	"testing"

	"standin/internal/launch"
)

// TestWishes: a job says in its metadata how it is recorded; all else in there
// says nothing, whatever it is.
func TestWishes(t *testing.T) {
	t.Parallel()
	for metadata, want := range map[string]launch.Wishes{
		``:                              {},
		`{}`:                            {},
		`{"recordingMode": "audio"}`:    {Mode: launch.RecordAudio},
		`{"recordingMode": "video"}`:    {Mode: launch.RecordVideo},
		`{"recordingMode": "AUDIO"}`:    {},
		`{"recordingMode": ["audio"]}`:  {},
		`{"participantAudio": true}`:    {ParticipantAudio: "true"},
		`{"participantAudio": false}`:   {ParticipantAudio: "false"},
		`{"participantAudio": "false"}`: {},
		`{"recordingMode": 7, "participantAudio": false, "x": {}}`: {ParticipantAudio: "false"},
	} {
		if got := launch.ReadWishes([]byte(metadata)); got != want {
			t.Errorf("%s wishes %+v, want %+v", metadata, got, want)
		}
	}
}

// TestRecordingFor: a job goes below what its operator records, and above it
// only where he leaves that to it.
func TestRecordingFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		operator launch.Recording
		wishes   launch.Wishes
		want     launch.Recording
	}{
		{launch.Recording{Mode: "video", ParticipantAudio: "on"}, launch.Wishes{}, launch.Recording{Mode: "video", ParticipantAudio: "on"}},
		{launch.Recording{Mode: "video"}, launch.Wishes{Mode: "audio"}, launch.Recording{Mode: "audio"}},
		{launch.Recording{Mode: "audio"}, launch.Wishes{Mode: "video"}, launch.Recording{Mode: "audio"}},
		{launch.Recording{ParticipantAudio: "on"}, launch.Wishes{ParticipantAudio: "false"}, launch.Recording{ParticipantAudio: "off"}},
		{launch.Recording{ParticipantAudio: "off"}, launch.Wishes{ParticipantAudio: "true"}, launch.Recording{ParticipantAudio: "on"}},
		{launch.Recording{ParticipantAudio: "never"}, launch.Wishes{ParticipantAudio: "true"}, launch.Recording{ParticipantAudio: "never"}},
	} {
		if got := c.operator.For(c.wishes); got != c.want {
			t.Errorf("%+v for %+v is %+v, want %+v", c.operator, c.wishes, got, c.want)
		}
	}
}

// TestRecordingSettings are read as they are written, and held to their bounds.
func TestRecordingSettings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]launch.BitRate{"1200000": 1_200_000, "1200k": 1_200_000, "1.2M": 1_200_000, "64k": 64_000, "17": 17} {
		var got launch.BitRate
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %d, %v", text, got, err)
		}
		var again launch.BitRate
		if err := again.UnmarshalText([]byte(got.String())); err != nil || again != got {
			t.Errorf("%s reads as %d, %v", got, again, err)
		}
	}
	for _, text := range []string{"", "k", "-1", "0", "1G", "NaN", "Inf", "1e99", "1 M"} {
		if err := new(launch.BitRate).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q passes for a bit rate", text)
		}
	}
	for _, text := range []string{"", "1280", "1280x", "x720", "1280X720", "-1x5", "0x0", "99999999x1"} {
		if err := new(launch.PictureSize).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q passes for a size", text)
		}
	}
	if err := (launch.Recording{}).Check(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	wrong := launch.Recording{
		Picture: launch.PictureSize{Width: 99, Height: 5000}, FrameRate: -1, VideoBitRate: 1, AudioBitRate: 1 << 30, ParticipantAudioLimit: 1000,
	}
	if err := wrong.Check(); err == nil || strings.Count(err.Error(), "\n") != 6 {
		t.Errorf("of seven faults it is told: %v", err)
	}
	setup := launch.BotSettings{Recording: launch.Recording{Mode: "audio", Picture: launch.PictureSize{Width: 640, Height: 360}, VideoBitRate: 1500}}
	if env := setup.Environment(); !slices.Contains(env, "STANDIN_PICTURE_SIZE=640x360") || !slices.Contains(env, "STANDIN_RECORDING_MODE=audio") ||
		slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "STANDIN_FRAME_RATE") }) {
		t.Errorf("the environment is %q", env)
	}
}
