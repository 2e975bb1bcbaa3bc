package dispatch_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
)

// TestManifestTimeline checks that the manifest of a bot without a report is built
// from the events that the service received, but not from those of a bot that was replaced.
func TestManifestTimeline(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewJob(t).ID
	for range 2 {
		h.Update(t, id, func(ctx context.Context, c *lifecycle.Change) error {
			_, err := c.StartAttempt(ctx, "", "", "")
			return err
		})
	}
	began := h.clock.Now()
	for i, step := range []struct {
		kind job.Trigger
		data string
	}{
		{job.BotJoined, ""}, {job.BotInMeeting, ""}, {job.BotRecordingStarted, ""}, {job.BotRecordingPaused, ""}, {job.BotRecordingStarted, ""},
		{job.BotRecordingStopped, ""}, {job.BotExited, `{"endReason":"host_ended","detail":"The call ended."}`}, {job.ManifestFinalized, ""},
	} {
		h.clock.Set(began.Add(time.Duration(i) * time.Second))
		h.sendEvent(t, id, 1, step.kind, step.data)
		late := ingest.Event{Kind: step.kind, EmittedAt: began.Add(time.Hour), Data: json.RawMessage(`{"endReason":"removed"}`)}
		if answer, err := h.Ingest(t.Context(), ingest.Simulated(id, 0), late); err != nil || answer.Applied {
			t.Fatalf("%s of the replaced bot: %+v, %v", step.kind, answer, err)
		}
	}
	m := h.manifest(t, id)
	for what, got := range map[string][2]time.Time{
		"joined":            {m.Timeline.JoinedAt.Time, began},
		"admitted":          {m.Timeline.AdmittedAt.Time, began.Add(time.Second)},
		"recording started": {m.Timeline.RecordingStartedAt.Time, began.Add(2 * time.Second)},
		"recording stopped": {m.Timeline.RecordingStoppedAt.Time, began.Add(5 * time.Second)},
		"left":              {m.Timeline.LeftAt.Time, began.Add(6 * time.Second)},
	} {
		if !got[0].Equal(got[1]) {
			t.Errorf("%s at %s, want %s", what, got[0], got[1])
		}
	}
	if m.End.Reason != "host_ended" || m.End.Detail == nil || *m.End.Detail != "The call ended." {
		t.Errorf("end %+v", m.End)
	}
}

// TestFinalizerRunsOncePerJob checks that concurrent reports of a complete
// recording produce one manifest and complete the job once.
func TestFinalizerRunsOncePerJob(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.run(t)
	id := h.launched(t)
	r := h.Record(t, id)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if err := h.Finalizer.WriteManifest(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if m := h.manifest(t, id); m.JobID != id.String() {
		t.Errorf("the manifest: %+v", m)
	}
}
