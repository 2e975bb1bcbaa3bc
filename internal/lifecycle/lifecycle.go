// Package lifecycle changes jobs. Every change goes through it, whether a
// consumer requests it, a bot reports it, or the dispatcher decides on it: one
// transaction asks the state machine, writes the timeline, and puts the
// resulting webhooks into the outbox.
//
// It does not depend on HTTP, launches no bots and sends no webhooks: after the
// commit it publishes an event for each part of the service that has to act.
package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/batch"
	"standin/internal/event"
	"standin/internal/job"
	"standin/internal/store"
	"standin/internal/webhook"
)

// Finalizer writes the manifests of recordings that bots uploaded.
type Finalizer interface {
	// WriteManifest writes and stores the manifest of a job whose bot reports
	// that its recording is complete. It may be repeated.
	WriteManifest(ctx context.Context, r job.Record) error
	// HasMedia reports whether a bot of the job uploaded anything usable.
	HasMedia(ctx context.Context, jobID uuid.UUID) (bool, error)
}

// Settings configure a Service.
type Settings struct {
	Store      *store.Store
	Finalizer  Finalizer
	Recordings Recordings
	BaseURL    string // where manifests are fetched; without a trailing slash
	Events     *event.Publisher
	// ManifestPrefixes are URLs below which bots may store manifests, in addition to
	// BaseURL.
	ManifestPrefixes []string
	Now              func() time.Time

	Transcribe bool // recordings are transcribed once they are finalized

	BotTokenLifetime time.Duration // how long a bot's token works after its job has ended; DefaultBotTokenLifetime when 0
	UploadBytes      int64         // quota of a job's uploads in bytes; derived from its maximum duration when 0
	RecordingBitRate int64         // of all tracks of a recording together, for the derived quota; DefaultRecordingBitRate when 0
}

// Service changes jobs. Its methods may be called from any goroutine.
type Service struct {
	Settings
	hub        *hub
	heartbeats *batch.Batcher[*heartbeat]
}

// New starts a Service, which Close stops.
func New(settings Settings) *Service {
	s := &Service{Settings: settings, hub: newHub(settings.Store)}
	s.heartbeats = batch.New(maxHeartbeats, heartbeatInterval, s.recordHeartbeats)
	return s
}

// Close records the heartbeats that wait, and stops the Service. The Store must still
// be open.
func (s *Service) Close() {
	s.heartbeats.Close()
	s.hub.close()
}

// ManifestURI returns where the consumer fetches a job's manifest.
func (s *Service) ManifestURI(id uuid.UUID) string {
	return s.BaseURL + "/api/v1/jobs/" + id.String() + "/manifest"
}

// NotifyCommand answers the waiting heartbeats of a job for which another node
// has queued a command.
func (s *Service) NotifyCommand(id uuid.UUID) { s.hub.notify(id) }

// Change is a job that is locked for change within one transaction.
type Change struct {
	job.Record
	Now time.Time

	service  *Service
	tx       *store.Tx
	before   job.Record // as the transaction read it
	applied  []event.StateApplied
	emitted  bool              // deliveries were created
	commands bool              // commands were queued
	consumer *account.Consumer // of the job; nil before it is needed
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
	s.publish(c)
	return c.Record, nil
}

// publish publishes the events of a committed change.
func (s *Service) publish(c *Change) {
	if c.emitted {
		s.Events.Publish(event.DeliveryDue{})
	}
	if c.commands || c.Attempt != c.before.Attempt || c.Status == job.Failed {
		s.hub.notify(c.ID) // a bot is to leave that was replaced, or whose job has failed
	}
	if c.commands {
		s.Events.Publish(event.CommandQueued{JobID: c.ID})
	}
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
	switch result.To {
	case job.Failed:
		return result, c.Emit(ctx, webhook.Failed(c.Job))
	case job.Completed:
		return result, c.Emit(ctx, webhook.Finalized(c.Job))
	}
	return result, nil
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

// Emit puts a webhook event into the outbox, once for each URL it goes to. The
// event counts in the job's sequence even when it goes to no URL.
func (c *Change) Emit(ctx context.Context, e webhook.Event) error {
	c.Sequence++
	data, err := e.Data(c.Sequence)
	if err != nil {
		return err
	}
	if c.consumer == nil {
		consumer, err := c.tx.Consumer(ctx, c.ConsumerID)
		if err != nil {
			return fmt.Errorf("find the consumer of job %s: %w", c.ID, err)
		}
		c.consumer = &consumer
	}
	for _, target := range webhook.Targets(c.Job, c.consumer.WebhookURL, e.Name) {
		c.emitted = true
		err := c.tx.InsertDelivery(ctx, webhook.Delivery{
			ID:         webhook.NewDeliveryID(),
			JobID:      c.ID,
			ConsumerID: c.ConsumerID,
			URL:        target,
			Event:      e.Name,
			Sequence:   c.Sequence,
			EmittedAt:  c.Now,
			Data:       data,
			Version:    c.consumer.WebhookVersion,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
