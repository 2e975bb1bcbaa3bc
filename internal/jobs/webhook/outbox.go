package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
)

// Delivery is one event for one URL.
type Delivery struct {
	ID         string    // dlv_…, the same for every try
	JobID      uuid.UUID // uuid.Nil for an event of the consumer
	ConsumerID uuid.UUID
	Mode       job.Mode // of the job; live for an event of the consumer
	URL        string
	ByEndpoint bool // only because a registered endpoint takes the event
	Event      string
	Sequence   int64 // number of the event within its job or else its consumer, as in Data
	EmittedAt  time.Time
	Data       json.RawMessage
	Version    int      // payload version: Version1 or Version2
	Secrets    []Secret // the consumer's as of the claim, the current one first

	ProbeAt  time.Time // when the next try to a dead endpoint may start, as of the claim; zero for other endpoints
	Attempt  int       // number of the claimed try, from 1
	Failures int       // recorded failed tries
	DueAt    time.Time // as of the claim: later than it for a probe that is not due by its schedule
	Lease    string    // token of the claim
	LeasedTo time.Time // when the claim ends
}

// Subject returns what the delivery's sequence belongs to: its job or, without one, its
// consumer.
func (d Delivery) Subject() uuid.UUID {
	if d.JobID == uuid.Nil {
		return d.ConsumerID
	}
	return d.JobID
}

// EndpointKey identifies the endpoint of the delivery.
func (d Delivery) EndpointKey() string { return EndpointKey(d.ConsumerID, d.Mode, d.URL) }

// Try is one request for a delivery.
type Try struct {
	DeliveryID   string
	Number       int // the delivery's Attempt
	StartedAt    time.Time
	Latency      time.Duration
	StatusCode   int    // 0 if there was no response
	Error        string // why it failed, unless the status says so
	LoggedError  string // Error with addresses, for the log of the operator
	ResponseBody []byte // the first MaxResponseBody bytes of the response body: any bytes, not always text

	retryAfter string // the header of the response
	unusable   bool   // no request can be made of the delivery, for the reason in Error
}

// Acknowledged reports whether the receiver has acknowledged the delivery.
func (t Try) Acknowledged() bool { return t.StatusCode >= 200 && t.StatusCode < 300 }

// Verdict is the consequence of a try.
type Verdict struct {
	Outcome   Outcome
	RetryAt   time.Time // of Retry
	NotBefore time.Time // of Retry, if the receiver sent Retry-After
	Uncounted bool      // of Retry: the try was an early probe, and the schedule of the delivery stays as it was
	Reason    string    // of PermanentFailure
}

// Outcome is the state of a delivery after a try.
type Outcome string

// The outcomes. Delivered and PermanentFailure are final.
const (
	Delivered        Outcome = "delivered"
	Retry            Outcome = "retry"
	PermanentFailure Outcome = "failed"
)

// BlocksWithin defines the order of deliveries: a delivery waits for every earlier
// one of the same job (or consumer, if they have none) and URL that is being sent, or whose next try is due within
// this time. An event whose next try is later does not hold back those behind it.
const BlocksWithin = time.Minute

// ReasonExpired is why a delivery failed that waited for a dead endpoint for as long
// as all tries of the schedule take.
const ReasonExpired = "the receiver has not acknowledged any delivery for too long"

// Result is a try and its verdict.
type Result struct {
	Delivery       Delivery
	Try            Try
	Verdict        Verdict
	UpdateEndpoint bool      // store the success with the endpoint too
	Resume         bool      // the endpoint responds again: its deferred deliveries are due
	ProbeAt        time.Time // when the next try to the endpoint may start, if it is dead now; zero otherwise
}

// DeadAfterFailures is the number of consecutive failed tries, of any
// deliveries, after which an endpoint is dead. It is probed with its oldest delivery
// then, and waiting deliveries are sent when it responds again.
const DeadAfterFailures = 5

// EndpointKey identifies the endpoint of a consumer at a URL for jobs of a mode. It is short
// printable ASCII, for indexes and cursors; the URL of a job may not be.
func EndpointKey(consumer uuid.UUID, mode job.Mode, address string) string {
	if len(address) > 512 || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' }) {
		address = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(address)))
	}
	return consumer.String() + " " + string(mode) + " " + address
}

// EndpointID is the ID in the API of the endpoint of a consumer at a URL for jobs of a mode.
func EndpointID(consumer uuid.UUID, mode job.Mode, address string) uuid.UUID {
	return uuid.NewSHA1(consumer, []byte(string(mode)+" "+address))
}

// Outbox stores deliveries. They are inserted in the transaction of the change that
// causes their event.
//
// A delivery is waiting until it is delivered or has failed permanently. A
// waiting delivery has a due time: its EmittedAt at first, then the time of
// the retry, and while it is claimed, the end of the lease, so that deliveries
// of a crashed sender become due again.
type Outbox interface {
	// WriteClaim runs fn in a transaction, for ClaimDeliveries. fn may be called more
	// than once.
	WriteClaim(ctx context.Context, fn func(context.Context, ClaimTx) error) error

	// ReleaseDelivery undoes the claim of a delivery that was not tried:
	// Attempt is decremented and it is due at once. A delivery with a lost
	// lease is left as it is.
	ReleaseDelivery(ctx context.Context, delivery Delivery) error

	// RecordTry stores a try and applies its verdict in one transaction.
	// Retry sets the due time to verdict.RetryAt and ends the lease; Retry and
	// PermanentFailure increment the failures. A delivery with another lease token is
	// left as it is; then the try is lost.
	//
	// A failure, and a success with UpdateEndpoint, is stored with the
	// endpoint too, and ProbeAt. When a dead endpoint acknowledges, all its waiting
	// deliveries are due at once, or at Verdict.NotBefore. Resume does the
	// same for deliveries without failures.
	RecordTry(ctx context.Context, result Result) (lost bool, err error)

	// NextDelivery returns the earliest due time of a waiting delivery after
	// the given time; false if there is none.
	NextDelivery(ctx context.Context, after time.Time) (time.Time, bool, error)

	// Backlog returns the number of waiting deliveries and the time of the
	// oldest event; zero if there is none.
	Backlog(ctx context.Context) (waiting int64, oldest time.Time, err error)
}

// ClaimTx is what ClaimDeliveries does in its transaction.
type ClaimTx interface {
	// DueDeliveries returns up to limit waiting deliveries that are due at a time, the
	// longest due first, without those that another claim has locked.
	DueDeliveries(ctx context.Context, now time.Time, limit int) ([]DueDelivery, error)
	// OldestWaiting returns the oldest delivery that waits for the endpoint of d and
	// whose receiver has not asked to wait for longer; false if there is none, or if it
	// is being sent.
	OldestWaiting(ctx context.Context, d Delivery, now time.Time) (oldest Delivery, found bool, err error)
	// ExpireDeliveries fails deliveries with ReasonExpired.
	ExpireDeliveries(ctx context.Context, ids []string, now time.Time) error
	// SaveClaim moves the due times of deliveries, then leases others, and returns the
	// leased ones with the secrets of their consumers.
	SaveClaim(ctx context.Context, taken []Delivery, deferred []Deferral) ([]Delivery, error)
}

// DueDelivery is a delivery that is due.
type DueDelivery struct {
	Delivery
	Blocked bool // it waits for an earlier delivery
	Dead    bool // its endpoint is dead, and is tried at ProbeAt
}

// Deferral moves the due time of a delivery.
type Deferral struct {
	ID    string
	DueAt time.Time
}

// HostOf returns the host and port of a URL in lower case. Limits are per
// host, and only the host of a URL may be logged. It returns "" for an invalid
// URL.
func HostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(parsed.Host)
}

// Deliveries returns the deliveries of an event, one for each target. template has their other
// fields.
func Deliveries(template Delivery, e Event, targets []Target) ([]Delivery, error) {
	data, err := e.Data(template.Sequence)
	if err != nil {
		return nil, err
	}
	template.Event, template.Data = e.Name, data
	all := make([]Delivery, len(targets))
	for i, target := range targets {
		all[i] = template
		all[i].ID, all[i].URL, all[i].ByEndpoint = NewDeliveryID(), target.URL, target.ByEndpoint
	}
	return all, nil
}

// Target is where an event goes.
type Target struct {
	URL        string
	ByEndpoint bool // only because a registered endpoint takes the event
}

// Takers returns the URLs that a job names and those of the endpoints that take an event,
// each once.
func Takers(named []string, endpoints []Endpoint, event string) (targets []Target) {
	for _, url := range named {
		targets = append(targets, Target{URL: url})
	}
	for _, endpoint := range endpoints {
		if Takes(endpoint.Events, event) && !slices.Contains(named, endpoint.URL) {
			targets = append(targets, Target{endpoint.URL, true})
		}
	}
	return targets
}

// ConsumerTx is a transaction that emits events of a consumer.
type ConsumerTx interface {
	// InsertDelivery adds a delivery to the outbox, due at once.
	InsertDelivery(ctx context.Context, d Delivery) error
	// EnabledEndpoints returns the registered endpoints of a consumer to which events are sent.
	EnabledEndpoints(ctx context.Context, consumer uuid.UUID, mode job.Mode) ([]Endpoint, error)
	// CountConsumerEvent counts an event of a consumer. It returns the number of the event,
	// and the payload version that the consumer receives.
	CountConsumerEvent(ctx context.Context, consumer uuid.UUID) (sequence int64, version int, err error)
}

// InsertForConsumer puts an event that belongs to no job into the outbox, once for each
// registered endpoint of the consumer that takes it. It is sent within a few seconds after the
// commit. The events of a consumer are delivered in order.
func InsertForConsumer(ctx context.Context, tx ConsumerTx, consumer uuid.UUID, e Event, now time.Time) error {
	endpoints, err := tx.EnabledEndpoints(ctx, consumer, job.Live)
	if err != nil {
		return err
	}
	targets := Takers(nil, endpoints, e.Name)
	if len(targets) == 0 {
		return nil
	}
	sequence, version, err := tx.CountConsumerEvent(ctx, consumer)
	if err != nil {
		return err
	}
	template := Delivery{ConsumerID: consumer, Mode: job.Live, Sequence: sequence, EmittedAt: now, Version: version}
	deliveries, err := Deliveries(template, e, targets)
	if err != nil {
		return err
	}
	for _, d := range deliveries {
		if err := tx.InsertDelivery(ctx, d); err != nil {
			return err
		}
	}
	return nil
}
