// Package webhook composes the events of jobs, signs them, and posts them until
// they are acknowledged or have failed permanently.
//
// Callers decide when an event happens: they compose it here and store it in the
// transaction that changes the job. The package contains no SQL. The Outbox
// interface is its access to the database.
package webhook

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"standin/internal/retry"
)

// Settings configure a Sender. The zero value of a field other than Log means
// its default.
type Settings struct {
	Allow           []netip.Prefix   // networks that may be posted to although they are not public; default none
	Proxy           *url.URL         // forward proxy; default none, whatever the environment says
	OwnHosts        []string         // names of the service's machine, whose addresses are refused too
	Resolver        *net.Resolver    // default: the system's
	PrivateBodies   bool             // store response bodies of destinations that are not public
	TryTimeout      time.Duration    // of a whole try; default 15 s
	Schedule        Schedule         // default DefaultSchedule
	Grace           time.Duration    // how long Run waits for tries at its end; default TryTimeout
	Poll            time.Duration    // longest sleep, for deliveries of other nodes; default 5 s
	MaxTries        int              // concurrent tries; default 4096
	MaxTriesPerHost int              // of these, to one host; default 64
	MaxQueued       int              // deliveries claimed and not started; default 1024
	RootCAs         *x509.CertPool   // default: the system's
	Now             func() time.Time // default time.Now
	Tracer          Tracer           // default none
	Log             *slog.Logger
}

// Tracer records the tries of jobs' deliveries in traces. Its methods must not block.
type Tracer interface {
	// Traceparent returns the traceparent header (W3C Trace Context) of the
	// current try of a delivery.
	Traceparent(Delivery) string
	// TryEnded records a try and its verdict.
	TryEnded(Delivery, Try, Verdict)
}

const (
	leaseTries        = 2 // a lease lasts as long as so many tries, to include the queue before and the recording after
	recordTimeout     = 15 * time.Second
	minDatabaseDelay  = 100 * time.Millisecond // after a database error; doubled up to
	maxDatabaseDelay  = 10 * time.Second
	expiryGrace       = 24 * time.Hour // beyond the length of the schedule, for deliveries that wait for a dead endpoint
	sweepInterval     = 250 * time.Millisecond
	minClaimInterval  = 2 * time.Millisecond  // so that single deliveries are claimed together
	deferringInterval = 25 * time.Millisecond // after a claim that took less than one in
	deferringShare    = 8                     // of the deliveries it looked at: the rest waits for results to be recorded
)

// Sender posts the deliveries that are due in the outbox.
//
// One goroutine claims deliveries ahead of the free slots, each try runs in its
// own goroutine, and one goroutine records the results in groups.
type Sender struct {
	settings  Settings // with defaults
	outbox    Outbox
	poster    *poster
	scheduler *scheduler
	metrics   *metrics
	wake      retry.Signal
	results   chan *Result // pointers: the buffer of a channel is allocated at once

	idle atomic.Bool // no delivery was due after the last claim, so that none waits for room or an earlier one

	unrecorded atomic.Int64 // results that are not stored yet
	tries      sync.WaitGroup
}

// NewSender returns a Sender for the outbox.
func NewSender(outbox Outbox, settings Settings) *Sender {
	settings.TryTimeout = cmp.Or(settings.TryTimeout, 15*time.Second)
	settings.Grace = cmp.Or(settings.Grace, settings.TryTimeout)
	settings.Poll = cmp.Or(settings.Poll, 5*time.Second)
	settings.MaxTries = cmp.Or(settings.MaxTries, 4096)
	settings.MaxTriesPerHost = cmp.Or(settings.MaxTriesPerHost, 64)
	settings.MaxQueued = cmp.Or(settings.MaxQueued, 1024)
	if len(settings.Schedule) == 0 {
		settings.Schedule = DefaultSchedule()
	}
	if settings.Now == nil {
		settings.Now = time.Now
	}
	return &Sender{
		settings: settings,
		outbox:   outbox,
		poster:   newPoster(settings),
		scheduler: newScheduler(limits{
			tries: settings.MaxTries, perHost: settings.MaxTriesPerHost, queued: settings.MaxQueued,
		}, settings.Schedule, settings.Now),
		metrics: newMetrics(),
		wake:    retry.NewSignal(),
		results: make(chan *Result, maxRecorded),
	}
}

// lease returns how long claimed deliveries are leased.
func (s *Sender) lease() time.Duration { return leaseTries * s.settings.TryTimeout }

// Wake makes the sender look for due deliveries. It never blocks.
func (s *Sender) Wake() { s.wake.Send() }

// Post posts a delivery once, without the outbox: for test events.
func (s *Sender) Post(ctx context.Context, delivery Delivery) Try {
	try, _ := s.poster.post(ctx, delivery)
	return try
}

// Client returns the client of webhooks, which connects only where the settings allow it
// and follows no redirects. It has no timeout.
func (s *Sender) Client() *http.Client { return s.poster.client }

// Run sends until ctx is done. Then it starts no more tries, waits up to the
// grace period for those in flight, and returns deliveries that were not tried
// to the outbox, uncounted. Database errors are retried. Run must be called only
// once.
func (s *Sender) Run(ctx context.Context) {
	defer s.poster.close()
	tryCtx, cancelTries := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelTries()
	recorded := make(chan struct{})
	go func() {
		defer close(recorded)
		s.recordAll(tryCtx)
	}()

	s.claimAll(ctx, tryCtx)

	stop := time.AfterFunc(s.settings.Grace, cancelTries)
	defer stop.Stop()
	s.release(ctx, s.scheduler.drain())
	s.tries.Wait()
	close(s.results)
	<-recorded
}

// claimAll claims deliveries and starts their tries until ctx is done.
func (s *Sender) claimAll(ctx, tryCtx context.Context) {
	backoff := databaseBackoff()
	for ctx.Err() == nil {
		s.start(tryCtx, s.scheduler.sweep())
		sleep, err := s.claim(ctx, tryCtx)
		switch {
		case err == nil:
			backoff.Reset()
		case ctx.Err() == nil:
			sleep = backoff.Next()
			s.settings.Log.Error("webhook outbox unavailable", "error", err, "retry_in", sleep)
		}
		if running, slow := s.scheduler.running(); running > slow {
			sleep = min(sleep, sweepInterval)
		}
		// A wake-up shortens neither the minimum interval nor the delay after a
		// database error. The loop checks ctx.
		if err != nil {
			_ = retry.Sleep(ctx, sleep)
			continue
		}
		_ = retry.Sleep(ctx, minClaimInterval)
		s.wake.Wait(ctx, sleep-minClaimInterval)
	}
}

// claim makes one claim, starts its tries, and returns how long to sleep.
func (s *Sender) claim(ctx, tryCtx context.Context) (sleep time.Duration, err error) {
	s.idle.Store(false) // before the outbox is read: what is due then may wait for a try that ends meanwhile
	limit := s.scheduler.claimable()
	if limit == 0 || s.unrecorded.Load() > maxUnrecorded {
		return s.settings.Poll, nil // the end of a try and the recording of results wake the sender
	}
	now := s.settings.Now()
	var admission *admission // of the transaction that was committed
	claimed, more, err := ClaimDeliveries(ctx, s.outbox, Claim{
		Now: now, Lease: s.lease(), Limit: limit, MaxAge: s.settings.Schedule.length() + expiryGrace,
		Admit: func() AdmitFunc {
			admission = s.scheduler.newAdmission()
			return admission.admit
		},
	})
	if err != nil {
		return 0, fmt.Errorf("claim deliveries: %w", err)
	}
	s.start(tryCtx, s.scheduler.add(admission, claimed))
	if more {
		if len(claimed) < limit/deferringShare {
			return deferringInterval, nil
		}
		return 0, nil
	}

	select {
	case <-s.wake:
		return 0, nil // there is more to claim
	default:
	}
	next, ok, err := s.outbox.NextDelivery(ctx, time.UnixMilli(0))
	if err == nil && ok && !next.After(now) {
		// Deliveries that are due and were not claimed wait for a busy endpoint or an
		// earlier delivery: the end of a try wakes the sender.
		next, ok, err = s.outbox.NextDelivery(ctx, now)
	} else if err == nil {
		s.idle.Store(true)
	}
	if err != nil {
		return 0, fmt.Errorf("find the next delivery: %w", err)
	}
	if !ok {
		return s.settings.Poll, nil
	}
	return min(s.settings.Poll, next.Sub(s.settings.Now())), nil
}

// start runs tries, each in a goroutine.
func (s *Sender) start(ctx context.Context, tries []*inFlight) {
	for _, f := range tries {
		s.tries.Go(func() { s.run(ctx, f) })
	}
}

// run makes a try, and then those that can start in its place.
func (s *Sender) run(ctx context.Context, f *inFlight) {
	for f != nil {
		end := s.try(ctx, f)
		s.release(ctx, end.dropped)
		f = nil
		if len(end.start) > 0 {
			f = end.start[0]
			s.start(ctx, end.start[1:])
		}
		if end.claim && !s.idle.Load() {
			s.Wake()
		}
	}
}

// try makes one try and queues its result for recording. A delivery whose lease
// may end before the try does, or whose try is canceled, is released.
func (s *Sender) try(ctx context.Context, f *inFlight) completion {
	if ctx.Err() != nil || f.LeasedTo.Sub(s.settings.Now()) < s.settings.TryTimeout {
		s.release(ctx, []Delivery{f.Delivery})
		return s.scheduler.finish(f, outcome{})
	}
	try, response := s.poster.post(ctx, f.Delivery)
	if ctx.Err() != nil && response.status == 0 {
		s.release(ctx, []Delivery{f.Delivery})
		return s.scheduler.finish(f, outcome{})
	}
	verdict := s.settings.Schedule.decide(response, f.Delivery, s.settings.Now(), rand.Float64())
	s.metrics.count(try, verdict)
	if s.settings.Tracer != nil && f.JobID != uuid.Nil {
		s.settings.Tracer.TryEnded(f.Delivery, try, verdict)
	}
	end := s.scheduler.finish(f, outcomeOf(try, response))
	s.unrecorded.Add(1)
	s.results <- &Result{
		Delivery: f.Delivery, Try: try, Verdict: verdict, UpdateEndpoint: end.updateEndpoint, Resume: end.resume, ProbeAt: end.probeAt,
	}
	return end
}

// release returns claimed deliveries to the outbox, even when ctx is done. An
// error is only logged: the deliveries are due again when their leases end.
func (s *Sender) release(ctx context.Context, deliveries []Delivery) {
	if len(deliveries) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := s.outbox.ReleaseDeliveries(ctx, deliveries); err != nil {
		s.settings.Log.Error("webhooks not released", "deliveries", len(deliveries), "error", err)
	}
	s.Wake()
}

// databaseBackoff returns the delays after consecutive database errors.
func databaseBackoff() retry.Backoff {
	return retry.Backoff{Min: minDatabaseDelay, Max: maxDatabaseDelay}
}
