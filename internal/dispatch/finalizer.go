package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/store"
)

// FinishedRecordings ties the finishing of recordings to the jobs that they
// belong to: it adds what the service knows of a job to what its bots
// uploaded.
type Finalizer struct {
	Store    *store.Store
	Finisher *recording.Finisher
	// Leftovers finds the folders of a job's bots that are gone from this
	// machine; nil where bots run elsewhere.
	Leftovers func(jobID uuid.UUID) []recording.LeftoverSpool

	turns turns
}

// FromBot makes and stores the manifest of a job whose bot says that the
// recording is complete (lifecycle.Manifests).
func (f *Finalizer) WriteManifest(ctx context.Context, r job.Record) error {
	defer f.turns.take(r.ID)()
	facts, err := f.facts(ctx, r)
	if err != nil {
		return err
	}
	_, err = f.Finisher.Finish(ctx, facts)
	return err
}

// Saved implements Recordings.
func (f *Finalizer) HasMedia(ctx context.Context, jobID uuid.UUID) (bool, error) {
	if err := f.takeLeftovers(ctx, jobID); err != nil {
		return false, err
	}
	return f.Finisher.HasMedia(ctx, jobID)
}

// takeLeftovers stores what bots that are gone had not uploaded.
func (f *Finalizer) takeLeftovers(ctx context.Context, jobID uuid.UUID) error {
	if f.Leftovers == nil {
		return nil
	}
	for _, left := range f.Leftovers(jobID) {
		if err := f.Finisher.Storage.ImportLeftover(ctx, jobID, left); err != nil {
			return err
		}
	}
	return nil
}

// Salvage implements Recordings.
func (f *Finalizer) Salvage(ctx context.Context, r job.Record, detail string, progress func(Progress) error) error {
	defer f.turns.take(r.ID)()
	if err := f.takeLeftovers(ctx, r.ID); err != nil {
		return err
	}
	facts, err := f.facts(ctx, r)
	if err != nil {
		return err
	}
	facts.EndDetail = detail
	teller := &teller{tell: progress}
	_, err = f.Finisher.Salvage(ctx, facts, endReason(r), teller.hear)
	if nothing := new(recording.NothingSavedError); errors.As(err, &nothing) {
		return ErrNoMedia
	}
	return errors.Join(err, teller.failed)
}

// told is how often the storing of a recording is told of on its way: each
// time is a line on the timeline.
const told = 10

// teller passes on the progress of finishing as far as it is worth telling:
// each stage, and each tenth of the bytes that are stored.
type teller struct {
	tell   func(Progress) error
	last   Progress
	failed error // the first that telling gave
}

func (t *teller) hear(stage recording.Stage, done, total int64) {
	now := Progress{Stage: Packing}
	if stage == recording.Storing {
		now = Progress{Stage: Storing, Done: done, Total: total}
	}
	tenth := func(p Progress) int64 { return p.Done * told / max(1, p.Total) }
	if t.failed != nil || now.Stage == t.last.Stage && tenth(now) == tenth(t.last) {
		return
	}
	t.last, t.failed = now, t.tell(now)
}

// endReason is why a meeting ended for a bot that cannot say it any more.
func endReason(r job.Record) string {
	if r.Status == job.Cancelled {
		return "cancelled"
	}
	return "bot_lost"
}

// Clean implements Recordings.
func (f *Finalizer) DeleteUploads(ctx context.Context, jobID uuid.UUID) error {
	return f.Finisher.Storage.DeleteUploads(ctx, jobID)
}

// facts gathers what the service knows of a job for its manifest.
func (f *Finalizer) facts(ctx context.Context, r job.Record) (recording.ManifestInput, error) {
	entries, err := f.Store.Timeline(ctx, r.ID)
	if err != nil {
		return recording.ManifestInput{}, fmt.Errorf("gather what is known of the job: %w", err)
	}
	requests, err := f.Store.CommandsOfKind(ctx, r.ID, ingest.RequestRecordingPermission)
	if err != nil {
		return recording.ManifestInput{}, fmt.Errorf("gather what is known of the job: %w", err)
	}
	facts := recording.ManifestInput{Job: r.Job, Consents: consents(requests, entries)}
	for _, e := range entries {
		if e.Source != job.SourceBot {
			continue
		}
		switch at := (recording.Instant{Time: e.EmittedAt}); e.Kind {
		case job.BotJoined:
			facts.ObservedTimeline.JoinedAt = at
		case job.BotInMeeting:
			facts.ObservedTimeline.AdmittedAt = at
		case job.BotRecordingStarted:
			if facts.ObservedTimeline.RecordingStartedAt.IsZero() {
				facts.ObservedTimeline.RecordingStartedAt = at
			}
		case job.BotRecordingStopped:
			facts.ObservedTimeline.RecordingStoppedAt = at
		case job.BotExited:
			facts.ObservedTimeline.LeftAt = at
			data := ingest.ParseEventData(e.Data)
			facts.EndReason, facts.EndDetail = data.EndReason, data.Detail
		}
	}
	return facts, nil
}

// turns lets one goroutine at a time finish a job's recording.
type turns struct {
	mu    sync.Mutex
	taken map[uuid.UUID]chan struct{}
}

// take waits for the job's turn and returns what ends it.
func (t *turns) take(id uuid.UUID) (end func()) {
	for {
		t.mu.Lock()
		if t.taken == nil {
			t.taken = make(map[uuid.UUID]chan struct{})
		}
		running, busy := t.taken[id]
		if !busy {
			done := make(chan struct{})
			t.taken[id] = done
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				delete(t.taken, id)
				t.mu.Unlock()
				close(done)
			}
		}
		t.mu.Unlock()
		<-running
	}
}
