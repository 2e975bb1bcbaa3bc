package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/jobfiles"
	"standin/internal/recording"
	"standin/internal/recording/build"
	"standin/internal/store"
)

// Recordings gives the dispatcher access to what bots uploaded.
type Recordings interface {
	// HasMedia reports whether a bot of the job uploaded anything usable.
	HasMedia(ctx context.Context, jobID uuid.UUID) (bool, error)
	// Salvage finalizes what the job's bots uploaded and stores the manifest.
	// It reports its progress. It returns ErrNoMedia when nothing is usable.
	Salvage(ctx context.Context, r job.Record, detail string, progress func(Progress) error) error
	// CleanUp deletes what is no longer needed of a job that has ended, of whose
	// bots none runs.
	CleanUp(ctx context.Context, r job.Record) error
}

// ErrNoMedia is the error of a salvage that found nothing usable.
var ErrNoMedia = errors.New("nothing usable was recorded")

// Progress is the progress of a salvage.
type Progress struct {
	Stage       build.Stage
	Done, Total int64 // bytes, while build.Storing
}

// Finalizer finalizes the recordings of jobs: it adds what the service knows
// about a job to what its bots uploaded. It implements Recordings and
// lifecycle.Finalizer.
type Finalizer struct {
	Store    *store.Store
	Finisher *build.Finisher
	Files    jobfiles.Files

	locks sync.Map // by job: a channel that is closed when the lock is released
}

// WriteManifest writes and stores the manifest of a job whose bot reports that
// its recording is complete.
func (f *Finalizer) WriteManifest(ctx context.Context, r job.Record) error {
	unlock, err := f.lock(ctx, r.ID)
	if err != nil {
		return err
	}
	defer unlock()
	facts, err := f.facts(ctx, r)
	if err != nil {
		return err
	}
	manifest, err := f.Finisher.Finish(ctx, facts)
	if err != nil {
		return err
	}
	return f.summarize(ctx, r.ID, manifest)
}

// summarize saves the summary of a manifest. What was stored of a recording that was deleted
// meanwhile is deleted.
func (f *Finalizer) summarize(ctx context.Context, id uuid.UUID, m recording.Manifest) error {
	deleted := false
	err := f.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.LockJob(ctx, id)
		if deleted = !r.RecordingDeletedAt.IsZero(); err != nil || deleted {
			return err
		}
		return tx.ChangeSummary(ctx, id, m.Summarize)
	})
	if err == nil && deleted {
		err = f.Files.DeleteRecording(ctx, id)
	}
	return err
}

// HasMedia implements Recordings.
func (f *Finalizer) HasMedia(ctx context.Context, jobID uuid.UUID) (bool, error) {
	if err := f.storeLeftovers(ctx, jobID); err != nil {
		return false, err
	}
	return f.Finisher.HasMedia(ctx, jobID)
}

// Salvage implements Recordings.
func (f *Finalizer) Salvage(ctx context.Context, r job.Record, detail string, progress func(Progress) error) error {
	unlock, err := f.lock(ctx, r.ID)
	if err != nil {
		return err
	}
	defer unlock()
	if err := f.storeLeftovers(ctx, r.ID); err != nil {
		return err
	}
	facts, err := f.facts(ctx, r)
	if err != nil {
		return err
	}
	facts.EndDetail = detail
	reason := "bot_lost"
	if r.Status == job.Cancelled {
		reason = "cancelled"
	}
	var last Progress
	var failed error // of progress, after which nothing is reported
	manifest, err := f.Finisher.FinishWithoutBot(ctx, facts, reason, func(stage build.Stage, done, total int64) {
		now := Progress{Stage: build.Packing}
		if stage == build.Storing {
			now = Progress{Stage: build.Storing, Done: done, Total: total}
		}
		step := func(p Progress) int64 { return p.Done * progressSteps / max(1, p.Total) }
		if failed == nil && (now.Stage != last.Stage || step(now) != step(last)) {
			last, failed = now, progress(now)
		}
	})
	if errors.As(err, new(*build.NothingSavedError)) {
		return ErrNoMedia
	}
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	return f.summarize(ctx, r.ID, manifest)
}

// CleanUp implements Recordings.
func (f *Finalizer) CleanUp(ctx context.Context, r job.Record) error {
	if !r.RecordingDeletedAt.IsZero() {
		return f.Files.DeleteRecording(ctx, r.ID) // the deletion left the folder of a bot that was still running
	}
	return f.Files.DeleteUploads(ctx, r.ID)
}

// storeLeftovers stores what bots that have ended had not uploaded.
func (f *Finalizer) storeLeftovers(ctx context.Context, jobID uuid.UUID) error {
	spools, err := f.Files.Spools(jobID)
	if err != nil {
		return err
	}
	for _, spool := range spools {
		if err := f.Files.ImportLeftover(ctx, jobID, spool); err != nil {
			return err
		}
	}
	return nil
}

// facts collects what the service knows about a job for its manifest.
func (f *Finalizer) facts(ctx context.Context, r job.Record) (build.ManifestInput, error) {
	facts := build.ManifestInput{Job: r.Job}
	entries, err := f.Store.Timeline(ctx, r.ID)
	var requests []ingest.QueuedCommand
	if err == nil {
		requests, err = f.Store.CommandsOfKind(ctx, r.ID, ingest.RequestRecordingPermission)
	}
	if err == nil {
		facts.Texts, err = f.Store.Texts(ctx, r.ID)
	}
	if err != nil {
		return facts, err
	}
	facts.Consents = consents(requests, entries)
	for _, e := range entries {
		if e.Source != job.SourceBot || e.Reason == job.StaleAttempt {
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

// consents returns the outcome of each permission request of a job's consumer.
// An answer belongs to the request whose commandId it carries, else to the
// oldest earlier request without an answer. Other answers are left out.
func consents(requests []ingest.QueuedCommand, entries []job.TimelineEntry) []recording.Consent {
	all := make([]recording.Consent, len(requests))
	for i, request := range requests {
		all[i] = recording.Consent{
			CommandID:   request.ID.String(),
			RequestedAt: recording.Instant{Time: request.CreatedAt},
		}
	}
	for _, e := range entries {
		if e.Source != job.SourceBot || e.Kind != job.BotPermissionResponse || e.Reason == job.Duplicate {
			continue
		}
		var answer struct {
			CommandID string `json:"commandId"`
		}
		_ = json.Unmarshal(e.Data, &answer) // data has any form; without the field no request is named
		i := slices.IndexFunc(all, func(c recording.Consent) bool { return c.CommandID == answer.CommandID })
		if i < 0 {
			i = slices.IndexFunc(all, func(c recording.Consent) bool {
				return c.Outcome == "" && !c.RequestedAt.After(e.ReceivedAt)
			})
		}
		if i < 0 || all[i].Outcome != "" {
			continue
		}
		// An answer that names no outcome, or contradicts itself, is a denial, as in the webhook.
		all[i].Outcome, all[i].RespondedAt = recording.ConsentDenied, recording.Instant{Time: e.EmittedAt}
		switch data := ingest.ParseEventData(e.Data); {
		case data.Consented():
			all[i].Outcome = recording.ConsentGranted
		case data.Outcome == string(recording.ConsentTimeout):
			all[i].Outcome = recording.ConsentTimeout
		}
	}
	return all
}

// progressSteps is how often the storing of a recording is reported: each
// report is an entry on the timeline.
const progressSteps = 10

// lock waits until nobody holds the job's lock, and returns its unlock. The error is that
// of ctx.
func (f *Finalizer) lock(ctx context.Context, id uuid.UUID) (unlock func(), err error) {
	done := make(chan struct{})
	for {
		other, held := f.locks.LoadOrStore(id, done)
		if !held {
			return func() {
				f.locks.Delete(id)
				close(done)
			}, nil
		}
		select {
		case <-other.(chan struct{}):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
