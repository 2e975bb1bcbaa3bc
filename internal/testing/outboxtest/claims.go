package outboxtest

import (
	"slices"
	"time"

	"standin/internal/jobs/webhook"
)

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
	s.record(s.wantClaimed(start, first)[0], failed)
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
