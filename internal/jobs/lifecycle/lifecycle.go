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
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/store"
)

// Finalizer writes the manifests of recordings that bots uploaded.
type Finalizer interface {
	// WriteManifest writes and stores the manifest of a job whose bot reports
	// that its recording is complete. It may be repeated.
	WriteManifest(ctx context.Context, r job.Record) error
	// HasMedia reports whether a bot of the job uploaded anything usable.
	HasMedia(ctx context.Context, jobID uuid.UUID) (bool, error)
}

// Options are the settings of jobs that operators choose.
type Options struct {
	NoScreenshots bool `env:"STANDIN_NO_SCREENSHOTS" help:"Take no pictures of meeting pages. By default, bots send one every few seconds while somebody watches their job; only the newest is kept, until the job ends."`
	job.Prices
}

// Settings configure a Service.
type Settings struct {
	Options
	Store      *store.Store
	Finalizer  Finalizer
	Recordings Recordings
	Outputs    OutputStorage // may be nil where no bots play or show anything
	BaseURL    string        // where manifests are fetched; without a trailing slash
	Events     *event.Publisher
	Now        func() time.Time

	Sealer       calendarsync.Key // encrypts accounts
	SignInFolder string           // of the operator's accounts; may be empty
	GoogleURL    string           // in place of Google's; may be empty

	Transcribe bool        // recordings are transcribed once they are finalized
	Compose    Compose     // when pictures are composed
	Capture    job.Capture // of jobs without a choice

	RecordingBitRate int64 // of all tracks of a recording together, for the derived quota; video and the sound of 16 participants when 0
}

// Service changes jobs. Its methods may be called from any goroutine.
type Service struct {
	Settings
	hub        *hub
	background sync.WaitGroup
}

// New starts a Service, which Close stops.
func New(settings Settings) *Service {
	ctx, stop := context.WithCancel(context.Background())
	s := &Service{Settings: settings, hub: &hub{
		store: settings.Store, stop: stop, listeners: make(map[uuid.UUID]map[*listener]struct{}),
	}}
	s.hub.polled.Go(func() { s.hub.poll(ctx) })
	return s
}

// Close waits for deletions and stops the Service.
// The Store must still be open.
func (s *Service) Close() {
	s.background.Wait()
	s.hub.stop()
	s.hub.polled.Wait()
}

// ManifestURI returns where the consumer fetches a job's manifest.
func (s *Service) ManifestURI(id uuid.UUID) string {
	return s.BaseURL + "/api/v1/jobs/" + id.String() + "/manifest"
}

// NotifyCommand answers the waiting heartbeats of a job for which another node
// has queued a command.
func (s *Service) NotifyCommand(id uuid.UUID) { s.hub.notify(id) }
