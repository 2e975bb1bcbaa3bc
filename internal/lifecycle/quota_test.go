package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"standin/internal/ingest"
	"standin/internal/job"
)

// TestBotTokenAfterJobEnd checks that a bot's token is valid for 24 hours after its
// job ended.
func TestBotTokenAfterJobEnd(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.newJob(t)
	h.setStatus(t, id, job.Failed)
	ended := h.record(t, id).StatusSince
	for after, expired := range map[time.Duration]bool{24*time.Hour - time.Second: false, 24*time.Hour + time.Second: true} {
		s := h.serviceAt(t, func() time.Time { return ended.Add(after) })
		_, eventErr := s.Ingest(t.Context(), botEvent(id, 0, 1, job.BotExited, ""))
		_, beatErr := s.Heartbeat(t.Context(), ingest.Heartbeat{JobID: id.String()}, 0)
		for name, err := range map[string]error{"event": eventErr, "heartbeat": beatErr, "upload": s.AdmitUpload(t.Context(), id)} {
			if job.ErrorIs(err, job.Unauthorized) != expired {
				t.Errorf("%s after %s: %v", name, after, err)
			}
		}
	}
}

// TestEventQuota checks that beyond a job's quota only events that end its attempt are
// accepted.
func TestEventQuota(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.newJob(t)
	h.begin(t, id)
	data := `{"x":"` + strings.Repeat("x", 1<<20) + `"}`
	accepted := 0
	for n := range 20 {
		_, err := h.Ingest(t.Context(), botEvent(id, 0, n, job.BotJoined, data))
		if err == nil {
			accepted++
		} else if !job.ErrorIs(err, job.OverQuota) {
			t.Fatal(err)
		}
	}
	if r := h.record(t, id); r.BotEvents != accepted || r.BotEventBytes != int64(accepted*len(data)) {
		t.Errorf("%d events with %d bytes are counted, want %d with %d", r.BotEvents, r.BotEventBytes, accepted, accepted*len(data))
	}
	if accepted != 7 {
		t.Errorf("%d events of 1 MiB were accepted, want 7", accepted)
	}
	if _, err := h.Ingest(t.Context(), botEvent(id, 0, 21, job.BotExited, "")); err != nil {
		t.Errorf("event that ends the attempt: %v", err)
	}
}

// TestUploadQuota checks that the default quota allows a recording of the job's
// maximum duration, in segments and as finished files.
func TestUploadQuota(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.newJob(t)
	quota, err := h.UploadQuota(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	seconds := int64(h.record(t, id).AutoLeave.AfterMaxSeconds)
	if least := 2 * seconds * (1_200_000 + 64_000) / 8; quota.Bytes < least || quota.Bytes > 100<<30 {
		t.Errorf("%d bytes for %d seconds", quota.Bytes, seconds)
	}
	if int64(quota.Files) < 2*seconds {
		t.Errorf("%d files for %d seconds", quota.Files, seconds)
	}
}
