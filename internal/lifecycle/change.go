package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/event"
	"standin/internal/job"
	"standin/internal/store"
	"standin/internal/webhook"
)

// Change is a job that is locked for change within one transaction.
type Change struct {
	job.Record
	Now time.Time

	service  *Service
	tx       *store.Tx
	before   job.Record // as the transaction read it
	applied  []event.StateApplied
	emitted  bool        // deliveries were created
	commands bool        // commands were queued
	played   []uuid.UUID // commands whose output is no longer needed
	owner    *jobOwner   // of the job; nil before it is needed
}

// jobOwner is the consumer of a job, and the endpoints that the consumer has registered.
type jobOwner struct {
	account.Consumer
	endpoints []webhook.Endpoint
}

// newChange returns the change of a job that the transaction has locked.
func (s *Service) newChange(tx *store.Tx, r job.Record) *Change {
	return &Change{Record: r, before: r, Now: s.Now(), service: s, tx: tx}
}

// Change locks the job and calls fn. It saves the job as fn leaves it, unless fn
// returns an error, and after the commit wakes whoever has to act. fn may be called
// more than once.
func (s *Service) Change(ctx context.Context, id uuid.UUID, fn func(context.Context, *Change) error) (job.Record, error) {
	var c *Change
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.LockJob(ctx, id)
		if err != nil {
			return err
		}
		c = s.newChange(tx, r)
		if err := fn(ctx, c); err != nil {
			return err
		}
		return tx.SaveJob(ctx, c.Record)
	})
	if err != nil {
		return job.Record{}, err
	}
	s.publish(ctx, c)
	return c.Record, nil
}

// publish publishes the events of a committed change.
func (s *Service) publish(ctx context.Context, c *Change) {
	if c.emitted {
		s.Events.Publish(event.DeliveryDue{})
	}
	if c.commands || c.Attempt != c.before.Attempt || c.Status == job.Failed {
		s.hub.notify(c.ID) // a bot is to leave that was replaced, or whose job has failed
	}
	if c.commands {
		s.Events.Publish(event.CommandQueued{JobID: c.ID})
	}
	s.deleteOutput(ctx, c.ID, c.played)
	for _, applied := range c.applied {
		applied.Job = c.Record
		s.Events.Publish(applied)
	}
	if !c.WakeAt.IsZero() {
		s.Events.Publish(jobDue(c.Record))
	}
}

// jobDue returns the event of a job that has been created or changed.
func jobDue(r job.Record) event.JobDue {
	return event.JobDue{At: r.WakeAt, Waiting: !r.Status.Dispatched()}
}

// Apply gives an event to the state machine and saves what follows from it: the
// new state, a timeline entry, the webhooks. data is part of the entry and may
// be nil.
func (c *Change) Apply(ctx context.Context, e job.Event, source job.Source, emittedAt time.Time, data json.RawMessage) (job.Result, error) {
	e.At = c.Now
	state, result := c.State.Apply(e)
	attached := state.ManifestURI != c.ManifestURI
	c.State = state
	if result.Changed() {
		c.StatusSince = c.Now
	}
	if result.Applied {
		c.applied = append(c.applied, event.StateApplied{Trigger: e.Trigger, Result: result, Data: data})
	}
	if err := c.addEventEntry(ctx, e, result, source, emittedAt, data); err != nil {
		return result, err
	}
	if err := c.countUsage(ctx, result, attached); err != nil {
		return result, err
	}
	if result.Applied && e.Trigger == job.ManifestFinalized {
		if err := c.queueTranscription(ctx); err != nil {
			return result, err
		}
	}
	if !result.Changed() {
		return result, nil
	}
	if err := c.Emit(ctx, webhook.StatusChanged(c.Job, result.From, result.To)); err != nil {
		return result, err
	}
	if result.To.Terminal() {
		if err := c.settleCommands(ctx); err != nil {
			return result, err
		}
		if err := c.tx.DeleteScreenshot(ctx, c.ID); err != nil {
			return result, err
		}
	}
	switch result.To {
	case job.Failed:
		if err := c.tx.ChangeSummary(ctx, c.ID, func(s *job.Summary) { s.FailedIn = result.From }); err != nil {
			return result, err
		}
		return result, c.Emit(ctx, webhook.Failed(c.Job))
	case job.Completed:
		return result, c.Emit(ctx, webhook.Finalized(c.Job))
	}
	return result, nil
}

// countUsage adds what an event says about the job to the usage of its consumer: that its bots have
// left the meeting, that it has ended, and what was recorded.
func (c *Change) countUsage(ctx context.Context, result job.Result, attached bool) error {
	var usage job.Usage
	if result.Changed() {
		usage = job.UsageOf(result.From, result.To, c.StartedAt, c.Now)
	}
	if attached {
		progress, err := c.tx.Progress(ctx, []uuid.UUID{c.ID})
		if err != nil {
			return err
		}
		summary := progress[c.ID].Summary
		usage.StoredBytes = summary.Bytes
		if summary.MediaURI != "" {
			usage.Recorded = time.Duration(summary.DurationMs) * time.Millisecond
		}
	}
	if usage == (job.Usage{}) {
		return nil
	}
	return c.tx.AddUsage(ctx, c.ConsumerID, c.Mode, c.Now, usage)
}

// ApplyFromService applies an event that the service itself decided on.
func (c *Change) ApplyFromService(ctx context.Context, e job.Event, data any) (job.Result, error) {
	e.Attempt = c.Attempt
	encoded, err := encodeData(data)
	if err != nil {
		return job.Result{}, err
	}
	return c.Apply(ctx, e, job.SourceService, c.Now, encoded)
}

// Emit puts a webhook event into the outbox, once for each URL it goes to: those of the job,
// and the endpoints that take it. The event counts in the job's sequence even when it goes to
// no URL.
func (c *Change) Emit(ctx context.Context, e webhook.Event) error {
	owner, err := c.readOwner(ctx)
	if err != nil {
		return err
	}
	targets := webhook.Targets(c.Job, owner.WebhookURL, e.Name)
	return c.deliver(ctx, e, owner, webhook.Takers(targets, owner.endpoints, e.Name))
}

// emitOptional emits an event to the URLs of the job only if the consumer has enabled it.
// Otherwise, an event that no endpoint takes does not count in the job's sequence.
func (c *Change) emitOptional(ctx context.Context, e webhook.Event, enabled func(account.Consumer) bool) error {
	owner, err := c.readOwner(ctx)
	if err != nil {
		return err
	}
	if enabled(owner.Consumer) {
		return c.Emit(ctx, e)
	}
	return c.emitToEndpoints(ctx, e)
}

// emitToEndpoints emits an event to the endpoints that take it. Without any it does not count
// in the job's sequence.
func (c *Change) emitToEndpoints(ctx context.Context, e webhook.Event) error {
	owner, err := c.readOwner(ctx)
	if err != nil {
		return err
	}
	targets := webhook.Takers(nil, owner.endpoints, e.Name)
	if len(targets) == 0 {
		return nil
	}
	return c.deliver(ctx, e, owner, targets)
}

// deliver counts an event and puts it into the outbox.
func (c *Change) deliver(ctx context.Context, e webhook.Event, owner *jobOwner, targets []webhook.Target) error {
	c.Sequence++
	c.emitted = c.emitted || len(targets) > 0
	return webhook.Insert(ctx, c.tx, webhook.Delivery{
		JobID: c.ID, ConsumerID: c.ConsumerID, Mode: c.Mode, Sequence: c.Sequence, EmittedAt: c.Now, Version: owner.WebhookVersion,
	}, e, targets)
}

// Consumer returns the consumer of the job.
func (c *Change) Consumer(ctx context.Context) (account.Consumer, error) {
	owner, err := c.readOwner(ctx)
	if err != nil {
		return account.Consumer{}, err
	}
	return owner.Consumer, nil
}

// readOwner returns the owner of the job, which it reads once.
func (c *Change) readOwner(ctx context.Context) (*jobOwner, error) {
	if c.owner == nil {
		consumer, endpoints, err := c.tx.ConsumerWithEndpoints(ctx, c.ConsumerID, c.Mode)
		if err != nil {
			return nil, fmt.Errorf("find the consumer of job %s: %w", c.ID, err)
		}
		c.owner = &jobOwner{consumer, endpoints}
	}
	return c.owner, nil
}

// The kinds of timeline entries beside the triggers of the state machine.
const (
	CommandQueued    job.Trigger = "command_queued"     // data: commandId, command
	CommandDone      job.Trigger = "command_done"       // data: commandId, command
	CommandFailed    job.Trigger = "command_failed"     // data: commandId, command, reason
	JobChanged       job.Trigger = "job_changed"        // data: by, changed (names of fields), joinAt if it changed
	InviteTimePassed job.Trigger = "invite_time_passed" // data: joinAt, lateMs (when the invite arrived)
	RecordingDeleted job.Trigger = "recording_deleted"  // data: by
	BotLaunched      job.Trigger = "bot_launched"       // data: node, lateMs (after joinAt; of a first attempt)
	LaunchFailed     job.Trigger = "launch_failed"      // data: node, detail
	MediaStored      job.Trigger = "media_stored"       // data: bytesDone, bytesTotal; while a recording is uploaded or finalized

	StreamConnected    job.Trigger = "stream_connected"    // data: stream, host
	StreamDisconnected job.Trigger = "stream_disconnected" // data: stream, host, reason
	StreamFailed       job.Trigger = "stream_failed"       // data: stream, host, reason

	TranscriptRequested job.Trigger = "transcript_requested" // data: model, language, keyterms that were given
	TranscriptRetrying  job.Trigger = "transcript_retrying"  // data: detail, retryAt; after the first failure in a row
	TranscriptAttached  job.Trigger = "transcript_attached"  // data: segments, audioMs, partial
	TranscriptFailed    job.Trigger = "transcript_failed"    // data: detail

	LiveTranscriptFailed job.Trigger = "live_transcript_failed" // data: detail; after the first failure in a row
	LiveTranscriptEnded  job.Trigger = "live_transcript_ended"  // data: complete, model, fromMs, toMs, lostMs, failures
)

// Who changes a job beside its bot and the dispatcher, as the timeline names
// them.
const (
	byConsumer  = "consumer"
	byInvite    = "calendar invite"
	byRetention = "retention"
)

// MediaStored records how much of a recording is in storage.
func (c *Change) MediaStored(ctx context.Context, done, total int64) error {
	return c.addEntry(ctx, MediaStored, map[string]int64{"bytesDone": done, "bytesTotal": total})
}

// addEntry adds a timeline entry that is not an event of the state machine.
func (c *Change) addEntry(ctx context.Context, kind job.Trigger, data any) error {
	encoded, err := encodeData(data)
	if err != nil {
		return err
	}
	result := job.Result{Applied: true, From: c.Status, To: c.Status}
	return c.addEventEntry(ctx, job.Event{Trigger: kind}, result, job.SourceService, c.Now, encoded)
}

// addEventEntry adds the timeline entry of an event.
func (c *Change) addEventEntry(ctx context.Context, e job.Event, result job.Result, source job.Source, emittedAt time.Time,
	data json.RawMessage) error {
	attempt := e.Attempt
	switch source {
	case job.SourceService:
		attempt = c.Attempt // after the event
	case job.SourceBot:
		c.BotEvents++
		c.BotEventBytes += int64(len(data))
	}
	return c.tx.InsertEntry(ctx, job.TimelineEntry{
		ID:         uuid.Must(uuid.NewV7()),
		JobID:      c.ID,
		Attempt:    attempt,
		Source:     source,
		Kind:       e.Trigger,
		EmittedAt:  emittedAt,
		ReceivedAt: c.Now,
		Applied:    result.Applied,
		Reason:     result.Reason,
		From:       result.From,
		To:         result.To,
		Data:       data,
	})
}

// encodeData encodes the data of a timeline entry, or the arguments of a
// command; nil is none.
func encodeData(data any) (json.RawMessage, error) {
	if data == nil {
		return nil, nil
	}
	encoded, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("encode data: %w", err)
	}
	return encoded, nil
}
