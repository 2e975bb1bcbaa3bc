package webhook

import (
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
	outbox    Outbox
	poster    *poster
	scheduler *scheduler
	schedule  Schedule
	metrics   *metrics
	tracer    Tracer // may be nil
	wake      chan struct{}
	results   chan *Result // pointers: the buffer of a channel is allocated at once

	idle atomic.Bool // no delivery was due after the last claim, so that none waits for room or an earlier one

	unrecorded atomic.Int64 // results that are not stored yet
	tries      sync.WaitGroup
	log        *slog.Logger
	now        func() time.Time
	timeout    time.Duration
	lease      time.Duration
	grace      time.Duration
	poll       time.Duration
}

// NewSender returns a Sender for the outbox.
func NewSender(outbox Outbox, settings Settings) *Sender {
	orDefault(&settings.TryTimeout, 15*time.Second)
	orDefault(&settings.Grace, settings.TryTimeout)
	orDefault(&settings.Poll, 5*time.Second)
	orDefault(&settings.MaxTries, 4096)
	orDefault(&settings.MaxTriesPerHost, 64)
	orDefault(&settings.MaxQueued, 1024)
	if len(settings.Schedule) == 0 {
		settings.Schedule = DefaultSchedule()
	}
	if settings.Now == nil {
		settings.Now = time.Now
	}
	return &Sender{
		outbox:    outbox,
		poster:    newPoster(settings),
		scheduler: newScheduler(limits{tries: settings.MaxTries, perHost: settings.MaxTriesPerHost, queued: settings.MaxQueued}, settings.Schedule, settings.Now),
		schedule:  settings.Schedule,
		metrics:   newMetrics(),
		tracer:    settings.Tracer,
		wake:      make(chan struct{}, 1),
		results:   make(chan *Result, maxRecorded),
		log:       settings.Log,
		now:       settings.Now,
		timeout:   settings.TryTimeout,
		lease:     leaseTries * settings.TryTimeout,
		grace:     settings.Grace,
		poll:      settings.Poll,
	}
}

func orDefault[T int | time.Duration](value *T, otherwise T) {
	if *value == 0 {
		*value = otherwise
	}
}

// Wake makes the sender look for due deliveries. It never blocks.
func (s *Sender) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

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

	stop := time.AfterFunc(s.grace, cancelTries)
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
			s.log.Error("webhook outbox unavailable", "error", err, "retry_in", sleep)
		}
		if running, slow := s.scheduler.running(); running > slow {
			sleep = min(sleep, sweepInterval)
		}
		// A wake-up shortens neither the minimum interval nor the delay after a
		// database error.
		_ = retry.Sleep(ctx, minClaimInterval) // the loop checks ctx
		s.sleep(ctx, sleep-minClaimInterval, backoff.Failures == 0)
	}
}

// claim makes one claim, starts its tries, and returns how long to sleep.
func (s *Sender) claim(ctx, tryCtx context.Context) (sleep time.Duration, err error) {
	s.idle.Store(false) // before the outbox is read: what is due then may wait for a try that ends meanwhile
	limit := s.scheduler.claimable()
	if limit == 0 || s.unrecorded.Load() > maxUnrecorded {
		return s.poll, nil // the end of a try and the recording of results wake the sender
	}
	now := s.now()
	claimed, more, err := s.outbox.ClaimDeliveries(ctx, Claim{
		Now: now, Lease: s.lease, Limit: limit, MaxAge: s.schedule.length() + expiryGrace, Admit: s.scheduler.admission,
	})
	if err != nil {
		return 0, fmt.Errorf("claim deliveries: %w", err)
	}
	s.start(tryCtx, s.scheduler.add(claimed))
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
		return s.poll, nil
	}
	return min(s.poll, next.Sub(s.now())), nil
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
	if ctx.Err() != nil || f.LeasedTo.Sub(s.now()) < s.timeout {
		s.release(ctx, []Delivery{f.Delivery})
		return s.scheduler.finish(f, outcome{})
	}
	try, response := s.poster.post(ctx, f.Delivery)
	if ctx.Err() != nil && response.status == 0 {
		s.release(ctx, []Delivery{f.Delivery})
		return s.scheduler.finish(f, outcome{})
	}
	verdict := s.schedule.decide(response, f.Delivery, s.now(), rand.Float64())
	s.metrics.count(try, verdict)
	if s.tracer != nil && f.JobID != uuid.Nil {
		s.tracer.TryEnded(f.Delivery, try, verdict)
	}
	end := s.scheduler.finish(f, outcomeOf(try, response))
	s.unrecorded.Add(1)
	s.results <- &Result{Delivery: f.Delivery, Try: try, Verdict: verdict, UpdateEndpoint: end.updateEndpoint, Resume: end.resume, ProbeAt: end.probeAt}
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
		s.log.Error("webhooks not released", "deliveries", len(deliveries), "error", err)
	}
	s.Wake()
}

// sleep waits for the duration, until ctx is done or, if wakeable, for a Wake.
func (s *Sender) sleep(ctx context.Context, duration time.Duration, wakeable bool) {
	if duration <= 0 {
		return
	}
	var wake <-chan struct{} // nil: never ready
	if wakeable {
		wake = s.wake
	}
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}

// databaseBackoff returns the delays after consecutive database errors.
func databaseBackoff() retry.Backoff {
	return retry.Backoff{Min: minDatabaseDelay, Max: maxDatabaseDelay}
}
