package httpapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/recording"
	"standin/internal/testing/await"
)

// testTimeout bounds how long tests wait for an event.
const testTimeout = 10 * time.Second

// logged waits for a number of lines in the log, and decodes them.
func (s *surface) logged(t *testing.T, count int) (lines []map[string]any) {
	t.Helper()
	await.Until(t, "lines in the log", func() bool { return strings.Count(s.log.String(), "\n") >= count })
	for text := range strings.Lines(s.log.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("read the log line %s: %v", text, err)
		}
		lines = append(lines, line)
	}
	return lines
}

// checksum returns the checksum header of an upload.
func checksum(text string) map[string]string {
	return map[string]string{ingest.ChecksumHeader: sumOf(text)}
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// storeRecording stores a recording of Ada's job: a manifest with two videos, of
// which only one is stored.
func (s *surface) storeRecording(video string) {
	s.t.Helper()
	if err := s.storage.PutMedia(s.t.Context(), adasJob, "recording.mp4", strings.NewReader(video), sumOf(video)); err != nil {
		s.t.Fatalf("store the video: %v", err)
	}
	file := func(name string) recording.Media {
		return recording.Media{
			File: recording.File{
				Name: name, Kind: recording.Video, ContentType: "video/mp4", SHA256: sumOf(video), Bytes: int64(len(video)),
			},
			URI: "https://standin.example.com/api/v1/jobs/" + adasJob.String() + "/media/" + name,
		}
	}
	manifest := recording.Manifest{
		SchemaVersion: 1, JobID: adasJob.String(), ExternalID: "done", Platform: "meet",
		MeetingURL: "https://meet.google.com/abc-defg-hij", Metadata: []byte(`{}`),
		End:  recording.End{Reason: recording.EndUnknown},
		Gaps: []recording.Gap{}, MediaFaults: []recording.MediaFault{}, SpeechSource: recording.SpeechUnknown,
		Media: []recording.Media{file("recording.mp4"), file("lost.mp4")},

		Participants: []recording.Participant{}, Speech: []recording.Speech{}, Consent: []recording.Consent{},
	}
	if err := s.storage.PutManifest(s.t.Context(), adasJob, manifest); err != nil {
		s.t.Fatalf("store the manifest: %v", err)
	}
}
