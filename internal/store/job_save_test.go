package store_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"standin/internal/job"
	"standin/internal/store"
)

// TestSaveJobChanges changes one field of nine jobs after the other, saves them
// together and reads them back. SQLite saves eight of them in one statement.
func TestSaveJobChanges(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s).ID
		jobs := make([]job.Record, 9)
		for i := range jobs {
			jobs[i] = newJob(consumer)
		}
		insert(t, s, jobs...)
		for i := range jobs {
			jobs[i].Stats = json.RawMessage{} // as it is read
		}
		minutes := 0
		later := func() time.Time { minutes++; return now.Add(time.Duration(minutes) * time.Minute) }
		for i, change := range []func(*job.Record){
			func(r *job.Record) { r.JoinAt = later() },
			func(r *job.Record) { r.Status, r.PreviousStatus = job.RecordingPaused, job.PermissionRequested },
			func(r *job.Record) { r.StatusSince = later() },
			func(r *job.Record) { r.Attempts = 3 },
			func(r *job.Record) { r.Attempt = 2 },
			func(r *job.Record) { r.StartedAt = later() },
			func(r *job.Record) { r.FinalizedAt = later() },
			func(r *job.Record) { r.ManifestURI = "https://a.test/m" },
			func(r *job.Record) { r.FailureCode, r.FailureDetail = job.NetworkLoss, "why \x00 \\" },
			func(r *job.Record) { r.Sequence = 17 },
			func(r *job.Record) { r.WakeAt = later() },
			func(r *job.Record) { r.Lease = "lease" },
			func(r *job.Record) { r.AttemptStartedAt = later() },
			func(r *job.Record) { r.LaunchedAt = later() },
			func(r *job.Record) { r.LaunchFailures, r.LaunchError = 4, "no browser" },
			func(r *job.Record) { r.HeartbeatAt = later() },
			func(r *job.Record) { r.Stats = json.RawMessage(`{"bytesRecorded":1}`) },
			func(r *job.Record) { r.RecordingDeletedAt, r.RecordingDeletedBy = later(), "consumer" },
			func(r *job.Record) { r.RecordingErasedAt = later() },
			func(r *job.Record) { r.Node, r.Prelaunch = "node", job.Prelaunched },
			func(r *job.Record) { r.BotEvents, r.BotEventBytes = 2, 30 },
			func(r *job.Record) { r.Lease, r.Sequence = "", 18 },
		} {
			var changes []store.JobChange
			for j := range jobs {
				before := jobs[j]
				change(&jobs[j])
				changes = append(changes, store.JobChange{Before: before, After: jobs[j]})
			}
			if err := s.Write(t.Context(), func(q *store.Queries) error { return q.SaveJobChanges(t.Context(), changes) }); err != nil {
				t.Fatalf("change %d: %v", i, err)
			}
			for _, want := range jobs {
				if got, err := s.Job(t.Context(), want.ID); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("change %d: %v\ngot  %+v\nwant %+v", i, err, got, want)
				}
			}
		}
		for _, existing := range [][]job.Record{jobs[:1], jobs[:7]} {
			changes := []store.JobChange{{Before: jobs[0], After: newJob(consumer)}}
			for _, r := range existing {
				changes = append(changes, store.JobChange{Before: r, After: r})
			}
			if s.Write(t.Context(), func(q *store.Queries) error { return q.SaveJobChanges(t.Context(), changes) }) == nil {
				t.Errorf("a job was saved that does not exist, with %d others", len(existing))
			}
		}
	})
}
