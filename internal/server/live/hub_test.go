package live_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/server/live"
)

// source is a database with one job, which is recording. It blocks when it is
// stuck.
type source struct {
	reads atomic.Int64 // of the job
	stuck atomic.Bool
}

func (s *source) Job(ctx context.Context, id uuid.UUID) (job.Record, error) {
	s.reads.Add(1)
	if s.stuck.Load() {
		<-ctx.Done()
		return job.Record{}, ctx.Err()
	}
	return job.Record{Job: job.Job{ID: id}}, nil
}

func (s *source) ListTimeline(context.Context, uuid.UUID, uuid.UUID, int) ([]job.TimelineEntry, bool, error) {
	return nil, false, nil
}

func (s *source) TextsAfter(context.Context, uuid.UUID, int64, int) ([]job.MeetingText, bool, error) {
	return nil, false, nil
}

// TestHubRun checks that a job is read while it has listeners, once for all of
// them, and that Run ends all reads before it returns.
func TestHubRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		database := new(source)
		hub := live.NewHub(database, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		running := make(chan struct{})
		go func() {
			defer close(running)
			hub.Run(ctx)
		}()
		id := uuid.New()
		feed, leave := hub.Join(id)
		same, leaveToo := hub.Join(id)
		synctest.Wait()
		if status, _ := feed.Status(); !status.Ready || same != feed || database.reads.Load() != 1 {
			t.Errorf("status %+v after %d reads", status, database.reads.Load())
		}
		leave()
		hub.Wake(id)
		synctest.Wait()
		if got := database.reads.Load(); got != 2 {
			t.Errorf("%d reads after a change, want 2", got)
		}
		leaveToo()
		<-time.After(time.Hour) // of the fake clock
		if got := database.reads.Load(); got != 2 {
			t.Errorf("%d reads, although nobody listens", got)
		}
		database.stuck.Store(true)
		stuck, leaveStuck := hub.Join(id)
		synctest.Wait()
		stop()
		<-running
		if status, _ := stuck.Status(); status.Ready {
			t.Error("a feed is ready, although nothing was read")
		}
		leaveStuck()
		_, leaveLate := hub.Join(uuid.New())
		leaveLate()
	})
}
