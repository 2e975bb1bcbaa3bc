package outboxtest

import (
	"reflect"
	"strings"
	"sync"
	"time"

	"standin/internal/jobs/webhook"
)

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
	failure.ResponseBody = []byte("\x00\xff not text")
	retry := start.Add(5 * time.Second)
	s.recordTry(webhook.Result{Delivery: first, Try: failure, Verdict: retryAt(retry)})
	s.wantClaimed(retry.Add(-time.Millisecond))
	second := s.wantClaimed(retry, put)[0]
	if second.Attempt != 2 || second.Failures != 1 || second.ID != put.ID {
		s.Errorf("claimed again as %+v", second)
	}
	success := try(second)
	success.StatusCode = 204
	s.recordTry(webhook.Result{Delivery: second, Try: success, Verdict: delivered})
	s.wantClaimed(start.Add(48 * time.Hour))

	tries := s.tries(put)
	if len(tries) != 2 {
		s.Fatalf("stored %d tries, want 2", len(tries))
	}
	for i, want := range []webhook.Try{failure, success} {
		got := tries[i]
		if !got.StartedAt.Equal(want.StartedAt) || string(got.ResponseBody) != string(want.ResponseBody) {
			s.Errorf("try %d started at %v with answer %q, want %v, %q",
				i+1, got.StartedAt, got.ResponseBody, want.StartedAt, want.ResponseBody)
		}
		got.StartedAt, got.ResponseBody = want.StartedAt, want.ResponseBody
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
				claimed, _, err := webhook.ClaimDeliveries(s.Context(), s.Outbox, webhook.Claim{Now: start, Lease: lease, Limit: 7})
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
