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
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/runner"
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
	MaxTries        int              // deliveries that are tried or wait for their turn; default 4096
	MaxTriesPerHost int              // of these, to one host; default 64
	MaxQueued       int              // deliveries examined by one claim; default 1024
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
	leaseTries       = 2 // a lease lasts as long as so many tries, to include the turn before and the recording after
	claimTimeout     = 15 * time.Second
	recordTimeout    = 15 * time.Second
	minDatabaseDelay = 100 * time.Millisecond // after a database error; doubled up to
	maxDatabaseDelay = 10 * time.Second
	expiryGrace      = 24 * time.Hour       // beyond the length of the schedule, for deliveries that wait for a dead endpoint
	minClaimInterval = 2 * time.Millisecond // so that single deliveries are claimed together
)

// Sender posts the deliveries that are due in the outbox.
//
// A runner claims them. Each waits for its turn, is tried and recorded in its own goroutine.
type Sender struct {
	settings  Settings // with defaults
	outbox    Outbox
	poster    *poster
	endpoints *endpoints
	metrics   *metrics
	runner    *runner.Runner[*claimed]

	idle atomic.Bool // no delivery was due after the last claim, so that none waits for a turn or an earlier one
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
	s := &Sender{
		settings:  settings,
		outbox:    outbox,
		poster:    newPoster(settings),
		endpoints: newEndpoints(settings.MaxTries, settings.MaxTriesPerHost, settings.Schedule, settings.Now),
		metrics:   newMetrics(),
	}
	s.runner = &runner.Runner[*claimed]{
		Name: "webhook", Slots: settings.MaxTries, Poll: settings.Poll, Gap: minClaimInterval,
		Claim: s.claim, Next: s.next,
		Run: func(ctx context.Context, c *claimed, _ *runner.Lease) error {
			s.send(ctx, c)
			return nil
		},
		ID: func(c *claimed) string { return c.ID }, Now: settings.Now, Log: settings.Log,
	}
	return s
}

// lease returns how long claimed deliveries are leased.
func (s *Sender) lease() time.Duration { return leaseTries * s.settings.TryTimeout }

// Wake makes the sender look for due deliveries. It never blocks.
func (s *Sender) Wake() { s.runner.Wake() }

// Post posts a delivery once, without the outbox: for test events.
func (s *Sender) Post(ctx context.Context, delivery Delivery) Try {
	return s.poster.post(ctx, delivery)
}

// Client returns the client of webhooks, which connects only where the settings allow it
// and follows no redirects. It has no timeout.
func (s *Sender) Client() *http.Client { return s.poster.client }

// Run sends until ctx is done. Then it starts no more tries, waits up to the
// grace period for those in flight, and returns deliveries that were not tried
// to the outbox, uncounted. Database errors are retried. Run must be called only
// once.
func (s *Sender) Run(ctx context.Context) {
	defer s.poster.client.CloseIdleConnections()
	s.runner.Work(ctx)
}

// claim claims up to n deliveries that are due and that the endpoints admit.
func (s *Sender) claim(ctx context.Context, n int) (found runner.Batch[*claimed], err error) {
	s.idle.Store(false) // before the outbox is read: what is due then may wait for a try that ends meanwhile
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	var admitted []*claimed
	taken, more, err := ClaimDeliveries(ctx, s.outbox, Claim{
		Now: s.settings.Now(), Lease: s.lease(), Limit: min(n, s.settings.MaxQueued),
		MaxAge: s.settings.Schedule.length() + expiryGrace,
		Admit: func() AdmitFunc {
			s.endpoints.forget(admitted) // of a transaction that is repeated
			admitted = nil
			return func(d Delivery) (bool, time.Duration) {
				c, wait := s.endpoints.admit(d)
				if c != nil {
					admitted = append(admitted, c)
				}
				return c != nil, wait
			}
		},
	})
	if err != nil {
		s.endpoints.forget(admitted)
		return found, err
	}
	for i, d := range taken {
		admitted[i].Delivery = d // with its lease
	}
	return runner.Batch[*claimed]{Items: admitted, More: more}, nil
}

// next returns when the next delivery is due. Deliveries that are due and were not claimed
// wait for a busy endpoint or an earlier delivery: the end of a try wakes the sender.
func (s *Sender) next(ctx context.Context) (at time.Time, ok bool, err error) {
	now := s.settings.Now()
	at, ok, err = s.outbox.NextDelivery(ctx, time.UnixMilli(0))
	if err == nil && ok && !at.After(now) {
		return s.outbox.NextDelivery(ctx, now)
	}
	s.idle.Store(err == nil)
	return at, ok, err
}

// send tries a delivery when its turn comes, and records the result. It
// releases a delivery that cannot be tried, whose lease may end before the try does, or
// whose try is canceled. A try that runs when ctx ends has the grace period to end.
func (s *Sender) send(ctx context.Context, c *claimed) {
	waited := s.endpoints.await(ctx, c)
	trying, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(s.settings.Grace, cancel) })
	defer stop()
	var try Try
	tried := waited && c.LeasedTo.Sub(s.settings.Now()) >= s.settings.TryTimeout
	if tried {
		try = s.poster.post(trying, c.Delivery)
		tried = trying.Err() == nil || try.StatusCode != 0
	}
	if !tried {
		s.endpoints.finish(c, outcome{})
		releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		defer cancel()
		if err := s.outbox.ReleaseDelivery(releasing, c.Delivery); err != nil {
			s.settings.Log.Error("cannot release a claimed delivery; it is retried when its lease ends", "delivery", c.ID, "error", err)
		}
		s.Wake()
		return
	}
	verdict := s.settings.Schedule.decide(try, c.Delivery, s.settings.Now(), rand.Float64())
	class := "none"
	if try.StatusCode != 0 {
		class = strconv.Itoa(try.StatusCode/100) + "xx"
	}
	s.metrics.tries.WithLabelValues(string(verdict.Outcome), class).Inc()
	s.metrics.latency.WithLabelValues(strconv.FormatBool(try.StatusCode != 0)).Observe(try.Latency.Seconds())
	if s.settings.Tracer != nil && c.JobID != uuid.Nil {
		s.settings.Tracer.TryEnded(c.Delivery, try, verdict)
	}
	o := outcome{health: fast, latency: try.Latency, acknowledged: try.Acknowledged()}
	switch {
	case try.unusable:
		o.health = untried
	case try.StatusCode == 0:
		o.health = unresponsive
	case try.Latency >= slowAfter:
		o.health = slow
	}
	end := s.endpoints.finish(c, o)
	end.Delivery, end.Try, end.Verdict = c.Delivery, try, verdict
	s.record(ctx, end)
}
