// Package lifecycle changes jobs. Every change goes through it, whether a
// consumer requests it, a bot reports it, or the dispatcher decides on it: one
// transaction asks the state machine, writes the timeline, and puts the
// resulting webhooks into the outbox.
//
// It does not depend on HTTP, launches no bots and sends no webhooks: it
// publishes an event for each part of the service that has to act.
package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
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
	Sender     *webhook.Sender // gets new deliveries without a claim; nil for none
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
	hub      *hub
	together together
	beats    beats
}

// New returns a Service.
func New(settings Settings) *Service {
	return &Service{Settings: settings, hub: newHub(settings.Store)}
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

	before     job.Record // as the transaction read it
	q          *store.Queries
	applied    []event.StateApplied
	emittedTo  []string           // the URL of each delivery that was created
	direct     []webhook.Delivery // of these, those that are leased to the sender of this node
	sender     *webhook.Sender    // Settings.Sender
	commands   bool               // commands were queued
	attempt    int                // before the change
	transcribe bool               // Settings.Transcribe

	consumers map[uuid.UUID]account.Consumer // that the transaction has read; nil when they are not kept
}

// Change locks the job and calls fn. It saves the job as fn leaves it, unless
// fn returns an error.
func (s *Service) Change(ctx context.Context, id uuid.UUID, fn func(*Change) error) (job.Record, error) {
	return s.change(ctx, id, nil, fn)
}

// change is like Change. It first calls prepare, which queues the queries whose
// results fn uses; nil for none.
func (s *Service) change(ctx context.Context, id uuid.UUID, prepare func(*store.Queries) error, fn func(*Change) error) (job.Record, error) {
	var c Change
	err := s.Store.Write(ctx, func(q *store.Queries) error {
		r, err := q.LockJob(ctx, id)
		if err != nil {
			return err
		}
		c = Change{Record: r, before: r, Now: s.Now(), q: q, attempt: r.Attempt, transcribe: s.Transcribe, sender: s.Sender, consumers: make(map[uuid.UUID]account.Consumer)}
		if prepare != nil {
			if err := prepare(q); err != nil {
				return err
			}
			if err := q.Flush(ctx); err != nil {
				return err
			}
		}
		if err := fn(&c); err != nil {
			return err
		}
		return c.save(ctx)
	})
	if err != nil {
		return job.Record{}, err
	}
	s.publish(c)
	return c.Record, nil
}

// save saves what has changed in the job.
func (c *Change) save(ctx context.Context) error {
	return c.q.SaveJobChanges(ctx, []store.JobChange{{Before: c.before, After: c.Record}})
}

// publish publishes the events of a committed change.
func (s *Service) publish(c Change) {
	if len(c.direct) > 0 {
		s.Sender.Send(c.direct)
	}
	if len(c.emittedTo) > len(c.direct) {
		s.Events.Publish(event.DeliveryDue{})
	}
	if c.commands || c.Attempt != c.attempt || c.Status == job.Failed {
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
	consumer, err := c.consumer(ctx)
	if err != nil {
		return fmt.Errorf("find the consumer of job %s: %w", c.ID, err)
	}
	for _, target := range webhook.Targets(c.Job, consumer.WebhookURL, e.Name) {
		err := c.insertDelivery(ctx, webhook.Delivery{
			ID:         webhook.NewDeliveryID(),
			JobID:      c.ID,
			ConsumerID: c.ConsumerID,
			URL:        target,
			Event:      e.Name,
			Sequence:   c.Sequence,
			EmittedAt:  c.Now.UTC().Truncate(time.Millisecond), // as it is stored
			Data:       data,
			Version:    consumer.WebhookVersion,
			Secrets:    store.SecretsOf(consumer),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// insertDelivery puts a delivery into the outbox. If this node's sender takes it and
// no earlier one has to be sent first, it is leased to the sender, so that no claim
// is needed.
func (c *Change) insertDelivery(ctx context.Context, d webhook.Delivery) error {
	waits := slices.Contains(c.emittedTo, d.URL)
	c.emittedTo = append(c.emittedTo, d.URL)
	if waits || c.sender == nil || !c.sender.Lease(&d) {
		return c.q.InsertDelivery(ctx, d)
	}
	return c.q.InsertLeasedDelivery(ctx, d, func() { c.direct = append(c.direct, d) })
}

// consumer returns the consumer of the job. A transaction reads each consumer once.
func (c *Change) consumer(ctx context.Context) (account.Consumer, error) {
	if consumer, known := c.consumers[c.ConsumerID]; known {
		return consumer, nil
	}
	consumer, err := c.q.Consumer(ctx, c.ConsumerID)
	if err == nil && c.consumers != nil {
		c.consumers[c.ConsumerID] = consumer
	}
	return consumer, err
}
