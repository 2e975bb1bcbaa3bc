package lifecycle_test

import (
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/testing/world"
)

// TestTranscriptReady checks that job.transcript_ready is sent once, to onFinalize,
// when a transcript was attached and the consumer has enabled the event.
func TestTranscriptReady(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	h.Transcribe = true
	attached := &job.TranscriptResult{Segments: 3, Words: 40, AudioMs: 1000, Revision: 2}
	for _, test := range []struct {
		enabled bool
		result  *job.TranscriptResult
		want    int
	}{
		{false, attached, 0},
		{true, attached, 1},
		{true, &job.TranscriptResult{Failure: "the transcriber was away"}, 0},
		{true, nil, 0}, // only captions were indexed
	} {
		err := h.Store.ChangeConsumer(t.Context(), h.Caller.ConsumerID, func(c *account.Consumer) { c.TranscriptEvent = test.enabled })
		if err != nil {
			t.Fatal(err)
		}
		id := h.begun(t)
		h.ingest(t, botEvent(id, 0, 0, job.ManifestFinalized, ""))
		before := h.Record(t, id).Sequence
		claimed, ok, err := h.Store.ClaimRecordingTask(t.Context(), job.TranscriptTask, h.Caller.ConsumerID.String(), time.Now().Add(time.Minute),
			time.Now().Add(time.Hour))
		if err != nil || !ok || claimed.JobID != id {
			t.Fatalf("claimed %+v, %v (%v)", claimed, ok, err)
		}
		for i, want := range []bool{true, false} { // the lease ends with the transcription
			if valid, err := h.EndTranscription(t.Context(), id, claimed.Lease, test.result); err != nil || valid != want {
				t.Errorf("end %d of %+v: valid %v (%v)", i, test.result, valid, err)
			}
		}
		details, err := h.Details(t.Context(), []job.Job{{ID: id}})
		if has := test.result == attached; err != nil || details[id].Transcript != has || (details[id].Words == 40) != has {
			t.Errorf("details after %+v: %+v (%v)", test.result, details[id], err)
		}
		ready := eventsNamed(h.outbox(t, id), webhook.JobTranscriptReady)
		if len(ready) != test.want || h.Record(t, id).Sequence != before+int64(test.want) {
			t.Errorf("enabled %v, %+v: %d events, sequence %d after %d", test.enabled, test.result, len(ready), h.Record(t, id).Sequence, before)
		}
		for _, one := range ready {
			if one.URL != world.FinalizeURL || one.ManifestURI != h.ManifestURI(id) || one.Revision != 2 || one.Segments != 3 {
				t.Errorf("event %+v", one)
			}
		}
	}
}
