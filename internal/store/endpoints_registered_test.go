package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
)

// register registers an endpoint for live jobs.
func register(t *testing.T, s *store.Store, consumer uuid.UUID, url string, events ...string) webhook.Endpoint {
	t.Helper()
	e := webhook.Endpoint{ConsumerID: consumer, URL: url, Mode: job.Live, Events: events, Enabled: true, CreatedAt: now}
	if err := s.RegisterEndpoint(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	caller := live(consumer)
	found, err := s.Endpoint(t.Context(), caller, webhook.EndpointID(consumer, job.Live, url), now)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// checkOwner checks the consumer of a job, and its enabled endpoints.
func checkOwner(t *testing.T, s *store.Store, r job.Record, want ...webhook.Endpoint) {
	t.Helper()
	team, err := s.Team(t.Context(), r.ConsumerID)
	same := slices.EqualFunc(team.Endpoints[job.Live], want, func(a, b webhook.Endpoint) bool {
		return a.URL == b.URL && slices.Equal(a.Events, b.Events)
	})
	if err != nil || team.ID != r.ConsumerID || !same {
		t.Errorf("%+v, %v, want %+v", team, err, want)
	}
}

// TestRegisterEndpoint registers, changes and deletes endpoints.
func TestRegisterEndpoint(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		const url = "https://a.test/"
		r := newJob(newConsumer(t, s).ID)
		insert(t, s, r)
		post(t, s, newDelivery(r, 1, url))
		tryDelivery(t, s, claimDeliveries(t, s, now)[0], now, webhook.Verdict{Outcome: webhook.Retry, RetryAt: now.Add(time.Hour)})

		e := register(t, s, r.ConsumerID, url, "bot.*") // the URL of a job too
		if e.Failures != 1 || !e.Enabled || !slices.Equal(e.Events, []string{"bot.*"}) || !e.CreatedAt.Equal(now) || e.Waiting != 1 {
			t.Errorf("registered %+v", e)
		}
		if err := s.RegisterEndpoint(t.Context(), e); !job.ErrorIs(err, job.InvalidState) {
			t.Errorf("register again: %v", err)
		}
		testMode := account.Caller{ConsumerID: r.ConsumerID, Mode: job.Test}
		if _, err := s.Endpoint(t.Context(), testMode, e.ID, now); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("the endpoint of the other mode: %v", err)
		}
		checkOwner(t, s, r, e)
		e.Mode, e.Events, e.Enabled = job.Live, []string{"*"}, false
		if err := s.UpdateEndpoint(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if enabled, err := s.EnabledEndpoints(t.Context(), r.ConsumerID, job.Live); err != nil || len(enabled) != 0 {
			t.Errorf("enabled %v, %v", enabled, err)
		}
		checkOwner(t, s, r)
		asked := newDelivery(r, 2, url)
		asked.ByEndpoint = true
		post(t, s, asked)
		test := e
		test.Mode = job.Test // an endpoint of its own, at the same URL
		if err := s.RegisterEndpoint(t.Context(), test); err != nil {
			t.Fatal(err)
		}
		test.Key = webhook.EndpointKey(test.ConsumerID, test.Mode, test.URL)
		waiting := func(want ...webhook.DeliveryState) {
			t.Helper()
			left, _, err := s.ListDeliveries(t.Context(), r.ID, webhook.DeliveryCursor{}, 10, now)
			states := make([]webhook.DeliveryState, len(left))
			for i, d := range left {
				states[i] = d.State
			}
			if err != nil || !slices.Equal(states, want) {
				t.Errorf("the deliveries are %v (%v), want %v", states, err, want)
			}
		}
		if err := s.DeleteEndpoint(t.Context(), test, now); err != nil {
			t.Fatal(err)
		}
		waiting(webhook.DeliveryWaiting, webhook.DeliveryWaiting)
		if err := s.DeleteEndpoint(t.Context(), e, now); err != nil {
			t.Fatal(err)
		}
		waiting(webhook.DeliveryWaiting, webhook.DeliveryFailed) // the job names the URL of the first
		for n := range store.MaxEndpoints {
			register(t, s, r.ConsumerID, fmt.Sprintf("https://%d.test/", n), "*")
		}
		e.URL = "https://more.test/"
		if err := s.RegisterEndpoint(t.Context(), e); !job.ErrorIs(err, job.InvalidState) {
			t.Errorf("register too many: %v", err)
		}
	})
}

// emit emits an event of a consumer.
func emit(t *testing.T, s *store.Store, consumer uuid.UUID, name string, at time.Time) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return webhook.InsertForConsumer(ctx, tx, consumer, webhook.CalendarChanged(name, webhook.CalendarMeeting{}), at)
	})
}

// TestConsumerEvents checks that events without a job go to the endpoints that take them, in
// order, and can be listed, sent again and erased.
func TestConsumerEvents(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		const url = "https://calendar.test/"
		consumer := newConsumer(t, s).ID
		caller := live(consumer)
		emit(t, s, consumer, webhook.CalendarEventScheduled, now) // nobody takes it
		register(t, s, consumer, url, "calendar.*")
		register(t, s, consumer, "https://jobs.test/", "job.*")
		emit(t, s, consumer, webhook.CalendarEventScheduled, now)
		emit(t, s, consumer, webhook.CalendarEventCancelled, now)

		claimed := claimDeliveries(t, s, now)
		if len(claimed) != 1 || claimed[0].JobID != uuid.Nil || claimed[0].Sequence != 1 || claimed[0].URL != url ||
			len(claimed[0].Secrets) != 1 {
			t.Fatalf("claimed %+v, want the first event", claimed)
		}
		tryDelivery(t, s, claimed[0], now, webhook.Verdict{Outcome: webhook.PermanentFailure, Reason: "410"})
		if claimed = claimDeliveries(t, s, now); len(claimed) != 1 || claimed[0].Sequence != 2 {
			t.Fatalf("claimed %+v, want the second event", claimed)
		}
		tryDelivery(t, s, claimed[0], now, webhook.Verdict{Outcome: webhook.Delivered})
		later := now.Add(time.Second)
		if count, err := s.RedeliverFailed(t.Context(), caller, webhook.FailedFilter{URL: url}, later); err != nil || count != 1 {
			t.Errorf("redelivered %d, %v", count, err)
		}
		tryDelivery(t, s, claimDeliveries(t, s, later)[0], later, webhook.Verdict{Outcome: webhook.Delivered})

		log, _, err := s.DeliveryLog(t.Context(), caller, webhook.LogFilter{}, webhook.LogCursor{}, 10, now)
		if err != nil || len(log) != 2 || len(log[0].Tries)+len(log[1].Tries) != 3 {
			t.Errorf("log %+v, %v", log, err)
		}
		if err := s.EraseConsumerDeliveries(t.Context(), consumer, now); err != nil {
			t.Fatal(err)
		}
		if log, _, err = s.DeliveryLog(t.Context(), caller, webhook.LogFilter{}, webhook.LogCursor{}, 10, now); err != nil ||
			len(log) > 0 {
			t.Errorf("log after the erasure %+v, %v", log, err)
		}
		if err := s.DeleteConsumer(t.Context(), consumer); err != nil {
			t.Errorf("delete the consumer: %v", err)
		}
	})
}

// TestDeliveryLog checks each filter, and that pages continue where the one before ended.
func TestDeliveryLog(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		const a, b = "https://a.test/", "https://b.test/"
		r := newJob(newConsumer(t, s).ID)
		other := newJob(r.ConsumerID)
		insert(t, s, r, other)
		var all []webhook.Delivery // newest first
		add := func(of job.Record, url, event string) {
			d := newDelivery(of, int64(len(all)+1), url)
			d.Event, d.EmittedAt = event, now.Add(time.Duration(len(all)/2)*time.Minute) // pairs of the same time
			all = slices.Insert(all, 0, d)
			post(t, s, d)
		}
		for range 3 {
			add(r, a, webhook.JobStatusChanged)
			add(r, b, webhook.JobStatusChanged)
			add(other, a, webhook.JobFailed)
		}
		at := now.Add(time.Hour)
		for _, d := range claimDeliveries(t, s, at) { // the first of each job and URL
			verdict := webhook.Verdict{Outcome: webhook.Delivered}
			if d.URL == b {
				verdict = webhook.Verdict{Outcome: webhook.PermanentFailure, Reason: "410"}
			}
			tryDelivery(t, s, d, at, verdict)
		}
		id := func(n int) string { return all[len(all)-n].ID }
		for name, test := range map[string]struct {
			filter webhook.LogFilter
			want   []string // of the nth events
		}{
			"none":      {webhook.LogFilter{}, []string{id(9), id(8), id(7), id(6), id(5), id(4), id(3), id(2), id(1)}},
			"event":     {webhook.LogFilter{Event: webhook.JobFailed}, []string{id(9), id(6), id(3)}},
			"endpoint":  {webhook.LogFilter{Endpoint: webhook.EndpointID(r.ConsumerID, job.Live, b)}, []string{id(8), id(5), id(2)}},
			"job":       {webhook.LogFilter{JobID: other.ID}, []string{id(9), id(6), id(3)}},
			"failed":    {webhook.LogFilter{State: webhook.DeliveryFailed}, []string{id(2)}},
			"delivered": {webhook.LogFilter{State: webhook.DeliveryDelivered}, []string{id(3), id(1)}},
			"waiting":   {webhook.LogFilter{State: webhook.DeliveryWaiting, JobID: other.ID}, []string{id(9), id(6)}},
			"time":      {webhook.LogFilter{From: now.Add(time.Minute), To: now.Add(2 * time.Minute)}, []string{id(4), id(3)}},
		} {
			var got []string
			var after webhook.LogCursor
			caller := live(r.ConsumerID)
			for more := true; more; {
				var page []webhook.DeliveryRecord
				var err error
				if page, more, err = s.DeliveryLog(t.Context(), caller, test.filter, after, 2, at); err != nil {
					t.Fatal(err)
				}
				for _, d := range page {
					got, after = append(got, d.ID), webhook.LogCursor{EmittedAt: d.EmittedAt, ID: d.ID}
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s: got %v, want %v", name, got, test.want)
			}
		}
		testMode := account.Caller{ConsumerID: r.ConsumerID, Mode: job.Test}
		if none, _, err := s.DeliveryLog(t.Context(), testMode, webhook.LogFilter{}, webhook.LogCursor{}, 2, at); err != nil || len(none) > 0 {
			t.Errorf("of test jobs: %v, %v", none, err)
		}
	})
}

// TestProbeTime checks that a dead endpoint is not tried before its probe, that both the
// endpoint and its deliveries say when that is, and that it can be tried at once.
func TestProbeTime(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		const url = "https://dead.test/"
		r := newJob(newConsumer(t, s).ID)
		insert(t, s, r)
		for n := range int64(webhook.DeadAfterFailures + 1) { // the last one is due when the others are not
			post(t, s, newDelivery(r, n+1, url))
		}
		probe := now.Add(3 * time.Minute)
		for range webhook.DeadAfterFailures {
			d := claimDeliveries(t, s, now)[0]
			try := webhook.Try{DeliveryID: d.ID, Number: d.Attempt, StartedAt: now}
			record(t, s, webhook.Result{Delivery: d, Try: try, Verdict: webhook.Verdict{Outcome: webhook.Retry, RetryAt: now.Add(time.Hour)}, ProbeAt: probe})
		}
		id := webhook.EndpointID(r.ConsumerID, job.Live, url)
		check := func(want time.Time) {
			t.Helper()
			e, err := s.Endpoint(t.Context(), live(r.ConsumerID), id, now)
			deliveries, _, listErr := s.ListDeliveries(t.Context(), r.ID, webhook.DeliveryCursor{}, 10, now)
			if err != nil || listErr != nil || !e.NextTryAt.Equal(want) || !deliveries[0].NextTryAt.Equal(want) ||
				!deliveries[0].ProbeAt.Equal(want) {
				t.Errorf("next try %v and %v (%v, %v), want %v", e.NextTryAt, deliveries[0].NextTryAt, err, listErr, want)
			}
		}
		check(probe)
		if claimed := claimDeliveries(t, s, now); len(claimed) > 0 {
			t.Errorf("claimed %+v before the probe", claimed)
		}
		if err := s.RetryEndpoint(t.Context(), webhook.EndpointKey(r.ConsumerID, job.Live, url), now); err != nil {
			t.Fatal(err)
		}
		check(now)
		if claimed := claimDeliveries(t, s, now); len(claimed) != 1 || claimed[0].Sequence != 1 || !claimed[0].ProbeAt.Equal(now) {
			t.Errorf("claimed %+v, want the oldest delivery", claimed)
		}
	})
}
