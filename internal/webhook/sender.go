package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"
)

// Settings of a Sender. The zero value of each but Log means its default.
type Settings struct {
	Allow      []netip.Prefix   // non-public networks that may be posted to; default none
	TryTimeout time.Duration    // of a whole try; default 15 s (contract, Webhooks)
	Grace      time.Duration    // how long Run waits for running tries at its end; default TryTimeout
	Poll       time.Duration    // longest sleep, for what other nodes put into the outbox; default 5 s
	Places     int              // tries at once; default 256
	PerHost    int              // of these for one host that answers; default 16
	Now        func() time.Time // default time.Now
	Log        *slog.Logger
}

const (
	leaseMargin     = 15 * time.Second // of a lease, beyond a try: for recording it
	recordTimeout   = 5 * time.Second
	databaseDelay   = 100 * time.Millisecond // after a database error; doubled up to
	databaseDelayed = 10 * time.Second
)

// Sender posts what is due in the outbox, until its Run ends.
type Sender struct {
	outbox Outbox
	poster *poster
	places *places
	wake   chan struct{}
	log    *slog.Logger
	now    func() time.Time
	lease  time.Duration
	grace  time.Duration
	poll   time.Duration
}

// NewSender returns a sender over the outbox.
func NewSender(outbox Outbox, settings Settings) *Sender {
	orDefault(&settings.TryTimeout, 15*time.Second)
	orDefault(&settings.Grace, settings.TryTimeout)
	orDefault(&settings.Poll, 5*time.Second)
	orDefault(&settings.Places, 256)
	orDefault(&settings.PerHost, 16)
	if settings.Now == nil {
		settings.Now = time.Now
	}
	return &Sender{
		outbox: outbox,
		poster: newPoster(Guard{Allow: settings.Allow}, settings.TryTimeout, settings.Now),
		places: newPlaces(settings.Places, settings.PerHost),
		wake:   make(chan struct{}, 1),
		log:    settings.Log,
		now:    settings.Now,
		lease:  settings.TryTimeout + leaseMargin,
		grace:  settings.Grace,
		poll:   settings.Poll,
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

// Run sends until ctx ends. Then it begins no try, waits for those that run,
// at most for the grace, and returns when all have ended. What it had to cut
// off goes back into the outbox uncounted. Errors of the database are waited
// out, never returned. It is to be called once.
func (s *Sender) Run(ctx context.Context) {
	defer s.poster.close()
	trying, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	var running sync.WaitGroup
	failures := 0
	for ctx.Err() == nil {
		sleep, err := s.round(ctx, trying, &running)
		switch {
		case err == nil:
			failures = 0
		case ctx.Err() == nil:
			failures++
			sleep = growing(failures)
			s.log.Error("webhook outbox unavailable", "error", err, "retry_in", sleep)
		}
		// A wake-up does not cut the wait for the database short.
		s.sleep(ctx, sleep, failures == 0)
	}

	stop := time.AfterFunc(s.grace, cutOff)
	defer stop.Stop()
	running.Wait()
}

// round begins what can begin now, and returns how long to sleep.
func (s *Sender) round(ctx, trying context.Context, running *sync.WaitGroup) (time.Duration, error) {
	now := s.now()
	free, busy := s.places.free()
	if free == 0 {
		return s.poll, nil // the end of a try wakes
	}
	batch, err := s.outbox.ClaimDeliveries(ctx, Claim{
		Now: now, Lease: s.lease, Limit: free, PerHost: s.places.batch(), Busy: busy,
	})
	if err != nil {
		return 0, fmt.Errorf("claim deliveries: %w", err)
	}
	var left []Delivery
	for _, delivery := range batch {
		place, ok := s.places.take(HostOf(delivery.URL))
		if !ok {
			left = append(left, delivery)
			continue
		}
		running.Go(func() { s.handle(trying, delivery, place) })
	}
	if len(left) > 0 {
		// Even at the end of Run: what is not released waits for its lease to end.
		err := s.release(trying, left)
		return 0, err
	}
	if len(batch) > 0 {
		return 0, nil // there may be more
	}

	// What is due already and was not claimed waits for a host that is busy or
	// for an earlier delivery: the end of a try wakes.
	next, ok, err := s.outbox.NextDelivery(ctx, now)
	if err != nil {
		return 0, fmt.Errorf("look for the next delivery: %w", err)
	}
	if !ok {
		return s.poll, nil
	}
	return min(s.poll, next.Sub(s.now())), nil
}

// handle makes one try and stores what came of it.
func (s *Sender) handle(ctx context.Context, delivery Delivery, place place) {
	// Others of the host, and what waits behind this delivery, may go on now.
	defer s.Wake()
	learnt := unknown
	defer func() { s.places.leave(place, learnt) }()

	try, answer := s.poster.post(ctx, delivery)
	if ctx.Err() != nil && answer.status == 0 {
		if err := s.release(ctx, []Delivery{delivery}); err != nil {
			s.log.Error("webhook not released", "delivery", delivery.ID, "error", err)
		}
		return
	}
	learnt = standingAfter(try, answer)
	verdict := decide(answer, delivery.Failures+1, s.now(), rand.Float64())
	err := s.record(ctx, delivery, try, verdict)
	s.logTry(delivery, try, verdict, err)
}

// standingAfter tells what a try says of its host.
func standingAfter(try Try, answer response) standing {
	switch {
	case answer.unusable != nil:
		return unknown
	case answer.status == 0 || try.Latency >= slowAnswer:
		return doubtful
	default:
		return good
	}
}

// record stores the try. It insists as long as the lease is likely to hold:
// what is not recorded is sent again.
func (s *Sender) record(ctx context.Context, delivery Delivery, try Try, verdict Verdict) error {
	insist, cancel := context.WithTimeout(ctx, leaseMargin)
	defer cancel()
	for failures := 1; ; failures++ {
		err := s.recordOnce(ctx, delivery, try, verdict)
		if err == nil || errors.Is(err, ErrLeaseLost) {
			return err
		}
		s.sleep(insist, growing(failures), false)
		if insist.Err() != nil {
			return fmt.Errorf("record a try: %w", err)
		}
	}
}

// recordOnce goes on when ctx ends: the receiver has answered.
func (s *Sender) recordOnce(ctx context.Context, delivery Delivery, try Try, verdict Verdict) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return s.outbox.RecordTry(ctx, delivery, try, verdict)
}

// release gives claimed deliveries back, even when ctx has ended.
func (s *Sender) release(ctx context.Context, deliveries []Delivery) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := s.outbox.ReleaseDeliveries(ctx, deliveries); err != nil {
		return fmt.Errorf("release deliveries: %w", err)
	}
	return nil
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

// logTry writes the one line of a try.
func (s *Sender) logTry(delivery Delivery, try Try, verdict Verdict, err error) {
	level := slog.LevelInfo
	attributes := []slog.Attr{
		slog.String("delivery", delivery.ID),
		slog.String("job", delivery.JobID.String()),
		slog.String("event", delivery.Event),
		slog.String("host", HostOf(delivery.URL)),
		slog.Int("attempt", try.Number),
		slog.Int("status", try.StatusCode),
		slog.Duration("latency", try.Latency),
		slog.String("verdict", string(verdict.Outcome)),
	}
	if verdict.Outcome == Retry {
		attributes = append(attributes, slog.Time("retry_at", verdict.RetryAt))
	}
	if verdict.Outcome == GaveUp {
		attributes = append(attributes, slog.String("reason", verdict.Reason))
	}
	if try.Error != "" {
		attributes = append(attributes, slog.String("try_error", try.Error))
	}
	if verdict.Outcome != Delivered {
		level = slog.LevelWarn
	}
	if err != nil {
		level = slog.LevelError
		attributes = append(attributes, slog.String("error", "not recorded: "+err.Error()))
	}
	s.log.LogAttrs(context.Background(), level, "webhook try", attributes...)
}
