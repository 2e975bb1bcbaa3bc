package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
)

// TestEndpoints checks the health of a consumer's endpoints.
func TestEndpoints(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		r, other := newJob(newConsumer(t, s).ID), newJob(newConsumer(t, s).ID)
		insert(t, s, r, other)
		const bad, fine = "https://bad.test/hook", "https://fine.test/hook"
		long := "https://long.test/" + strings.Repeat("x", 5000) + "é" // longer than the maximum index entry
		for n := range int64(3) {
			post(t, s, newDelivery(r, n+1, bad))
		}
		post(t, s, newDelivery(r, 4, fine), newDelivery(r, 4, long), newDelivery(other, 1, bad))

		retry := webhook.Verdict{Outcome: webhook.Retry, RetryAt: now.Add(time.Hour)}
		var results []webhook.Result
		for _, d := range claimDeliveries(t, s, now) {
			result := webhook.Result{Delivery: d, Verdict: retry, Try: webhook.Try{
				DeliveryID: d.ID, Number: 1, StartedAt: now, Latency: time.Second, StatusCode: 503, Error: "answered 🎥 \\0",
			}}
			if d.URL != bad {
				result.Verdict, result.UpdateEndpoint = webhook.Verdict{Outcome: webhook.Delivered}, true
				result.Try.StatusCode, result.Try.Error = 204, ""
			}
			results = append(results, result)
		}
		record(t, s, results...)

		got, more, err := s.ListEndpoints(t.Context(), live(r.ConsumerID), "", 10, now)
		if err != nil || more || len(got) != 3 {
			t.Fatalf("%d endpoints, more %v, %v; want 3", len(got), more, err)
		}
		byURL := map[string]webhook.Endpoint{}
		for _, e := range got {
			byURL[e.URL] = e
		}
		want := webhook.Endpoint{
			Key: webhook.EndpointKey(r.ConsumerID, job.Live, bad), ID: webhook.EndpointID(r.ConsumerID, job.Live,
				bad), ConsumerID: r.ConsumerID, Mode: job.Live, URL: bad, Events: []string{},
			Failures: 1, FailingSince: now, LastTryAt: now.Add(time.Second), Latency: time.Second, LastStatus: 503, LastError: "answered 🎥 \\0",
			Waiting: 3, NextTryAt: now,
		}
		if !reflect.DeepEqual(byURL[bad], want) {
			t.Errorf("failing endpoint:\n     %+v\nwant %+v", byURL[bad], want)
		}
		for _, url := range []string{fine, long} {
			if e := byURL[url]; e.Failures != 0 || !e.FailingSince.IsZero() || !e.LastDeliveredAt.Equal(now.Add(time.Second)) || e.Waiting != 0 {
				t.Errorf("healthy endpoint: %+.300v", e)
			}
		}

		var paged []webhook.Endpoint
		for after, more := "", true; more; after = paged[len(paged)-1].Key {
			var page []webhook.Endpoint
			if page, more, err = s.ListEndpoints(t.Context(), live(r.ConsumerID), after, 1, now); err != nil || len(page) != 1 {
				t.Fatalf("page of %d: %v", len(page), err)
			}
			paged = append(paged, page...)
		}
		if !reflect.DeepEqual(paged, got) {
			t.Errorf("all pages: %+v", paged)
		}
	})
}

// TestEndpointsCountConsecutiveFailures checks that a success resets the number of
// consecutive failures.
func TestEndpointsCountConsecutiveFailures(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		r := newJob(newConsumer(t, s).ID)
		insert(t, s, r)
		const url = "https://a.test/"
		at := now
		try := func(outcomes ...webhook.Outcome) {
			t.Helper()
			var results []webhook.Result
			for _, outcome := range outcomes {
				one := newJob(r.ConsumerID)
				insert(t, s, one)
				d := newDelivery(one, 1, url)
				d.EmittedAt = at
				post(t, s, d)
				for _, claimed := range claimDeliveries(t, s, at) {
					results = append(results, webhook.Result{
						Delivery: claimed, Try: webhook.Try{DeliveryID: claimed.ID, Number: claimed.Attempt, StartedAt: at},
						Verdict: webhook.Verdict{Outcome: outcome, RetryAt: at.Add(1000 * time.Hour)}, UpdateEndpoint: true,
					})
				}
				at = at.Add(time.Second)
			}
			record(t, s, results...)
		}
		want := func(failures int, since time.Time) {
			t.Helper()
			got, _, err := s.ListEndpoints(t.Context(), live(r.ConsumerID), "", 10, now)
			if err != nil || len(got) != 1 || got[0].Failures != failures || !got[0].FailingSince.Equal(since) {
				t.Errorf("endpoints %+v (%v), want %d failures since %v", got, err, failures, since)
			}
		}
		try(webhook.Retry, webhook.Retry)
		want(2, now)
		try(webhook.PermanentFailure)
		want(3, now)
		try(webhook.Retry, webhook.Delivered, webhook.Retry)
		want(1, now.Add(5*time.Second))
		try(webhook.Delivered)
		want(0, time.Time{})
	})
}

// TestRedeliverFailed checks that failed deliveries that match a filter are
// scheduled.
func TestRedeliverFailed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		r, stranger := newJob(newConsumer(t, s).ID), newJob(newConsumer(t, s).ID)
		second, test := newJob(r.ConsumerID), newJob(r.ConsumerID)
		test.Mode = job.Test
		insert(t, s, r, second, stranger, test)
		const a, b = "https://a.test/", "https://b.test/"
		var all []string
		add := func(of job.Record, url string, emitted time.Time) {
			d := newDelivery(of, int64(len(all)+1), url)
			d.EmittedAt = emitted
			post(t, s, d)
			all = append(all, d.ID)
		}
		add(r, a, now.Add(-3*time.Hour)) // 0
		add(r, b, now.Add(-2*time.Hour)) // 1
		add(second, a, now.Add(-time.Hour))
		add(stranger, a, now.Add(-time.Hour))
		add(test, a, now.Add(-time.Hour))
		add(second, b, now.Add(-time.Hour)) // 5, delivered
		giveUp := func(at time.Time) {
			t.Helper()
			for _, d := range claimDeliveries(t, s, at) {
				verdict := webhook.Verdict{Outcome: webhook.PermanentFailure, Reason: "410"}
				if d.ID == all[5] {
					verdict = webhook.Verdict{Outcome: webhook.Delivered}
				}
				tryDelivery(t, s, d, at, verdict)
			}
		}
		giveUp(now)

		at := now.Add(time.Minute)
		tests := []struct {
			name   string
			filter webhook.FailedFilter
			want   []int
		}{
			{"job", webhook.FailedFilter{JobID: r.ID}, []int{0, 1}},
			{"URL", webhook.FailedFilter{URL: a}, []int{0, 2}},
			{"from a time", webhook.FailedFilter{From: now.Add(-2 * time.Hour)}, []int{1, 2}},
			{"before a time", webhook.FailedFilter{To: now.Add(-2 * time.Hour)}, []int{0}},
			{"time range and URL", webhook.FailedFilter{URL: b, From: now.Add(-2 * time.Hour), To: now}, []int{1}},
			{"job of another consumer", webhook.FailedFilter{JobID: stranger.ID}, nil},
			{"no match", webhook.FailedFilter{URL: "https://nobody.test/"}, nil},
		}
		for _, test := range tests {
			count, err := s.RedeliverFailed(t.Context(), live(r.ConsumerID), test.filter, at)
			if err != nil || count != len(test.want) {
				t.Errorf("%s: %d deliveries (%v), want %d", test.name, count, err, len(test.want))
			}
			var got []string
			for _, d := range claimDeliveries(t, s, at) {
				if d.Failures != 0 {
					t.Errorf("%s: %d failures are counted", test.name, d.Failures)
				}
				got = append(got, d.ID)
				tryDelivery(t, s, d, at, webhook.Verdict{Outcome: webhook.PermanentFailure, Reason: "410"})
			}
			var want []string
			for _, i := range test.want {
				want = append(want, all[i])
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", test.name, got, want)
			}
			at = at.Add(time.Minute)
		}
	})
}

// TestRedeliverManyFailed checks that more than one batch is scheduled.
func TestRedeliverManyFailed(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	r := newJob(newConsumer(t, s).ID)
	insert(t, s, r)
	const many = 1100 // more than one transaction resets
	deliveries := make([]webhook.Delivery, many)
	for n := range deliveries {
		deliveries[n] = newDelivery(r, int64(n+1), fmt.Sprintf("https://%d.test/", n))
	}
	post(t, s, deliveries...)
	claimed, _, err := webhook.ClaimDeliveries(t.Context(), s, webhook.Claim{Now: now, Lease: lease, Limit: many + 1})
	if err != nil || len(claimed) != many {
		t.Fatalf("claimed %d: %v", len(claimed), err)
	}
	results := make([]webhook.Result, many)
	for n, d := range claimed {
		results[n] = webhook.Result{
			Delivery: d, Try: webhook.Try{DeliveryID: d.ID, Number: 1, StartedAt: now}, Verdict: webhook.Verdict{
				Outcome: webhook.PermanentFailure, Reason: "410",
			},
		}
	}
	record(t, s, results...)
	if count, err := s.RedeliverFailed(t.Context(), live(r.ConsumerID), webhook.FailedFilter{JobID: r.ID}, now); err != nil ||
		count != many {
		t.Errorf("%d deliveries (%v), want %d", count, err, many)
	}
	if waiting, _, err := s.Backlog(t.Context()); err != nil || waiting != many {
		t.Errorf("%d are pending (%v), want %d", waiting, err, many)
	}
}

// TestRotateSecret checks that both secrets sign after a rotation, and only the
// newest two after a second rotation.
func TestRotateSecret(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		r := newJob(newConsumer(t, s).ID)
		insert(t, s, r)
		first := "whsec_c2VjcmV0"
		second, until, err := account.RotateSecret(t.Context(), s, r.ConsumerID, now)
		if err != nil || second == first || !strings.HasPrefix(second, "whsec_") || !until.Equal(now.Add(24*time.Hour)) {
			t.Fatalf("rotated to %q, the old secret is valid until %v (%v)", second, until, err)
		}
		secrets := func() []webhook.Secret {
			t.Helper()
			d := newDelivery(r, 1, "https://"+uuid.NewString()+".test/")
			post(t, s, d)
			return claimDeliveries(t, s, now)[0].Secrets
		}
		if got, want := secrets(), []webhook.Secret{{Value: second}, {Value: first, ExpiresAt: until}}; !slices.Equal(got, want) {
			t.Errorf("%d secrets sign, current first: %v", len(got), got[0].Value == second)
		}
		third, until, err := account.RotateSecret(t.Context(), s, r.ConsumerID, now.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := secrets(), []webhook.Secret{{Value: third}, {Value: second, ExpiresAt: until}}; !slices.Equal(got, want) {
			t.Errorf("after the second rotation %d secrets sign, current first: %v", len(got), got[0].Value == third)
		}
		if _, _, err := account.RotateSecret(t.Context(), s, uuid.New(), now); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("rotate the secret of an unknown consumer: %v", err)
		}
	})
}
