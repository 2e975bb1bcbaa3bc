package store_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
	"standin/internal/store/sqlite"
	"standin/internal/testing/storetest"
)

const lease = time.Minute

// newDelivery returns a delivery of a job's n-th event to one URL.
func newDelivery(r job.Record, n int64, url string) webhook.Delivery {
	return webhook.Delivery{
		ID: webhook.NewDeliveryID(), JobID: r.ID, ConsumerID: r.ConsumerID, Mode: r.Mode, URL: url, Event: webhook.JobStatusChanged,
		Sequence: n, EmittedAt: now, Data: []byte(`{}`), Version: webhook.Version2,
	}
}

// post inserts deliveries into the outbox.
func post(t *testing.T, s *store.Store, deliveries ...webhook.Delivery) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for _, d := range deliveries {
			if err := tx.InsertDelivery(ctx, d); err != nil {
				return err
			}
		}
		return nil
	})
}

// claimDeliveries claims the due deliveries.
func claimDeliveries(t *testing.T, s *store.Store, at time.Time) []webhook.Delivery {
	t.Helper()
	claimed, _, err := webhook.ClaimDeliveries(t.Context(), s, webhook.Claim{Now: at, Lease: lease, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return claimed
}

// tryDelivery records a try of a claimed delivery.
func tryDelivery(t *testing.T, s *store.Store, d webhook.Delivery, at time.Time, verdict webhook.Verdict) webhook.Try {
	t.Helper()
	try := webhook.Try{
		DeliveryID: d.ID, Number: d.Attempt, StartedAt: at, Latency: 250 * time.Millisecond, StatusCode: 503,
		Error: "answered 🎥 \\0", ResponseBody: []byte("\xff not text"),
	}
	if verdict.Outcome == webhook.Delivered {
		try.StatusCode, try.Error = 202, ""
	}
	record(t, s, webhook.Result{Delivery: d, Try: try, Verdict: verdict})
	return try
}

// record records tries.
func record(t *testing.T, s *store.Store, results ...webhook.Result) {
	t.Helper()
	for _, result := range results {
		if lost, err := s.RecordTry(t.Context(), result); err != nil || lost {
			t.Fatalf("record: %v, lost %t", err, lost)
		}
	}
}

// redeliver schedules another try.
func redeliver(t *testing.T, s *store.Store, consumer uuid.UUID, id string, at time.Time) error {
	t.Helper()
	return s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.Redeliver(ctx, live(consumer), id, at)
	})
}

// TestListDeliveries reads all pages of a job's deliveries and their tries.
func TestListDeliveries(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		r := newJob(newConsumer(t, s).ID)
		other := newJob(r.ConsumerID)
		insert(t, s, r, other)
		var want []webhook.DeliveryRecord
		for n := range int64(5) {
			for _, url := range []string{"https://a.test/", "https://b.test/"} {
				d := newDelivery(r, n+1, url)
				post(t, s, d)
				want = append(want, webhook.DeliveryRecord{
					ID: d.ID, JobID: r.ID, URL: url, Event: d.Event, Sequence: n + 1, EmittedAt: now, Version: 2,
					State: webhook.DeliveryWaiting, NextTryAt: now.Add(5 * time.Second),
				})
			}
		}
		foreign := newDelivery(other, 1, "https://c.test/")
		foreign.EmittedAt = now.Add(time.Hour)
		post(t, s, foreign)

		// The first delivery of each URL is tried: one succeeds at its second try
		// and one fails permanently.
		retry := now.Add(5 * time.Second)
		for _, d := range claimDeliveries(t, s, now) {
			i := slices.IndexFunc(want, func(w webhook.DeliveryRecord) bool { return w.ID == d.ID })
			want[i].Attempt = 1
			if d.URL == "https://a.test/" {
				want[i].Tries = append(want[i].Tries, tryDelivery(t, s, d, now, webhook.Verdict{Outcome: webhook.Retry, RetryAt: retry}))
				continue
			}
			want[i].Tries = append(want[i].Tries, tryDelivery(t, s, d, now, webhook.Verdict{
				Outcome: webhook.PermanentFailure, Reason: "gone \\0 \"",
			}))
			want[i].State, want[i].NextTryAt, want[i].EndedAt, want[i].EndReason = webhook.DeliveryFailed, time.Time{},
				now.Add(250*time.Millisecond), "gone \\0 \""
		}
		for _, d := range claimDeliveries(t, s, retry) {
			i := slices.IndexFunc(want, func(w webhook.DeliveryRecord) bool { return w.ID == d.ID })
			want[i].Attempt++
			if d.Sequence > 1 {
				for n := range want {
					if want[n].URL == d.URL && want[n].Sequence >= d.Sequence {
						want[n].NextTryAt = retry.Add(lease) // it is leased, and the others wait for it
					}
				}
				continue
			}
			want[i].Tries = append(want[i].Tries, tryDelivery(t, s, d, retry, webhook.Verdict{Outcome: webhook.Delivered}))
			want[i].State, want[i].NextTryAt, want[i].EndedAt = webhook.DeliveryDelivered, time.Time{}, retry.Add(250*time.Millisecond)
		}

		for _, limit := range []int{1, 3, 10, 100} {
			var got []webhook.DeliveryRecord
			var after webhook.DeliveryCursor
			for more := true; more; {
				var page []webhook.DeliveryRecord
				var err error
				if page, more, err = s.ListDeliveries(t.Context(), r.ID, after, limit, retry); err != nil {
					t.Fatal(err)
				}
				if len(page) > limit {
					t.Fatalf("page of %d with limit %d", len(page), limit)
				}
				got = append(got, page...)
				after = webhook.DeliveryCursor{Sequence: page[len(page)-1].Sequence, ID: page[len(page)-1].ID}
			}
			slices.SortFunc(want, func(a, b webhook.DeliveryRecord) int {
				if a.Sequence != b.Sequence {
					return int(a.Sequence - b.Sequence)
				}
				return slices.Compare([]byte(a.ID), []byte(b.ID))
			})
			if len(got) != len(want) {
				t.Fatalf("%d deliveries with limit %d, want %d", len(got), limit, len(want))
			}
			for i := range got {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Errorf("delivery %d with limit %d:\n     %+v\nwant %+v", i, limit, got[i], want[i])
				}
			}
		}
		if _, err := s.Delivery(t.Context(), other.ID, want[0].ID, now); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("delivery of another job: %v", err)
		}
	})
}

// TestNextTry checks that the next try of a delivery and of its endpoint is never shown
// in the past, nor before that of a delivery that blocks it.
func TestNextTry(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		const url = "https://a.test/"
		r := newJob(newConsumer(t, s).ID)
		insert(t, s, r)
		after := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
		post(t, s, newDelivery(r, 1, url))
		first := claimDeliveries(t, s, now)[0]
		post(t, s, newDelivery(r, 2, url), newDelivery(r, 3, url))
		check := func(at time.Time, endpoint time.Time, want ...time.Time) {
			t.Helper()
			var got []time.Time
			for sequence := range int64(3) { // each on a page of its own
				page, _, err := s.ListDeliveries(t.Context(), r.ID, webhook.DeliveryCursor{Sequence: sequence, ID: "e"}, 1, at)
				if err != nil || len(page) != 1 {
					t.Fatalf("%d deliveries (%v)", len(page), err)
				}
				got = append(got, page[0].NextTryAt)
			}
			endpoints, _, err := s.ListEndpoints(t.Context(), live(r.ConsumerID), "", 10, at)
			if err != nil || len(endpoints) > 1 {
				t.Fatalf("%d endpoints (%v)", len(endpoints), err)
			}
			if !slices.Equal(got, want) || len(endpoints) == 1 && !endpoints[0].NextTryAt.Equal(endpoint) {
				t.Errorf("at %v the next tries are\n%v of the endpoint and\n%v of its deliveries, want\n%v and\n%v", at, endpoints, got, endpoint, want)
			}
		}
		check(after(1), after(1), now.Add(lease), now.Add(lease), now.Add(lease))
		tryDelivery(t, s, first, now, webhook.Verdict{Outcome: webhook.Retry, RetryAt: after(40)})
		check(after(1), after(40), after(40), after(40), after(40))
		check(after(50), after(50), after(50), after(50), after(50))

		second := claimDeliveries(t, s, after(50))[0]
		tryDelivery(t, s, second, after(50), webhook.Verdict{Outcome: webhook.Retry, RetryAt: after(200)})
		check(after(60), after(60), after(200), after(60), after(60)) // it is too late to block
	})
}

// TestRedeliver checks that redelivering a delivered or failed delivery keeps its
// number of tries and the order of events.
func TestRedeliver(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		r := newJob(newConsumer(t, s).ID)
		insert(t, s, r)
		first, second := newDelivery(r, 1, "https://a.test/"), newDelivery(r, 2, "https://a.test/")
		post(t, s, first)

		claimed := claimDeliveries(t, s, now)
		if err := redeliver(t, s, r.ConsumerID, first.ID, now); !job.ErrorIs(err, job.InvalidState) {
			t.Errorf("redeliver a leased delivery: %v", err)
		}
		tries := []webhook.Try{tryDelivery(t, s, claimed[0], now, webhook.Verdict{Outcome: webhook.Delivered})}
		for what, wrong := range map[string]error{
			"delivery of another consumer": redeliver(t, s, uuid.New(), first.ID, now),
			"unknown ID":                   redeliver(t, s, r.ConsumerID, "dlv_unknown", now),
		} {
			if !job.ErrorIs(wrong, job.NotFound) {
				t.Errorf("%s: %v", what, wrong)
			}
		}

		at := now.Add(time.Hour)
		if err := redeliver(t, s, r.ConsumerID, first.ID, at); err != nil {
			t.Fatalf("redeliver a delivered one: %v", err)
		}
		second.EmittedAt = at
		post(t, s, second)
		if next, ok, err := s.NextDelivery(t.Context(), now); err != nil || !ok || !next.Equal(at) {
			t.Errorf("next delivery: %v, %v, %v", next, ok, err)
		}
		claimed = claimDeliveries(t, s, at)
		if len(claimed) != 1 || claimed[0].ID != first.ID || claimed[0].Attempt != 2 || claimed[0].Failures != 0 {
			t.Fatalf("claimed %+v, want only the second try of the redelivery, before the later event", claimed)
		}
		tries = append(tries, tryDelivery(t, s, claimed[0], at, webhook.Verdict{Outcome: webhook.PermanentFailure, Reason: "410"}))
		if claimed = claimDeliveries(t, s, at); len(claimed) != 1 || claimed[0].ID != second.ID {
			t.Fatalf("claimed %+v, want the later event", claimed)
		}
		tryDelivery(t, s, claimed[0], at, webhook.Verdict{Outcome: webhook.Delivered})

		if err := redeliver(t, s, r.ConsumerID, first.ID, at); err != nil {
			t.Fatalf("redeliver a failed one: %v", err)
		}
		claimed = claimDeliveries(t, s, at)
		if len(claimed) != 1 || claimed[0].Attempt != 3 || claimed[0].Failures != 0 {
			t.Fatalf("claimed %+v, want the third try with a full retry schedule", claimed)
		}
		tries = append(tries, tryDelivery(t, s, claimed[0], at, webhook.Verdict{Outcome: webhook.Delivered}))
		d, err := s.Delivery(t.Context(), r.ID, first.ID, now)
		if err != nil || d.State != webhook.DeliveryDelivered || d.Attempt != 3 || !reflect.DeepEqual(d.Tries, tries) || d.EndReason != "" {
			t.Errorf("final state: %+v, %v", d, err)
		}
	})
}

// TestRedeliverIsBounded checks that a delivery has at most webhook.MaxTries tries.
func TestRedeliverIsBounded(t *testing.T) {
	t.Parallel()
	path := storetest.FreshSQLite(t)
	s := storetest.Open(t, path)
	r := newJob(newConsumer(t, s).ID)
	insert(t, s, r)
	d := newDelivery(r, 1, "https://a.test/")
	post(t, s, d)
	db, err := sqlite.OpenExisting(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `UPDATE deliveries SET attempt = $1`, webhook.MaxTries-2); err != nil {
		t.Fatal(err)
	}
	tryDelivery(t, s, claimDeliveries(t, s, now)[0], now, webhook.Verdict{Outcome: webhook.Delivered})
	if err := redeliver(t, s, r.ConsumerID, d.ID, now); err != nil {
		t.Fatalf("before the last try: %v", err)
	}
	tryDelivery(t, s, claimDeliveries(t, s, now)[0], now, webhook.Verdict{Outcome: webhook.Delivered})
	if err := redeliver(t, s, r.ConsumerID, d.ID, now); !job.ErrorIs(err, job.InvalidState) {
		t.Errorf("after %d tries: %v", webhook.MaxTries, err)
	}
	got, err := s.Delivery(t.Context(), r.ID, d.ID, now)
	if err != nil || got.Attempt != webhook.MaxTries || got.State != webhook.DeliveryDelivered {
		t.Errorf("%d tries, %s, %v", got.Attempt, got.State, err)
	}
}
