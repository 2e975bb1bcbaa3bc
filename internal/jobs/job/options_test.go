package job_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"standin/internal/jobs/job"
)

// TestOptionsInMetadata uses metadata of every shape, because consumers may store any JSON
// in it. An option that is nearly right is named, and consent fails closed.
func TestOptionsInMetadata(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	ask := job.Options{Consent: job.ConsentOptions{Required: &yes}}
	for _, test := range []struct {
		metadata string
		want     job.Options
		unusable string // names of the options, separated by spaces
	}{
		{``, job.Options{}, ""}, {`null`, job.Options{}, ""}, {`[1]`, job.Options{}, ""}, {`{}`, job.Options{}, ""},
		{`{"customer": {"captions": 1, "recordingPermission": "required"}}`, job.Options{}, ""},
		{`{"recordingMode": "audio", "participantAudio": false, "chat": true, "captions": true, "captionsLanguage": "de-DE", "transcript": false}`,
			job.Options{
				Recording: job.RecordingOptions{Mode: job.RecordAudio, ParticipantAudio: &no}, Chat: &yes,
				Captions: job.TextOptions{Enabled: &yes, Language: "de-DE"}, Transcript: job.TranscriptOptions{Enabled: &no},
			}, ""},
		{`{"recordingMode": "video", "captions": null, "captionsLanguage": null}`, job.Options{
			Recording: job.RecordingOptions{Mode: job.RecordVideo},
		}, ""},
		{`{"recordingMode": "Audio", "captions": "true", "chat": 1}`, job.Options{}, "recordingMode chat captions"},
		{`{"recordingMode": ["audio"], "participantAudio": {}, "transcript": "no", "captions": true}`, job.Options{
			Captions: job.TextOptions{Enabled: &yes},
		}, "recordingMode participantAudio transcript"},
		{`{"captionsLanguage": "German, please"}`, job.Options{}, "captionsLanguage"},
		{`{"captionsLanguage": 7}`, job.Options{}, "captionsLanguage"},
		{`{"recordingPermission": "required"}`, ask, ""},
		{`{"recordingPermission": true}`, ask, ""},
		{`{"recordingPermission": false}`, job.Options{}, ""},
		{`{"recordingPermission": "Required"}`, ask, "recordingPermission"},
		{`{"recordingPermission": "no"}`, ask, "recordingPermission"},
		{`{"recordingPermission": null}`, ask, "recordingPermission"},
		{`{"recordingPermission": {"required": false}}`, ask, "recordingPermission"},
		{`{"recordingPermission": []}`, ask, "recordingPermission"},
		{`{"recordingPermission": "required", "RecordingPermission": false}`, ask, ""},
		{`{"recordingpermission": "yes"}`, ask, "recordingPermission"},
	} {
		j := job.Job{Metadata: json.RawMessage(test.metadata)}
		got, unusable := j.Resolved(), j.UnusableMetadata()
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v, want %+v", test.metadata, got, test.want)
		}
		var names []string
		for _, sentence := range unusable {
			name, _, _ := strings.Cut(strings.TrimPrefix(sentence, "metadata."), " ")
			names = append(names, name)
		}
		if strings.Join(names, " ") != test.unusable {
			t.Errorf("%s: unusable %q, want %s", test.metadata, unusable, test.unusable)
		}
	}
}
