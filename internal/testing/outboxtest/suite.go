// Package outboxtest is the conformance suite of webhook.Outbox.
package outboxtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
)

// Outbox is an empty outbox under test.
type Outbox interface {
	webhook.Outbox

	// Put inserts waiting deliveries that are due at their EmittedAt, with
	// their jobs and consumers. The suite gives all deliveries of a consumer
	// the same secrets.
	Put(ctx context.Context, deliveries ...webhook.Delivery) error

	// Tries returns the recorded tries of a delivery in order.
	Tries(ctx context.Context, deliveryID string) ([]webhook.Try, error)
}

// Run runs the suite. open returns an empty outbox for each test.
func Run(t *testing.T, open func(t *testing.T) Outbox) {
	tests := []struct {
		name string
		test func(s *session)
	}{
		{"a claim returns the whole delivery", wholeDelivery},
		{"due deliveries are claimed, longest due first", longestDueFirst},
		{"a claim ends with its lease", leaseEnds},
		{"later deliveries wait for earlier ones", deliverInOrder},
		{"a failed delivery does not block later ones", orderAfterGivingUp},
		{"a dead endpoint is probed with its oldest delivery", probeOldest},
		{"deliveries to a dead endpoint expire", expire},
		{"other jobs and URLs do not wait", orderIsPerJobAndURL},
		{"only admitted deliveries are taken", admission},
		{"deliveries that are not admitted are deferred", deferred},
		{"many deferred deliveries do not hide others", backlogDeferred},
		{"a recovered endpoint gets waiting deliveries", recovered},
		{"a recovered endpoint gets all waiting deliveries", recoveredMany},
		{"an endpoint that responds again gets deferred deliveries", respondsAgain},
		{"a failure changes only its own schedule", singleFailure},
		{"the backlog", backlog},
		{"a released delivery is as if never claimed", release},
		{"only the holder of a lease may record", lostLease},
		{"a try and its verdict are stored", record},
		{"the next due time", next},
		{"concurrent claims share nothing", concurrentClaims},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.test(&session{T: t, Outbox: open(t), job: uuid.New(), consumer: uuid.New()})
		})
	}
}

// start is when the deliveries of the suite are emitted.
var start = time.Date(2026, 11, 20, 9, 30, 0, 123_000_000, time.UTC)

const lease = time.Minute

type session struct {
	*testing.T
	Outbox

	job, consumer uuid.UUID
}

// delivery returns a delivery of the session's job.
func (s *session) delivery(sequence int64, url string) webhook.Delivery {
	return webhook.Delivery{
		ID:         webhook.NewDeliveryID(),
		JobID:      s.job,
		ConsumerID: s.consumer,
		Mode:       job.Live,
		URL:        url,
		Event:      webhook.JobStatusChanged,
		Sequence:   sequence,
		EmittedAt:  start,
		Data:       json.RawMessage(fmt.Sprintf(`{"sequence":%d}`, sequence)),
		Version:    webhook.Version2,
		Secrets:    []webhook.Secret{{Value: "whsec_c2VjcmV0"}},
	}
}

// ofAnotherJob moves a delivery to its own job.
func ofAnotherJob(delivery webhook.Delivery) webhook.Delivery {
	delivery.JobID = uuid.New()
	return delivery
}

func (s *session) put(deliveries ...webhook.Delivery) {
	s.Helper()
	if err := s.Put(s.Context(), deliveries...); err != nil {
		s.Fatalf("put: %v", err)
	}
}

func (s *session) claim(now time.Time) []webhook.Delivery {
	s.Helper()
	claimed, _ := s.claimWith(webhook.Claim{Now: now, Lease: lease, Limit: 100})
	return claimed
}

func (s *session) claimWith(claim webhook.Claim) (claimed []webhook.Delivery, more bool) {
	s.Helper()
	claimed, more, err := webhook.ClaimDeliveries(s.Context(), s.Outbox, claim)
	if err != nil {
		s.Fatalf("claim: %v", err)
	}
	return claimed, more
}

// wantClaimed claims at a time and compares the IDs.
func (s *session) wantClaimed(now time.Time, want ...webhook.Delivery) []webhook.Delivery {
	s.Helper()
	claimed := s.claim(now)
	if got, want := ids(claimed), ids(want); !slices.Equal(got, want) {
		s.Fatalf("claimed %v, want %v", got, want)
	}
	return claimed
}

func ids(deliveries []webhook.Delivery) []string {
	var all []string
	for _, delivery := range deliveries {
		all = append(all, fmt.Sprintf("%s(%d)", delivery.ID, delivery.Sequence))
	}
	return all
}

func (s *session) record(delivery webhook.Delivery, verdict webhook.Verdict) {
	s.Helper()
	s.recordTry(webhook.Result{Delivery: delivery, Try: try(delivery), Verdict: verdict, UpdateEndpoint: true})
}

func (s *session) recordTry(result webhook.Result) {
	s.Helper()
	if lost, err := s.RecordTry(s.Context(), result); err != nil || lost {
		s.Fatalf("record: %v, lost %t", err, lost)
	}
}

func try(delivery webhook.Delivery) webhook.Try {
	return webhook.Try{
		DeliveryID: delivery.ID,
		Number:     delivery.Attempt,
		StartedAt:  start.Add(time.Second),
		Latency:    250 * time.Millisecond,
		StatusCode: 500,
	}
}

func retryAt(at time.Time) webhook.Verdict {
	return webhook.Verdict{Outcome: webhook.Retry, RetryAt: at}
}

var (
	delivered = webhook.Verdict{Outcome: webhook.Delivered}
	failed    = webhook.Verdict{Outcome: webhook.PermanentFailure, Reason: "the receiver answered 410 Gone"}
)

const (
	urlA = "https://a.example/hook?token=1"
	urlB = "https://b.example/hook"
)

func wholeDelivery(s *session) {
	put := s.delivery(3, urlA)
	put.Secrets = []webhook.Secret{
		{Value: "whsec_bmV3"},
		{Value: "whsec_b2xk", ExpiresAt: start.Add(24 * time.Hour)},
	}
	s.put(put)
	got := s.wantClaimed(start, put)[0]
	if got.Lease == "" {
		s.Error("a claimed delivery has no lease")
	}
	want := put
	want.Attempt, want.Lease, want.LeasedTo = 1, got.Lease, start.Add(lease)
	if got.LeasedTo.Equal(want.LeasedTo) {
		got.LeasedTo = want.LeasedTo
	}
	// Times and JSON are compared by value.
	if !got.EmittedAt.Equal(want.EmittedAt) || !sameJSON(got.Data, want.Data) {
		s.Errorf("emitted at %v with %s, want %v with %s", got.EmittedAt, got.Data, want.EmittedAt, want.Data)
	}
	if len(got.Secrets) == 2 && got.Secrets[1].ExpiresAt.Equal(want.Secrets[1].ExpiresAt) {
		got.Secrets[1].ExpiresAt = want.Secrets[1].ExpiresAt
	}
	if !got.DueAt.Equal(start) {
		s.Errorf("due at %v, want %v", got.DueAt, start)
	}
	got.EmittedAt, got.Data, got.DueAt = want.EmittedAt, want.Data, want.DueAt
	if !reflect.DeepEqual(got, want) {
		s.Errorf("claimed %+v, want %+v", got, want)
	}
}

func sameJSON(a, b []byte) bool {
	var left, right any
	if json.Unmarshal(a, &left) != nil || json.Unmarshal(b, &right) != nil {
		return false
	}
	return reflect.DeepEqual(left, right)
}

func backlog(s *session) {
	want := func(waiting int64, oldest time.Time) {
		s.Helper()
		n, at, err := s.Backlog(s.Context())
		if err != nil || n != waiting || !at.Equal(oldest) {
			s.Errorf("backlog %d, oldest %v (%v), want %d, %v", n, at, err, waiting, oldest)
		}
	}
	want(0, time.Time{})
	young, old := s.delivery(1, urlA), s.delivery(1, urlB)
	old.EmittedAt = start.Add(-time.Hour)
	s.put(young, old)
	want(2, old.EmittedAt)
	claimed := s.wantClaimed(start, old, young)
	want(2, old.EmittedAt)
	s.record(claimed[0], delivered)
	want(1, young.EmittedAt)
	s.record(claimed[1], failed)
	want(0, time.Time{})
}

func release(s *session) {
	put, lost := s.delivery(1, urlA), s.delivery(1, urlB)
	lost.EmittedAt = start.Add(time.Millisecond)
	s.put(put, lost)
	at := start.Add(time.Second)
	claimed := s.wantClaimed(at, put, lost)

	stranger := claimed[1]
	stranger.Lease = uuid.NewString()
	if err := errors.Join(s.ReleaseDelivery(s.Context(), claimed[0]), s.ReleaseDelivery(s.Context(), stranger)); err != nil {
		s.Fatalf("release: %v", err)
	}
	again := s.wantClaimed(at, put) // and not the one of another lease
	if again[0].Attempt != 1 {
		s.Errorf("attempt %d after a release, want 1", again[0].Attempt)
	}
}

func lostLease(s *session) {
	put := s.delivery(1, urlA)
	s.put(put)
	lost := s.wantClaimed(start, put)[0]
	acquired := s.wantClaimed(start.Add(lease), put)[0]
	wantLost := func(what string, result webhook.Result) {
		s.Helper()
		if lost, err := s.RecordTry(s.Context(), result); err != nil || !lost {
			s.Errorf("%s: %v, lost %t", what, err, lost)
		}
	}
	wantLost("record without the lease", webhook.Result{Delivery: lost, Try: try(lost), Verdict: delivered})
	if tries := s.tries(put); len(tries) != 0 {
		s.Errorf("stored %+v without the lease", tries)
	}
	s.record(acquired, delivered)
	wantLost("record a second time", webhook.Result{Delivery: acquired, Try: try(acquired), Verdict: delivered})
	s.wantClaimed(start.Add(time.Hour))
}
