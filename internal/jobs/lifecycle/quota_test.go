package lifecycle_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
)

// TestBotTokenAfterJobEnd checks that a bot's token is valid for 24 hours after its
// job ended.
func TestBotTokenAfterJobEnd(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.newJob(t)
	h.setStatus(t, id, job.Failed)
	ended := h.Record(t, id).StatusSince
	for after, expired := range map[time.Duration]bool{24*time.Hour - time.Second: false, 24*time.Hour + time.Second: true} {
		s := h.NewService(t, func() time.Time { return ended.Add(after) })
		_, eventErr := s.Ingest(t.Context(), ingest.Simulated(id, 0), botEvent(id, 0, 1, job.BotExited, ""))
		_, beatErr := s.Heartbeat(t.Context(), ingest.Simulated(id, 0), ingest.Heartbeat{}, 0)
		_, uploadErr := s.AdmitUpload(t.Context(), ingest.Simulated(id, 0))
		for name, err := range map[string]error{"event": eventErr, "heartbeat": beatErr, "upload": uploadErr} {
			if job.ErrorIs(err, job.Unauthorized) != expired {
				t.Errorf("%s after %s: %v", name, after, err)
			}
		}
	}
}

// The quota of the events of a job's bots.
const (
	maxEvents     = 20_000
	maxEventBytes = 8 << 20
)

// setEvents sets the number and bytes of the events that count as reported by the bots
// of a job.
func (h *harness) setEvents(t *testing.T, id uuid.UUID, events int, bytes int64) {
	t.Helper()
	h.Update(t, id, func(_ context.Context, c *lifecycle.Change) error {
		c.BotEvents, c.BotEventBytes = events, bytes
		return nil
	})
}

// TestEventQuota checks that beyond a job's quota only events that end its attempt are
// accepted.
func TestEventQuota(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	const data = `{"x":"yz"}`
	for name, before := range map[string]struct {
		events int
		bytes  int64
	}{
		"number": {maxEvents - 1, 0},
		"bytes":  {0, maxEventBytes - int64(len(data))},
	} {
		id := h.begun(t)
		h.setEvents(t, id, before.events, before.bytes)
		h.ingest(t, botEvent(id, 0, 0, job.BotJoined, data))
		if _, err := h.Ingest(t.Context(), ingest.Simulated(id, 0), botEvent(id, 0, 1, job.BotInMeeting, data)); !job.ErrorIs(err,
			job.OverQuota) {
			t.Errorf("%s: an event beyond the quota: %v", name, err)
		}
		if r := h.Record(t, id); r.BotEvents != before.events+1 || r.BotEventBytes != before.bytes+int64(len(data)) {
			t.Errorf("%s: %d events with %d bytes are counted", name, r.BotEvents, r.BotEventBytes)
		}
		h.ingest(t, botEvent(id, 0, 2, job.BotExited, data))
	}
}

// TestUploadQuota checks that the default quota allows a recording of the job's
// maximum duration, in segments and as finished files.
func TestUploadQuota(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.newJob(t)
	quota, err := h.AdmitUpload(t.Context(), ingest.Simulated(id, 0))
	if err != nil {
		t.Fatal(err)
	}
	seconds := int64(h.Record(t, id).AutoLeave.AfterMaxSeconds)
	if least := 2 * seconds * (1_200_000 + 64_000) / 8; quota.Bytes < least || quota.Bytes > 100<<30 {
		t.Errorf("%d bytes for %d seconds", quota.Bytes, seconds)
	}
	if int64(quota.Files) < 2*seconds {
		t.Errorf("%d files for %d seconds", quota.Files, seconds)
	}
}
