package job_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// FuzzViewJSON checks that AppendJSON returns the same as encoding/json.
func FuzzViewJSON(f *testing.F) {
	f.Add("id-7", "https://meet.google.com/abc?a=1&b=<2>", "no one \u2028 came", []byte(`{"a": [1, "<&>"]}`), int64(1_700_000_000_123), int64(0), 3, true)
	f.Add("\xff\xfe\x00\"\\\t\u007f", "", "", []byte(nil), int64(-62135596800000), int64(1), -1, false)
	f.Add("日本", "x", "\xed\xa0\x80", []byte(`{"a"`), int64(253402300800000), int64(-1), 0, true)
	f.Add("", "", "", []byte("null "), int64(0), int64(1), 0, false)
	f.Fuzz(func(t *testing.T, text, address, detail string, metadata []byte, at, ended int64, number int, set bool) {
		j := job.Job{
			ID: uuid.NewSHA1(uuid.Nil, metadata), ExternalID: text, MeetingURL: address, Platform: job.Platform(text),
			JoinAt: time.UnixMilli(at), CreatedAt: time.UnixMilli(ended).In(time.FixedZone("", 3600)), Metadata: metadata,
			AutoLeave: job.AutoLeave{AfterEntryDelaySeconds: number, AfterSilenceSeconds: -number, AfterMaxSeconds: 1, OnBotDetected: set},
		}
		j.Attempts, j.ManifestURI, j.FailureCode, j.FailureDetail = number, detail, job.FailureCode(address), detail
		if set {
			j.Status, j.StartedAt = job.Failed, time.UnixMilli(at)
		}
		if ended != 0 {
			j.FinalizedAt = time.UnixMilli(ended)
		}
		view := job.NewView(j)
		if number < 0 {
			view.Metadata = nil
		}
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		wantErr := encoder.Encode(view)
		got, err := view.AppendJSON([]byte("before"))
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("AppendJSON: %v, encoding/json: %v", err, wantErr)
		}
		if err == nil && string(got) != "before"+string(bytes.TrimSuffix(want.Bytes(), []byte("\n"))) {
			t.Errorf("AppendJSON:\n%s\nencoding/json:\n%s", got, want.Bytes())
		}
	})
}
