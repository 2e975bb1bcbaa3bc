package webhook

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Settings of a Sender. The zero value of each but Log means its default.
type Settings struct {
	Allow           []netip.Prefix   // non-public networks that may be posted to; default none
	Proxy           *url.URL         // forward proxy to post through; default none, whatever the environment says
	Resolver        *net.Resolver    // of receivers' names; default the machine's
	TryTimeout      time.Duration    // of a whole try; default 15 s (contract, Webhooks)
	Schedule        Schedule         // default DefaultSchedule
	Grace           time.Duration    // how long Run waits for running tries at its end; default TryTimeout
	Poll            time.Duration    // longest sleep, for what other nodes put into the outbox; default 5 s
	MaxTries        int              // concurrent tries; default 4096
	MaxTriesPerHost int              // of these, to one host; default 64
	MaxQueued       int              // deliveries claimed and not started; default 1024
	RootCAs         *x509.CertPool   // of TLS receivers; default the machine's
	Now             func() time.Time // default time.Now
	Log             *slog.Logger
}

const (
	leaseOfTries    = 2 // a lease lasts as long as so many tries: for one, its queue before it, and its recording
	recordTimeout   = 15 * time.Second
	databaseDelay   = 100 * time.Millisecond // after a database error; doubled up to
	databaseDelayed = 10 * time.Second
	sweepInterval   = 250 * time.Millisecond // between two looks for tries that last long
	crowdedShare    = 8                      // a claim that takes less than this part of what it looks at is not repeated before
	crowdedInterval = 25 * time.Millisecond  // has passed: what is in the way of the rest has to be recorded first
	claimInterval   = 2 * time.Millisecond   // between two claims, so that what comes singly is claimed together
)

// Sender posts what is due in the outbox, until its Run ends.
//
// One loop claims deliveries ahead of the places that are free for them; tries
// run each in a goroutine; one recorder stores what came of them, many to a
// commit.
type Sender struct {
	outbox   Outbox
	poster   *poster
	places   *places
	schedule Schedule
	metrics  *metrics
	wake     chan struct{}
	results  chan Result

	unrecorded atomic.Int64 // tries that have ended and are not stored yet
	tries      sync.WaitGroup
	log        *slog.Logger
	now        func() time.Time
	timeout    time.Duration
	lease      time.Duration
	grace      time.Duration
	poll       time.Duration
}

// NewSender returns a sender over the outbox.
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
		outbox:   outbox,
		poster:   newPoster(settings),
		places:   newPlaces(bounds{total: settings.MaxTries, perHost: settings.MaxTriesPerHost, queued: settings.MaxQueued}, settings.Schedule, settings.Now),
		schedule: settings.Schedule,
		metrics:  newMetrics(),
		wake:     make(chan struct{}, 1),
		results:  make(chan Result, maxRecorded),
		log:      settings.Log,
		now:      settings.Now,
		timeout:  settings.TryTimeout,
		lease:    leaseOfTries * settings.TryTimeout,
		grace:    settings.Grace,
		poll:     settings.Poll,
	}
}

func orDefault[T int | time.Duration](value *T, otherwise T) {
	if *value == 0 {
		*value = otherwise
	}
}

// Wake tells that something was put into the outbox. It never blocks.
func (s *Sender) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// Post posts a delivery that is not in the outbox, once: a test event.
func (s *Sender) Post(ctx context.Context, delivery Delivery) Try {
	try, _ := s.poster.post(ctx, delivery)
	return try
}

// Run sends until ctx ends. Then it begins no try, waits for those that run,
// at most for the grace, and returns when all have ended. What it had to cut
// off, or had not begun, goes back into the outbox uncounted. Errors of the
// database are waited out, never returned. It is to be called once.
func (s *Sender) Run(ctx context.Context) {
	defer s.poster.close()
	trying, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	recorded := make(chan struct{})
	go func() {
		defer close(recorded)
		s.recordAll(trying)
	}()

	s.claimAll(ctx, trying)

	stop := time.AfterFunc(s.grace, cutOff)
	defer stop.Stop()
	if err := s.release(ctx, s.places.drain()); err != nil {
		s.log.Error("webhooks not released", "error", err)
	}
	s.tries.Wait()
	close(s.results)
	<-recorded
}

// claimAll claims and begins until ctx ends.
func (s *Sender) claimAll(ctx, trying context.Context) {
	failures := 0
	for ctx.Err() == nil {
		s.begin(trying, s.places.sweep())
		sleep, err := s.round(ctx, trying)
		switch {
		case err == nil:
			failures = 0
		case ctx.Err() == nil:
			failures++
			sleep = growing(failures)
			s.log.Error("webhook outbox unavailable", "error", err, "retry_in", sleep)
		}
		if s.places.mustSweep() {
			sleep = min(sleep, sweepInterval)
		}
		// A wake-up does not cut the wait for the database short, nor the least
		// time between two claims.
		s.sleep(ctx, claimInterval, false)
		s.sleep(ctx, sleep-claimInterval, failures == 0)
	}
}

// round claims what there is room for, begins it, and returns how long to
// sleep.
func (s *Sender) round(ctx, trying context.Context) (time.Duration, error) {
	wanted := s.places.wanted()
	if wanted == 0 || s.unrecorded.Load() > maxUnrecorded {
		return s.poll, nil // an emptying queue wakes, and so does the recorder
	}
	now := s.now()
	batch, more, err := s.outbox.ClaimDeliveries(ctx, Claim{
		Now: now, Lease: s.lease, Limit: wanted, Admit: s.places.admission,
	})
	if err != nil {
		return 0, fmt.Errorf("claim deliveries: %w", err)
	}
	s.begin(trying, s.places.add(batch))
	if more {
		if len(batch) < wanted/crowdedShare {
			return crowdedInterval, nil
		}
		return 0, nil
	}

	// What is due already and was not claimed waits for a receiver that is busy
	// or for an earlier delivery: the end of a try wakes.
	next, ok, err := s.outbox.NextDelivery(ctx, now)
	if err != nil {
		return 0, fmt.Errorf("look for the next delivery: %w", err)
	}
	if !ok {
		return s.poll, nil
	}
	return min(s.poll, next.Sub(s.now())), nil
}

// begin starts tries that have their places.
func (s *Sender) begin(trying context.Context, flights []*flight) {
	for _, one := range flights {
		s.tries.Go(func() { s.fly(trying, one) })
	}
}

// fly makes a try, and then whatever can begin in its place.
func (s *Sender) fly(ctx context.Context, current *flight) {
	for current != nil {
		end := s.try(ctx, current)
		if len(end.dropped) > 0 {
			s.releaseLogged(ctx, end.dropped)
		}
		current = nil
		if len(end.begin) > 0 {
			current = end.begin[0]
			s.begin(ctx, end.begin[1:])
		}
		if end.low {
			s.Wake()
		}
	}
}

// try makes one try and hands over what came of it.
func (s *Sender) try(ctx context.Context, f *flight) landing {
	if ctx.Err() != nil || f.LeasedTo.Sub(s.now()) < s.timeout {
		s.releaseLogged(ctx, []Delivery{f.Delivery}) // its lease may end before the try does
		return s.places.finish(f, lesson{})
	}
	try, answer := s.poster.post(ctx, f.Delivery)
	if ctx.Err() != nil && answer.status == 0 {
		s.releaseLogged(ctx, []Delivery{f.Delivery})
		return s.places.finish(f, lesson{})
	}
	verdict := s.schedule.decide(answer, f.Failures+1, s.now(), rand.Float64())
	s.metrics.count(try, verdict)
	end := s.places.finish(f, lessonOf(try, answer))
	s.unrecorded.Add(1)
	s.results <- Result{Delivery: f.Delivery, Try: try, Verdict: verdict, UpdateEndpoint: end.note, Resume: end.resume}
	return end
}

// release gives claimed deliveries back, even when ctx has ended.
func (s *Sender) release(ctx context.Context, deliveries []Delivery) error {
	if len(deliveries) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := s.outbox.ReleaseDeliveries(ctx, deliveries); err != nil {
		return fmt.Errorf("release deliveries: %w", err)
	}
	return nil
}

// releaseLogged releases, with nobody to tell of an error: what is not released
// is due again when its lease ends.
func (s *Sender) releaseLogged(ctx context.Context, deliveries []Delivery) {
	if err := s.release(ctx, deliveries); err != nil {
		s.log.Error("webhooks not released", "deliveries", len(deliveries), "error", err)
	}
	s.Wake()
}

// sleep waits for the time to pass, for ctx to end and, if asked, for a Wake.
func (s *Sender) sleep(ctx context.Context, duration time.Duration, wakeable bool) {
	if duration <= 0 {
		return
	}
	var wake <-chan struct{} // never ready
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

// growing returns the wait after that many database errors in a row.
func growing(failures int) time.Duration {
	return min(databaseDelayed, databaseDelay<<min(failures-1, 10))
}
