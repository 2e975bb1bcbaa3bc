// Package lifecycle moves jobs. Every change of a job goes through it, be it
// asked for by a consumer, reported by a bot or decided by the dispatcher: it
// asks the state machine, writes the timeline, and puts the webhooks that
// follow into the outbox, all in one transaction.
//
// It does not know HTTP, launches nothing and sends nothing: it wakes those
// who do.
package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store"
	"standin/internal/webhook"
)

// Manifests makes manifests from what bots uploaded.
type Finalizer interface {
	// FromBot makes and stores the manifest of a job whose bot says that the
	// recording is complete. Doing it again is harmless.
	WriteManifest(ctx context.Context, r job.Record) error
	// Saved reports whether a bot of the job uploaded anything usable.
	HasMedia(ctx context.Context, jobID uuid.UUID) (bool, error)
}

// Service moves jobs. Its methods may be called from any goroutine.
type Service struct {
	store      *store.Store
	finalizer  Finalizer
	recordings Recordings
	baseURL    string
	now        func() time.Time
	hub        *hub
	wakeJobs   func()
	wakeHooks  func()
	moved      func(Move)
	told       func(uuid.UUID)
}

// Settings are what a Service is made of.
type Settings struct {
	Store      *store.Store
	Finalizer  Finalizer
	Recordings Recordings
	BaseURL    string // where manifests are fetched; no slash at its end
	Now        func() time.Time
	WakeJobs   func() // called when a job may have become due
	WakeHooks  func() // called when the outbox has something new

	Moved func(Move)      // called after a change that an event made was kept; may be nil
	Told  func(uuid.UUID) // called with a job that got a command, so that other nodes hear of it; may be nil
}

// Move is an event that was applied to a job.
type Move struct {
	Job     job.Record // as it is then
	Trigger job.Trigger
	Result  job.Result
	Data    json.RawMessage // of the event
}

// New returns a Service.
func New(settings Settings) *Service {
	return &Service{
		store:      settings.Store,
		finalizer:  settings.Finalizer,
		recordings: settings.Recordings,
		baseURL:    settings.BaseURL,
		now:        settings.Now,
		hub:        newHub(),
		wakeJobs:   settings.WakeJobs,
		wakeHooks:  settings.WakeHooks,
		moved:      settings.Moved,
		told:       settings.Told,
	}
}

// ManifestURI is where the consumer fetches a job's manifest.
func (s *Service) ManifestURI(id uuid.UUID) string {
	return s.baseURL + "/api/v1/jobs/" + id.String() + "/manifest"
}

// Change is a job held for change within one transaction.
type Change struct {
	job.Record
	Now time.Time

	q     *store.Queries
	moves []Move
	hooks bool // something was put into the outbox
	told  bool // a command was queued
}

// Change locks the job and runs fn on it. What fn made of the job is kept
// when it returns nil.
func (s *Service) Change(ctx context.Context, id uuid.UUID, fn func(*Change) error) (job.Record, error) {
	var done Change
	err := s.store.Write(ctx, func(q *store.Queries) error {
		r, err := q.LockJob(ctx, id)
		if err != nil {
			return err
		}
		done = Change{Record: r, Now: s.now(), q: q}
		if err := fn(&done); err != nil {
			return err
		}
		return q.SaveJob(ctx, done.Record)
	})
	if err != nil {
		return job.Record{}, err
	}
	s.announce(done)
	return done.Record, nil
}

// announce wakes those whom a kept change concerns.
func (s *Service) announce(done Change) {
	if done.hooks {
		s.wakeHooks()
	}
	if done.told {
		s.hub.notify(done.ID)
		if s.told != nil {
			s.told(done.ID)
		}
	}
	if s.moved != nil {
		for _, move := range done.moves {
			move.Job = done.Record
			s.moved(move)
		}
	}
	if !done.WakeAt.IsZero() {
		s.wakeJobs()
	}
}

// Hear tells held heartbeats of a job that another node has queued a command
// for it.
func (s *Service) NotifyCommand(id uuid.UUID) { s.hub.notify(id) }

// Apply gives an event to the job and keeps what follows from it: the new
// state, a line on the timeline, the webhooks. data is shown with the line and
// may be nil.
func (c *Change) Apply(ctx context.Context, event job.Event, source job.Source, emittedAt time.Time, data json.RawMessage) (job.Result, error) {
	event.At = c.Now
	state, result := c.State.Apply(event)
	c.State = state
	if result.Changed() {
		c.StatusSince = c.Now
	}
	if result.Applied {
		c.moves = append(c.moves, Move{Trigger: event.Trigger, Result: result, Data: data})
	}
	if err := c.addEventEntry(ctx, event, result, source, emittedAt, data); err != nil {
		return result, err
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

// Service gives the job an event that the service itself decided on.
func (c *Change) ApplyFromService(ctx context.Context, event job.Event, data any) (job.Result, error) {
	event.Attempt = c.Attempt
	var encoded json.RawMessage
	if data != nil {
		var err error
		if encoded, err = json.Marshal(data); err != nil {
			return job.Result{}, fmt.Errorf("encode the timeline's data: %w", err)
		}
	}
	return c.Apply(ctx, event, job.SourceService, c.Now, encoded)
}

// Emit puts a webhook event into the outbox, once for each address it goes
// to. The event counts in the job's sequence even when nobody listens.
func (c *Change) Emit(ctx context.Context, event webhook.Event) error {
	c.Sequence++
	data, err := event.Data(c.Sequence)
	if err != nil {
		return err
	}
	consumer, err := c.q.Consumer(ctx, c.ConsumerID)
	if err != nil {
		return fmt.Errorf("find the consumer of job %s: %w", c.ID, err)
	}
	for _, target := range webhook.Targets(c.Job, consumer.WebhookURL, event.Name) {
		c.hooks = true
		err := c.q.InsertDelivery(ctx, webhook.Delivery{
			ID:         webhook.NewDeliveryID(),
			JobID:      c.ID,
			ConsumerID: c.ConsumerID,
			URL:        target,
			Event:      event.Name,
			Sequence:   c.Sequence,
			EmittedAt:  c.Now,
			Data:       data,
			Version:    consumer.WebhookVersion,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// note writes the timeline.
func (c *Change) addEventEntry(ctx context.Context, event job.Event, result job.Result, source job.Source, emittedAt time.Time, data json.RawMessage) error {
	attempt := event.Attempt
	if source == job.SourceService {
		attempt = c.Attempt // as it is after the event
	}
	return c.q.InsertEntry(ctx, job.TimelineEntry{
		ID:         uuid.Must(uuid.NewV7()),
		JobID:      c.ID,
		Attempt:    attempt,
		Source:     source,
		Kind:       event.Trigger,
		EmittedAt:  emittedAt,
		ReceivedAt: c.Now,
		Applied:    result.Applied,
		Reason:     result.Reason,
		From:       result.From,
		To:         result.To,
		Data:       data,
	})
}
