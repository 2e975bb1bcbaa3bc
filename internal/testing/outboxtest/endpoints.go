package outboxtest

import (
	"slices"
	"time"

	"standin/internal/jobs/webhook"
)

// The waiting deliveries of an endpoint that was dead are due when it
// recovers, but not before a requested Retry-After.
func recovered(s *session) {
	var all []webhook.Delivery
	for range webhook.DeadAfterFailures + 1 {
		all = append(all, ofAnotherJob(s.delivery(1, urlA)))
	}
	other := ofAnotherJob(s.delivery(1, urlB))
	s.put(append(slices.Clone(all), other)...)
	claimed := s.claim(start)
	if len(claimed) != len(all)+1 {
		s.Fatalf("claimed %d", len(claimed))
	}
	later := start.Add(10 * time.Hour)
	var last webhook.Delivery
	for _, d := range claimed {
		switch d.ID {
		case all[0].ID:
			request := retryAt(later)
			request.NotBefore = start.Add(time.Hour)
			s.record(d, request)
		case all[1].ID:
			last = d
		default:
			s.record(d, retryAt(later))
		}
	}
	s.wantClaimed(start.Add(time.Minute - time.Second))
	s.record(last, delivered)
	resumed := s.claim(start.Add(2 * time.Minute))
	if len(resumed) != webhook.DeadAfterFailures-1 {
		s.Errorf("%d are due once the endpoint is back, want %d", len(resumed), webhook.DeadAfterFailures-1)
	}
	for _, d := range resumed {
		s.record(d, delivered)
	}
	s.wantClaimed(start.Add(time.Hour), all[0])
}

func recoveredMany(s *session) {
	const many = 120
	var all []webhook.Delivery
	for range webhook.DeadAfterFailures + 1 + many {
		all = append(all, ofAnotherJob(s.delivery(1, urlA)))
	}
	s.put(all...)
	claimed, _ := s.claimWith(webhook.Claim{Now: start, Lease: lease, Limit: len(all) + 1, Admit: func() webhook.AdmitFunc {
		admitted := 0
		return func(webhook.Delivery) (bool, time.Duration) {
			admitted++
			return admitted <= webhook.DeadAfterFailures+1, time.Hour
		}
	}})
	for _, d := range claimed[1:] {
		s.record(d, retryAt(start.Add(10*time.Hour)))
	}
	s.record(claimed[0], delivered)
	due, _ := s.claimWith(webhook.Claim{Now: start.Add(time.Minute), Lease: lease, Limit: len(all)})
	if len(due) != len(all)-1 {
		s.Errorf("%d are due once the endpoint is back, want %d", len(due), len(all)-1)
	}
}

// The deferred deliveries of an endpoint that responds again are due; those
// that failed keep their schedule.
func respondsAgain(s *session) {
	var all []webhook.Delivery
	for n := range 4 {
		d := ofAnotherJob(s.delivery(1, urlA))
		d.EmittedAt = start.Add(time.Duration(n) * time.Millisecond)
		all = append(all, d)
	}
	other := ofAnotherJob(s.delivery(1, urlB))
	s.put(append(slices.Clone(all), other)...)
	claimed, _ := s.claimWith(webhook.Claim{Now: start.Add(time.Second), Lease: lease, Limit: 100, Admit: func() webhook.AdmitFunc {
		return func(d webhook.Delivery) (bool, time.Duration) {
			return d.ID == all[0].ID || d.ID == all[1].ID, time.Hour
		}
	}})
	if len(claimed) != 2 {
		s.Fatalf("claimed %v", ids(claimed))
	}
	s.record(claimed[0], retryAt(start.Add(30*time.Minute)))
	s.recordTry(webhook.Result{Delivery: claimed[1], Try: try(claimed[1]), Verdict: retryAt(start.Add(30 * time.Minute)), Resume: true})
	resumed, want := ids(s.claim(start.Add(2*time.Second))), ids(all[2:])
	slices.Sort(resumed)
	slices.Sort(want)
	if !slices.Equal(resumed, want) {
		s.Errorf("due once the endpoint answers: %v, want %v", resumed, want)
	}
}

// A single failure does not change the schedules of other deliveries.
func singleFailure(s *session) {
	first, second := s.delivery(1, urlA), ofAnotherJob(s.delivery(1, urlA))
	second.EmittedAt = start.Add(time.Millisecond)
	s.put(first, second)
	claimed := s.wantClaimed(start.Add(time.Second), first, second)
	s.record(claimed[0], retryAt(start.Add(time.Hour)))
	s.record(claimed[1], delivered)
	s.wantClaimed(start.Add(30 * time.Minute))
	s.wantClaimed(start.Add(time.Hour), first)
}
