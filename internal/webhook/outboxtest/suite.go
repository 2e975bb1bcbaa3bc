// Package outboxtest says in tests what webhook.Outbox says in words. Every
// implementation passes the suite.
package outboxtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/webhook"
)

// Subject is an empty outbox under test.
type Subject interface {
	webhook.Outbox

	// Put stores waiting deliveries that were never claimed, due at their
	// EmittedAt, with the jobs and consumers they belong to. Secrets are those
	// of the consumer: the suite gives all deliveries of one the same.
	Put(ctx context.Context, deliveries ...webhook.Delivery) error

	// Tries returns the recorded tries of a delivery in the order of their
	// numbers.
	Tries(ctx context.Context, deliveryID string) ([]webhook.Try, error)
}

// Run runs the suite. open gives each test its own empty outbox.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	tests := []struct {
		name string
		test func(s *session)
	}{
		{"a claim carries the whole delivery", wholeDelivery},
		{"what is due is claimed, the longest due first", longestDueFirst},
		{"a claim ends with its lease", leaseEnds},
		{"later ones wait for earlier ones", order},
		{"a delivery given up holds nothing back", orderAfterGivingUp},
		{"other jobs and addresses do not wait", orderIsPerJobAndURL},
		{"busy hosts are left out", busyHosts},
		{"no host fills a claim", perHost},
		{"what is released is as if never claimed", release},
		{"the lease decides who may record", lostLease},
		{"a try and its verdict are stored", record},
		{"the next due time", next},
		{"claims at the same time share nothing", concurrentClaims},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.test(&session{T: t, Subject: open(t), job: uuid.New(), consumer: uuid.New()})
		})
	}
}

// start is when the deliveries of the suite are emitted.
var start = time.Date(2026, 11, 20, 9, 30, 0, 123_000_000, time.UTC)

const lease = time.Minute

type session struct {
	*testing.T
	Subject

	job, consumer uuid.UUID
}

// delivery makes one of the session's job, named by its place in order.
func (s *session) delivery(sequence int64, url string) webhook.Delivery {
	return webhook.Delivery{
		ID:         webhook.NewDeliveryID(),
		JobID:      s.job,
		ConsumerID: s.consumer,
		URL:        url,
		Event:      webhook.JobStatusChanged,
		Sequence:   sequence,
		EmittedAt:  start,
		Data:       json.RawMessage(fmt.Sprintf(`{"sequence":%d}`, sequence)),
		Version:    webhook.Version2,
		Secrets:    []webhook.Secret{{Value: "whsec_c2VjcmV0"}},
	}
}

// ofAnotherJob moves a delivery to a job of its own.
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
	return s.claimWith(webhook.Claim{Now: now, Lease: lease, Limit: 100, PerHost: 100})
}

func (s *session) claimWith(claim webhook.Claim) []webhook.Delivery {
	s.Helper()
	claimed, err := s.ClaimDeliveries(s.Context(), claim)
	if err != nil {
		s.Fatalf("claim: %v", err)
	}
	return claimed
}

// wantClaimed claims at that time and compares which deliveries come.
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
	if err := s.RecordTry(s.Context(), delivery, try(delivery), verdict); err != nil {
		s.Fatalf("record: %v", err)
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
	want.Attempt, want.Lease = 1, got.Lease
	// Times and JSON are compared by what they mean.
	if !got.EmittedAt.Equal(want.EmittedAt) || !sameJSON(got.Data, want.Data) {
		s.Errorf("emitted at %v with %s, want %v with %s", got.EmittedAt, got.Data, want.EmittedAt, want.Data)
	}
	if len(got.Secrets) == 2 && got.Secrets[1].ExpiresAt.Equal(want.Secrets[1].ExpiresAt) {
		got.Secrets[1].ExpiresAt = want.Secrets[1].ExpiresAt
	}
	got.EmittedAt, got.Data = want.EmittedAt, want.Data
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

	limited := s.claimWith(webhook.Claim{Now: start, Lease: lease, Limit: 1, PerHost: 100})
	if got, want := ids(limited), ids([]webhook.Delivery{early}); !slices.Equal(got, want) {
		s.Fatalf("a claim of one took %v, want %v", got, want)
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

func order(s *session) {
	first, second, third := s.delivery(1, urlA), s.delivery(2, urlA), s.delivery(3, urlA)
	third.EmittedAt = start.Add(-time.Hour) // order is by sequence, not by time
	s.put(third, first, second)

	claimed := s.wantClaimed(start, first)
	s.wantClaimed(start) // claimed, but not delivered
	s.record(claimed[0], delivered)

	for failures := range webhook.FailuresBeforeOvertaking {
		at := start.Add(time.Duration(failures+1) * time.Minute)
		claimed = s.wantClaimed(at, second)
		if claimed[0].Failures != failures {
			s.Errorf("claimed with %d failures, want %d", claimed[0].Failures, failures)
		}
		s.record(claimed[0], retryAt(at.Add(30*time.Second)))
		if failures+1 < webhook.FailuresBeforeOvertaking {
			s.wantClaimed(at) // waits behind one that may still be a hiccup
		}
	}
	claimed = s.wantClaimed(start.Add(2*time.Minute), third)
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

func orderIsPerJobAndURL(s *session) {
	first, otherURL, otherJob := s.delivery(1, urlA), s.delivery(2, urlB), ofAnotherJob(s.delivery(2, urlA))
	otherURL.EmittedAt = start.Add(time.Millisecond)
	otherJob.EmittedAt = start.Add(2 * time.Millisecond)
	s.put(first, otherURL, otherJob)
	s.wantClaimed(start.Add(time.Second), first, otherURL, otherJob)
}

func busyHosts(s *session) {
	ofA, ofB := s.delivery(1, urlA), s.delivery(1, urlB)
	s.put(ofA, ofB)
	busy := s.claimWith(webhook.Claim{
		Now: start, Lease: lease, Limit: 100, PerHost: 100,
		Busy: []string{webhook.HostOf(urlA), "elsewhere.example"},
	})
	if got, want := ids(busy), ids([]webhook.Delivery{ofB}); !slices.Equal(got, want) {
		s.Fatalf("claimed %v, want %v", got, want)
	}
	s.wantClaimed(start, ofA)
}

func perHost(s *session) {
	var all []webhook.Delivery
	for n := range 10 {
		put := ofAnotherJob(s.delivery(1, urlA))
		put.EmittedAt = start.Add(time.Duration(n-100) * time.Millisecond)
		all = append(all, put)
	}
	all = append(all, s.delivery(1, urlB)) // due last
	s.put(all...)
	claimed := s.claimWith(webhook.Claim{Now: start, Lease: lease, Limit: 5, PerHost: 3})
	count := map[string]int{}
	for _, delivery := range claimed {
		count[delivery.URL]++
	}
	if count[urlA] != 3 || count[urlB] != 1 {
		s.Errorf("claimed %v, want 3 of %s and 1 of %s", count, urlA, urlB)
	}
	if got, want := ids(claimed[:3]), ids(all[:3]); !slices.Equal(got, want) {
		s.Errorf("claimed %v of the host, want the longest due %v", got, want)
	}
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
	held := s.wantClaimed(start.Add(lease), put)[0]

	err := s.RecordTry(s.Context(), lost, try(lost), delivered)
	if !errors.Is(err, webhook.ErrLeaseLost) {
		s.Fatalf("record without the lease: %v", err)
	}
	if tries := s.tries(put); len(tries) != 0 {
		s.Errorf("stored %+v without the lease", tries)
	}
	s.record(held, delivered)
	if err := s.RecordTry(s.Context(), held, try(held), delivered); !errors.Is(err, webhook.ErrLeaseLost) {
		s.Errorf("record a second time: %v", err)
	}
	s.wantClaimed(start.Add(time.Hour))
}

func (s *session) tries(delivery webhook.Delivery) []webhook.Try {
	s.Helper()
	tries, err := s.Tries(s.Context(), delivery.ID)
	if err != nil {
		s.Fatalf("read tries: %v", err)
	}
	return tries
}

func record(s *session) {
	put := s.delivery(1, urlA)
	s.put(put)
	first := s.wantClaimed(start, put)[0]
	failure := try(first)
	failure.Error = strings.Repeat("é", 200)
	failure.Answer = []byte("\x00\xff not text")
	retry := start.Add(5 * time.Second)
	if err := s.RecordTry(s.Context(), first, failure, retryAt(retry)); err != nil {
		s.Fatalf("record: %v", err)
	}
	s.wantClaimed(retry.Add(-time.Millisecond))
	second := s.wantClaimed(retry, put)[0]
	if second.Attempt != 2 || second.Failures != 1 || second.ID != put.ID {
		s.Errorf("claimed again as %+v", second)
	}
	success := try(second)
	success.StatusCode = 204
	if err := s.RecordTry(s.Context(), second, success, delivered); err != nil {
		s.Fatalf("record: %v", err)
	}
	s.wantClaimed(start.Add(48 * time.Hour))

	tries := s.tries(put)
	if len(tries) != 2 {
		s.Fatalf("stored %d tries, want 2", len(tries))
	}
	for i, want := range []webhook.Try{failure, success} {
		got := tries[i]
		if !got.StartedAt.Equal(want.StartedAt) || string(got.Answer) != string(want.Answer) {
			s.Errorf("try %d started at %v with answer %q, want %v, %q",
				i+1, got.StartedAt, got.Answer, want.StartedAt, want.Answer)
		}
		got.StartedAt, got.Answer = want.StartedAt, want.Answer
		if !reflect.DeepEqual(got, want) {
			s.Errorf("stored try %+v, want %+v", got, want)
		}
	}
}

func next(s *session) {
	wantNext := func(after, want time.Time) {
		s.Helper()
		got, ok, err := s.NextDelivery(s.Context(), after)
		if err != nil {
			s.Fatalf("next: %v", err)
		}
		if ok != !want.IsZero() || ok && !got.Equal(want) {
			s.Errorf("next after %v is %v (%v), want %v", after, got, ok, want)
		}
	}
	wantNext(start, time.Time{})

	put := s.delivery(1, urlA)
	s.put(put)
	wantNext(start.Add(-time.Second), start)
	wantNext(start, time.Time{}) // due already is not next

	claimed := s.wantClaimed(start, put)
	wantNext(start, start.Add(lease))
	s.record(claimed[0], retryAt(start.Add(5*time.Second)))
	wantNext(start, start.Add(5*time.Second))

	claimed = s.wantClaimed(start.Add(5*time.Second), put)
	s.record(claimed[0], delivered)
	wantNext(start, time.Time{})
}

func concurrentClaims(s *session) {
	const deliveries, claimers = 60, 6
	for range deliveries {
		s.put(ofAnotherJob(s.delivery(1, urlA)))
	}
	var (
		mu      sync.Mutex
		seen    = map[string]int{}
		waiting sync.WaitGroup
	)
	for range claimers {
		waiting.Go(func() {
			for {
				claimed, err := s.ClaimDeliveries(s.Context(), webhook.Claim{
					Now: start, Lease: lease, Limit: 7, PerHost: 7,
				})
				if err != nil {
					s.Errorf("claim: %v", err)
					return
				}
				if len(claimed) == 0 {
					return
				}
				mu.Lock()
				for _, delivery := range claimed {
					seen[delivery.ID]++
				}
				mu.Unlock()
			}
		})
	}
	waiting.Wait()
	// With claims at the same time, one may find nothing while another holds
	// what it wanted; nothing may be left when all is quiet.
	for {
		claimed := s.claim(start)
		if len(claimed) == 0 {
			break
		}
		for _, delivery := range claimed {
			seen[delivery.ID]++
		}
	}
	if len(seen) != deliveries {
		s.Errorf("%d deliveries were claimed, want %d", len(seen), deliveries)
	}
	for id, times := range seen {
		if times != 1 {
			s.Errorf("%s was claimed %d times under one lease", id, times)
		}
	}
}
