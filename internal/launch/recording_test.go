package launch_test

import (
	"strings"
	"testing"

	"standin/internal/jobs/job"
	"standin/internal/launch"
)

// TestRecordingWithOptions: a job can drop the video, choose the layout and, unless the
// operator rules it out, participant audio.
func TestRecordingWithOptions(t *testing.T) {
	t.Parallel()
	type recording = launch.Recording
	for _, c := range []struct {
		operator recording
		metadata string
		want     recording
	}{
		{recording{Mode: "video", ParticipantAudio: "on"}, ``, recording{Mode: "video", ParticipantAudio: "on"}},
		{recording{Mode: "video", ParticipantAudio: "on"}, `{}`, recording{Mode: "video", ParticipantAudio: "on"}},
		{recording{Mode: "video"}, `{"recordingMode": "audio"}`, recording{Mode: "audio"}},
		{recording{Mode: "audio"}, `{"recordingMode": "video"}`, recording{Mode: "audio"}},
		{recording{Mode: "video"}, `{"recordingMode": "AUDIO"}`, recording{Mode: "video"}},
		{recording{Mode: "video"}, `{"recordingMode": ["audio"]}`, recording{Mode: "video"}},
		{recording{ParticipantAudio: "on"}, `{"participantAudio": false}`, recording{ParticipantAudio: "off"}},
		{recording{ParticipantAudio: "off"}, `{"participantAudio": true}`, recording{ParticipantAudio: "on"}},
		{recording{ParticipantAudio: "never"}, `{"participantAudio": true}`, recording{ParticipantAudio: "never"}},
		{recording{ParticipantAudio: "on"}, `{"participantAudio": "false"}`, recording{ParticipantAudio: "on"}},
		{recording{ParticipantAudio: "on"}, `{"recordingMode": 7, "participantAudio": false, "x": {}}`, recording{ParticipantAudio: "off"}},
	} {
		if got := c.operator.WithOptions(job.Job{Metadata: []byte(c.metadata)}.Resolved()); got != c.want {
			t.Errorf("%+v with %s is %+v, want %+v", c.operator, c.metadata, got, c.want)
		}
	}
}

// TestRecordingOptionsWin: the options of a request win over those in metadata.
func TestRecordingOptionsWin(t *testing.T) {
	t.Parallel()
	no := false
	j := job.Job{
		Metadata: []byte(`{"recordingMode": "video", "participantAudio": true}`),
		Options:  job.Options{Recording: job.RecordingOptions{Mode: job.RecordAudio, Layout: job.LayoutGallery, ParticipantAudio: &no}},
	}
	got := launch.Recording{Mode: "video", Layout: "speaker", ParticipantAudio: "on"}.WithOptions(j.Resolved())
	if want := (launch.Recording{Mode: "audio", Layout: "gallery", ParticipantAudio: "off"}); got != want {
		t.Errorf("the settings are %+v, want %+v", got, want)
	}
}

// TestResolution: a job's resolution changes the size of the video, and the bit rate in
// proportion, within its range.
func TestResolution(t *testing.T) {
	t.Parallel()
	type recording = launch.Recording
	small, hd, full := launch.PictureSize{Width: 640, Height: 360}, launch.PictureSize{Width: 1280, Height: 720},
		launch.PictureSize{Width: 1920, Height: 1080}
	for _, c := range []struct {
		operator   recording
		resolution job.Resolution
		want       recording
	}{
		{recording{Picture: hd, VideoBitRate: 1_200_000}, job.Resolution1080p, recording{Picture: full, VideoBitRate: 2_700_000}},
		{recording{}, job.Resolution1080p, recording{Picture: full, VideoBitRate: 2_700_000}},
		{recording{Picture: full, VideoBitRate: 9_000_000}, job.Resolution720p, recording{Picture: hd, VideoBitRate: 4_000_000}},
		{recording{Picture: small, VideoBitRate: 2_000_000}, job.Resolution1080p, recording{Picture: full, VideoBitRate: 10_000_000}},
		{recording{Picture: hd, VideoBitRate: 700_000}, job.Resolution720p, recording{Picture: hd, VideoBitRate: 700_000}},
		{recording{Picture: small, VideoBitRate: 300_000}, "", recording{Picture: small, VideoBitRate: 300_000}},
	} {
		got := c.operator.WithOptions(job.Options{Recording: job.RecordingOptions{Resolution: c.resolution}})
		if got != c.want || got.Check() != nil {
			t.Errorf("%+v with %q is %+v (%v), want %+v", c.operator, c.resolution, got, got.Check(), c.want)
		}
	}
}

// TestRecordingSettings: invalid texts and values out of range are refused.
func TestRecordingSettings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]launch.BitRate{"1200000": 1_200_000, "1200k": 1_200_000, "1.2M": 1_200_000, "64k": 64_000, "17": 17} {
		var got launch.BitRate
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %d, %v", text, got, err)
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
		Picture: launch.PictureSize{Width: 99, Height: 5000}, FrameRate: -1, VideoBitRate: 1,
	}
	if err := wrong.Check(); err == nil || strings.Count(err.Error(), "\n") != 4 {
		t.Errorf("the error does not name all five settings: %v", err)
	}
}
