// Package outboxtest is the conformance suite of webhook.Outbox.
package outboxtest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/webhook"
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
	if lost, err := s.RecordTries(s.Context(), []webhook.Result{result}); err != nil || len(lost) > 0 {
		s.Fatalf("record: %v, lost %v", err, lost)
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
	gaveUp    = webhook.Verdict{Outcome: webhook.GaveUp, Reason: "the receiver answered 410 Gone"}
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

func longestDueFirst(s *session) {
	late, early, future := s.delivery(1, urlA), s.delivery(2, urlB), ofAnotherJob(s.delivery(1, urlA))
	early.EmittedAt = start.Add(-time.Second)
	future.EmittedAt = start.Add(time.Millisecond)
	s.put(late, early, future)

	limited, more := s.claimWith(webhook.Claim{Now: start, Lease: lease, Limit: 1})
	if got, want := ids(limited), ids([]webhook.Delivery{early}); !slices.Equal(got, want) || !more {
		s.Fatalf("a claim of one took %v, want %v; more %v", got, want, more)
	}
	s.wantClaimed(start, late)
	s.wantClaimed(start)
	s.wantClaimed(start.Add(time.Millisecond), future)
}

func leaseEnds(s *session) {
	put := s.delivery(1, urlA)
	s.put(put)
	first := s.wantClaimed(start, put)[0]
	s.wantClaimed(start.Add(lease - time.Millisecond))
	second := s.wantClaimed(start.Add(lease), put)[0]
	if first.Attempt != 1 || second.Attempt != 2 || second.Failures != 0 {
		s.Errorf("attempts %d and %d with %d failures, want 1 and 2 with none",
			first.Attempt, second.Attempt, second.Failures)
	}
	if first.Lease == second.Lease {
		s.Error("two claims have one lease")
	}
}

func deliverInOrder(s *session) {
	first, second, third := s.delivery(1, urlA), s.delivery(2, urlA), s.delivery(3, urlA)
	third.EmittedAt = start.Add(-time.Hour) // order is by sequence, not by time
	s.put(third, first, second)

	claimed := s.wantClaimed(start, first)
	s.wantClaimed(start) // claimed, but not delivered
	s.record(claimed[0], delivered)

	claimed = s.wantClaimed(start.Add(time.Second), second)
	retry := start.Add(time.Minute)
	s.record(claimed[0], retryAt(retry))
	s.wantClaimed(start.Add(2 * time.Second)) // waits behind one whose next try is due soon
	claimed = s.wantClaimed(retry, second)
	if claimed[0].Failures != 1 {
		s.Errorf("claimed with %d failures, want 1", claimed[0].Failures)
	}
	s.record(claimed[0], retryAt(retry.Add(webhook.BlocksWithin+time.Second)))
	claimed = s.wantClaimed(retry, third)
	s.record(claimed[0], delivered)
	s.wantClaimed(start.Add(time.Hour), second) // on its own schedule
}

func orderAfterGivingUp(s *session) {
	first, second := s.delivery(1, urlA), s.delivery(2, urlA)
	s.put(first, second)
	s.record(s.wantClaimed(start, first)[0], gaveUp)
	s.wantClaimed(start, second)
	s.wantClaimed(start.Add(time.Second))
}

// probeOldest: a new event of a job is not sent before its earlier ones that wait for
// a dead endpoint, and after the recovery they are sent in order.
func probeOldest(s *session) {
	var all []webhook.Delivery
	for n := range int64(5) {
		d := s.delivery(n+1, urlA)
		d.EmittedAt = start.Add(time.Duration(n) * time.Millisecond)
		all = append(all, d)
	}
	s.put(all[:4]...)
	later := start.Add(10 * time.Minute)
	for _, d := range all[:4] {
		s.record(s.wantClaimed(start.Add(time.Second), d)[0], retryAt(later))
	}
	s.put(ofAnotherJob(s.delivery(1, urlA)))
	s.record(s.claim(start.Add(time.Second))[0], retryAt(later)) // the fifth failure
	s.put(all[4])
	probe := s.wantClaimed(start.Add(2*time.Second), all[0])[0]
	if probe.DueAt != later || probe.Attempt != 2 || probe.Failures != 1 {
		s.Errorf("the probe is %+v", probe)
	}
	s.wantClaimed(start.Add(3 * time.Second)) // one probe at a time
	s.record(probe, webhook.Verdict{Outcome: webhook.Retry, RetryAt: later, Uncounted: true})
	probe = s.wantClaimed(start.Add(4*time.Second), all[0])[0]
	if probe.DueAt != later || probe.Attempt != 3 || probe.Failures != 1 {
		s.Errorf("the next probe is %+v", probe)
	}
	s.record(probe, delivered)
	for _, want := range all[1:] {
		claimed := slices.DeleteFunc(s.claim(start.Add(5*time.Second)), func(d webhook.Delivery) bool { return d.JobID != want.JobID })
		if got := ids(claimed); len(got) != 1 || claimed[0].ID != want.ID {
			s.Fatalf("claimed %v after the recovery, want %v", got, ids([]webhook.Delivery{want}))
		}
		s.record(claimed[0], delivered)
	}
}

// expire: a delivery that has waited for a dead endpoint for longer than all tries
// take fails, except for one that is sent again.
func expire(s *session) {
	var all []webhook.Delivery
	for range webhook.DeadAfterFailures {
		all = append(all, ofAnotherJob(s.delivery(1, urlA)))
	}
	s.put(all...)
	for _, d := range s.claim(start) {
		s.record(d, retryAt(start.Add(time.Hour)))
	}
	fresh := ofAnotherJob(s.delivery(1, urlA))
	fresh.EmittedAt = start.Add(time.Hour)
	s.put(fresh)
	claimed, _ := s.claimWith(webhook.Claim{Now: start.Add(time.Hour), Lease: lease, Limit: 100, MaxAge: time.Minute})
	if got, want := ids(claimed), ids([]webhook.Delivery{fresh}); !slices.Equal(got, want) {
		s.Errorf("claimed %v, want %v", got, want)
	}
	if waiting, _, err := s.Backlog(s.Context()); err != nil || waiting != 1 {
		s.Errorf("%d deliveries wait (%v), want 1", waiting, err)
	}
}

func orderIsPerJobAndURL(s *session) {
	first, otherURL, otherJob := s.delivery(1, urlA), s.delivery(2, urlB), ofAnotherJob(s.delivery(2, urlA))
	otherURL.EmittedAt = start.Add(time.Millisecond)
	otherJob.EmittedAt = start.Add(2 * time.Millisecond)
	s.put(first, otherURL, otherJob)
	s.wantClaimed(start.Add(time.Second), first, otherURL, otherJob)
}

// only admits the deliveries to one URL, and defers all others.
func only(url string, wait time.Duration) func() webhook.AdmitFunc {
	return func() webhook.AdmitFunc {
		return func(d webhook.Delivery) (bool, time.Duration) { return d.URL == url, wait }
	}
}

func admission(s *session) {
	ofA, ofB, behind := s.delivery(1, urlA), s.delivery(1, urlB), s.delivery(2, urlA)
	s.put(ofA, ofB, behind)
	var shown []webhook.Delivery
	claimed, more := s.claimWith(webhook.Claim{Now: start, Lease: lease, Limit: 100, Admit: func() webhook.AdmitFunc {
		return func(d webhook.Delivery) (bool, time.Duration) {
			shown = append(shown, d)
			return d.URL == urlB, 0
		}
	}})
	if got, want := ids(claimed), ids([]webhook.Delivery{ofB}); !slices.Equal(got, want) || more {
		s.Fatalf("claimed %v, want %v; more %v", got, want, more)
	}
	if len(shown) != 2 {
		s.Errorf("%v were judged, want the two that are not behind another", ids(shown))
	}
	s.wantClaimed(start, ofA)
}

func deferred(s *session) {
	ofA, ofB := s.delivery(1, urlA), s.delivery(1, urlB)
	s.put(ofA, ofB)
	short := webhook.MinDefer - time.Millisecond
	claimed, _ := s.claimWith(webhook.Claim{Now: start, Lease: lease, Limit: 100, Admit: only("", short)})
	if len(claimed) > 0 {
		s.Fatalf("claimed %v", ids(claimed))
	}
	claimed, _ = s.claimWith(webhook.Claim{Now: start, Lease: lease, Limit: 100, Admit: only(urlB, 10*time.Second)})
	if got, want := ids(claimed), ids([]webhook.Delivery{ofB}); !slices.Equal(got, want) {
		s.Fatalf("claimed %v, want %v: nothing was put off by %v", got, want, short)
	}
	s.wantClaimed(start.Add(10*time.Second - time.Millisecond))
	claimed = s.wantClaimed(start.Add(11*time.Second), ofA)
	if claimed[0].Attempt != 1 {
		s.Errorf("attempt %d after it was put off, want 1", claimed[0].Attempt)
	}
}

func backlogDeferred(s *session) {
	for n := range 30 {
		put := s.delivery(int64(n), urlA) // all but the first behind others
		put.EmittedAt = start.Add(time.Duration(n-100) * time.Millisecond)
		s.put(put)
		other := ofAnotherJob(s.delivery(1, urlA))
		other.EmittedAt = put.EmittedAt
		s.put(other)
	}
	last := s.delivery(1, urlB)
	s.put(last)
	for range 20 {
		claimed, more := s.claimWith(webhook.Claim{Now: start, Lease: lease, Limit: 5, Admit: only(urlB, 0)})
		if len(claimed) == 1 && claimed[0].ID == last.ID {
			return
		}
		if len(claimed) > 0 || !more {
			s.Fatalf("claimed %v, more %v", ids(claimed), more)
		}
	}
	s.Error("the last one stays hidden behind those that are not admitted")
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
	s.record(claimed[1], gaveUp)
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
	if err := s.ReleaseDeliveries(s.Context(), []webhook.Delivery{claimed[0], stranger}); err != nil {
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

	other := s.delivery(1, urlB)
	s.put(other)
	wantLost := func(what string, results ...webhook.Result) {
		s.Helper()
		ids, err := s.RecordTries(s.Context(), results)
		if err != nil || !slices.Equal(ids, []string{put.ID}) {
			s.Errorf("%s: %v, lost %v", what, err, ids)
		}
	}
	wantLost("record without the lease", webhook.Result{Delivery: lost, Try: try(lost), Verdict: delivered})
	if tries := s.tries(put); len(tries) != 0 {
		s.Errorf("stored %+v without the lease", tries)
	}
	s.record(acquired, delivered)
	beside := s.wantClaimed(start.Add(lease), other)[0]
	wantLost("record a second time, beside another",
		webhook.Result{Delivery: acquired, Try: try(acquired), Verdict: delivered},
		webhook.Result{Delivery: beside, Try: try(beside), Verdict: delivered})
	if tries := s.tries(other); len(tries) != 1 {
		s.Errorf("stored %+v of the other", tries)
	}
	s.wantClaimed(start.Add(time.Hour))
}
