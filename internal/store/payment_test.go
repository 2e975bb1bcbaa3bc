package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"standin/internal/account"
	"standin/internal/account/billing"
	"standin/internal/jobs/job"
	"standin/internal/store"
)

// at returns the time that is the given number of seconds after now.
func at(seconds int64) time.Time { return now.Add(time.Duration(seconds) * time.Second) }

// receive applies events, all of which must be new.
func receive(t *testing.T, s *store.Store, events ...billing.Event) {
	t.Helper()
	for _, e := range events {
		result, err := billing.Apply(t.Context(), s, e, now)
		if err != nil {
			t.Fatal(err)
		}
		if result.Deduped {
			t.Fatalf("event %s was already received", e.ID)
		}
	}
}

// planOf reads a consumer's plan.
func planOf(t *testing.T, s *store.Store, consumer uuid.UUID) billing.Plan {
	t.Helper()
	plan, err := s.ConsumerPlan(t.Context(), consumer)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// change returns an event that reports the status of a consumer's subscription.
func change(consumer account.Consumer, subscription string, second int64, effect billing.Effect, status billing.Status) billing.Event {
	return billing.Event{
		ID: uuid.NewString(), Type: "customer.subscription.updated", Created: at(second), Effect: effect,
		Subscription: subscription, Consumer: consumer.Name, Status: status,
	}
}

// invoice returns an event about an invoice of a subscription.
func invoice(subscription string, second int64, effect billing.Effect) billing.Event {
	return billing.Event{ID: uuid.NewString(), Type: "invoice.paid", Created: at(second), Effect: effect, Subscription: subscription}
}

// TestPlanFollowsEvents checks that a plan is the same after events in order and in
// reverse order.
func TestPlanFollowsEvents(t *testing.T) {
	histories := map[string]struct {
		events string // their second, effect and status
		want   billing.Status
		active bool
	}{
		"none":                                {"", "", false},
		"sign-up within one second":           {"1 began incomplete, 1 payment_made, 1 changed active", "active", true},
		"sign-up, change not yet received":    {"1 began incomplete, 1 payment_made", "active", true},
		"first payment fails":                 {"1 began incomplete, 1 payment_failed", "incomplete", false},
		"first payment fails and is repeated": {"1 began incomplete, 1 payment_failed, 1 payment_made", "active", true},
		"only a payment received":             {"1 payment_made", "active", true},
		"only a failed payment received":      {"1 payment_failed", "incomplete", false},
		"trial":                               {"1 began trialing, 1 payment_made", "trialing", true},
		"trial ends without payment":          {"1 began trialing, 2 payment_failed", "past_due", true},
		"renewal fails":                       {"1 began active, 2 payment_failed", "past_due", true},
		"renewal fails, then succeeds":        {"1 began active, 2 payment_failed, 3 payment_made", "active", true},
		"the provider stops retrying":         {"1 began active, 2 payment_failed, 3 changed unpaid, 4 payment_failed", "unpaid", false},
		"paid after all":                      {"1 began active, 2 changed unpaid, 3 payment_made", "active", true},
		"paused":                              {"1 began active, 2 changed paused, 3 payment_made", "paused", false},
		"resumed":                             {"1 began paused, 2 changed active", "active", true},
		"deleted":                             {"1 began active, 2 ended canceled", "canceled", false},
		"last invoice paid":                   {"1 began active, 2 ended canceled, 3 payment_made", "canceled", false},
		"deleted and changed at once":         {"1 began active, 2 changed past_due, 2 ended canceled", "canceled", false},
		"never paid":                          {"1 began incomplete, 2 changed incomplete_expired, 3 payment_made", "incomplete_expired", false},
		"two changes at once":                 {"1 changed incomplete, 1 changed active", "active", true},
		"unknown status":                      {"1 began active, 2 changed dormant, 3 payment_made", "dormant", false},
	}
	onBoth(t, func(t *testing.T, s *store.Store) {
		for name, test := range histories {
			for _, reversed := range []bool{false, true} {
				consumer, subscription := newConsumer(t, s), uuid.NewString()
				var events []billing.Event
				for event := range strings.SplitSeq(test.events, ", ") {
					var second int64
					var effect billing.Effect
					var status billing.Status
					if read, _ := fmt.Sscan(event, &second, &effect, &status); read > 1 {
						events = append(events, change(consumer, subscription, second, effect, status))
					}
				}
				if reversed {
					slices.Reverse(events)
				}
				receive(t, s, events...)
				plan := planOf(t, s, consumer.ID)
				if plan.Status != test.want || plan.Active() != test.active {
					t.Errorf("%s, reversed %v: %q, active %v; want %q, active %v", name, reversed, plan.Status, plan.Active(), test.want, test.active)
				}
			}
		}
	})
}

// TestPlanDetails checks that the name and the period of a plan come from the newest
// event that contains them.
func TestPlanDetails(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		if _, err := s.ConsumerPlan(t.Context(), uuid.New()); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("the plan of an unknown consumer: %v", err)
		}
		consumer := newConsumer(t, s)
		began := change(consumer, "sub_1", 1, billing.Began, billing.ActiveStatus)
		began.Customer, began.Plan, began.PeriodEnd = "cus_1", "solo", at(100)
		upgraded := change(consumer, "sub_1", 20, billing.Changed, billing.ActiveStatus)
		upgraded.Plan, upgraded.PeriodEnd = "team", at(200)
		renewed := invoice("sub_1", 30, billing.PaymentMade)
		renewed.PeriodEnd = at(300)
		extra := invoice("sub_1", 40, billing.PaymentMade)
		extra.PeriodEnd = at(150)
		receive(t, s, upgraded, extra, renewed, began)
		want := billing.Plan{Name: "team", Status: billing.ActiveStatus, PeriodEnd: at(300), Customer: "cus_1", Subscription: "sub_1"}
		if plan := planOf(t, s, consumer.ID); plan != want {
			t.Errorf("\n got %+v\nwant %+v", plan, want)
		}

		second := change(consumer, "sub_2", 50, billing.Began, billing.Trialing)
		second.Plan, second.PeriodEnd = "studio", at(400)
		receive(t, s, second)
		if plan := planOf(t, s, consumer.ID); plan.Name != "studio" {
			t.Errorf("of two active subscriptions, %q is the plan, want the one that ends last", plan.Name)
		}
		receive(t, s, change(consumer, "sub_2", 60, billing.Ended, billing.Canceled))
		if plan := planOf(t, s, consumer.ID); plan.Name != "team" {
			t.Errorf("an ended subscription hides an active one: %+v", plan)
		}
	})
}

// TestSubscriptionOwner checks the rules in the section "Whose subscription" of the
// documentation of package payment.
func TestSubscriptionOwner(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		const address = "Ada@Example.com"
		var consumers []account.Consumer
		for _, name := range []string{"named", "customer's", "mail", "same mail", "unrelated"} {
			c := account.Consumer{ID: uuid.New(), Name: name, WebhookSecret: "whsec_c2VjcmV0", WebhookVersion: 2, CreatedAt: now}
			if name == "mail" || name == "same mail" {
				c.Email = address
			}
			c, err := s.EnsureConsumer(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			consumers = append(consumers, c)
		}
		// active returns the names of the consumers that have a plan.
		active := func() []string {
			var names []string
			for _, c := range consumers {
				if planOf(t, s, c.ID).Active() {
					names = append(names, c.Name)
				}
			}
			return names
		}
		expect := func(step string, want ...string) {
			t.Helper()
			if got := active(); !slices.Equal(got, want) {
				t.Errorf("%s: %q have a plan, want %q", step, got, want)
			}
		}

		began := change(account.Consumer{}, "sub_1", 1, billing.Began, billing.ActiveStatus)
		began.Customer = "cus_1"
		receive(t, s, began)
		expect("without a consumer")

		receive(t, s, billing.Event{ID: "e1", Type: "customer.created", Created: at(1), Customer: "cus_1", Email: "ada@example.com"})
		expect("by e-mail", "mail", "same mail")

		receive(t, s, billing.Event{ID: "e2", Type: "checkout.session.completed", Created: at(2), Customer: "cus_1", Consumer: "not here yet"})
		expect("by an unknown name, still by e-mail", "mail", "same mail")

		receive(t, s, billing.Event{
			ID: "e3", Type: "checkout.session.completed", Created: at(3), Customer: "cus_1", Consumer: consumers[1].ID.String(),
		})
		expect("by the customer", "customer's")

		receive(t, s, change(consumers[0], "sub_1", 4, billing.Changed, ""))
		expect("by the subscription", "named")

		receive(t, s, change(consumers[1], "sub_1", 3, billing.Changed, ""))
		expect("by an older event of the subscription", "named")

		second := change(account.Consumer{}, "sub_2", 9, billing.Began, billing.ActiveStatus)
		second.Customer = "cus_1"
		receive(t, s, second)
		expect("another subscription of the same customer", "named", "customer's")

		receive(t, s, change(account.Consumer{Name: "late"}, "sub_3", 1, billing.Began, billing.ActiveStatus))
		late, err := s.EnsureConsumer(t.Context(), account.Consumer{
			ID: uuid.New(), Name: "late", WebhookSecret: "whsec_c2VjcmV0", WebhookVersion: 2, CreatedAt: now,
		})
		if err != nil {
			t.Fatal(err)
		}
		if !planOf(t, s, late.ID).Active() {
			t.Error("a subscription created before its consumer is ignored")
		}
	})
}

// TestPlanDoesNotDependOnArrival checks that the order of events does not change the
// plan.
func TestPlanDoesNotDependOnArrival(t *testing.T) {
	effects := []billing.Effect{billing.NoEffect, billing.Began, billing.PaymentFailed, billing.PaymentMade, billing.Changed, billing.Ended}
	statuses := []billing.Status{"", billing.Incomplete, billing.Trialing, billing.ActiveStatus, billing.PastDue, billing.Unpaid,
		billing.Paused, billing.Canceled, "dormant"}
	onBoth(t, func(t *testing.T, s *store.Store) {
		rapid.Check(t, func(r *rapid.T) {
			inOrder, shuffled := newConsumer(t, s), newConsumer(t, s)
			var history []billing.Event
			for i := range rapid.IntRange(1, 8).Draw(r, "events") {
				e := billing.Event{
					ID: strconv.Itoa(i), Type: "drawn", Created: at(int64(rapid.IntRange(0, 4).Draw(r, "second"))),
					Effect:       rapid.SampledFrom(effects).Draw(r, "effect"),
					Subscription: rapid.SampledFrom([]string{"sub_1", "sub_1", "sub_2"}).Draw(r, "subscription"),
					Customer:     "cus",
					Status:       rapid.SampledFrom(statuses).Draw(r, "status"),
					Plan:         rapid.SampledFrom([]string{"", "solo", "team"}).Draw(r, "plan"),
				}
				if end := rapid.IntRange(0, 3).Draw(r, "period end"); end > 0 {
					e.PeriodEnd = at(int64(100 * end))
				}
				if e.Effect == billing.Ended {
					e.Status = billing.Canceled
				}
				history = append(history, e)
			}
			slices.SortStableFunc(history, func(a, b billing.Event) int { return a.Created.Compare(b.Created) })
			history = append(history, billing.Event{ID: "link", Type: "checkout.session.completed", Created: at(5), Customer: "cus"})

			arrivals := rapid.Permutation(slices.Concat(history, history[:len(history)/2])).Draw(r, "arrivals")
			want := receiveAs(t.Context(), r, s, inOrder, history)
			got := receiveAs(t.Context(), r, s, shuffled, arrivals)
			if got != want {
				r.Errorf("\n in order %+v\n shuffled %+v", want, got)
			}
		})
	})
}

// receiveAs applies events with identifiers prefixed per consumer, and returns the
// resulting plan with the original identifiers.
func receiveAs(ctx context.Context, t rapid.TB, s *store.Store, consumer account.Consumer, events []billing.Event) billing.Plan {
	t.Helper()
	own := consumer.ID.String() + ":"
	known := map[string]bool{}
	for _, e := range events {
		repeated := known[e.ID]
		known[e.ID] = true
		e.ID, e.Subscription, e.Customer = own+e.ID, withPrefix(own, e.Subscription), own+e.Customer
		if e.Type == "checkout.session.completed" {
			e.Consumer = consumer.Name
		}
		result, err := billing.Apply(ctx, s, e, now)
		if err != nil {
			t.Fatal(err)
		}
		if result.Deduped != repeated {
			t.Fatalf("event %s: deduped %v, repeated %v", e.ID, result.Deduped, repeated)
		}
	}
	plan, err := s.ConsumerPlan(ctx, consumer.ID)
	if err != nil {
		t.Fatal(err)
	}
	plan.Subscription, plan.Customer = withoutPrefix(own, plan.Subscription), withoutPrefix(own, plan.Customer)
	return plan
}

func withPrefix(prefix, id string) string {
	if id == "" {
		return ""
	}
	return prefix + id
}

func withoutPrefix(prefix, id string) string {
	if id == "" {
		return ""
	}
	return id[len(prefix):]
}

// TestConcurrentPaymentEvents checks that one copy of each event is applied and no
// event is lost.
func TestConcurrentPaymentEvents(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		for range 5 {
			consumer, subscription := newConsumer(t, s), uuid.NewString()
			began := change(consumer, subscription, 1, billing.Began, billing.Incomplete)
			paid := invoice(subscription, 2, billing.PaymentMade)
			failed := invoice(subscription, 3, billing.PaymentFailed)
			began.Customer, paid.Customer, failed.Customer = subscription, subscription, subscription
			var applied atomic.Int64
			var group sync.WaitGroup
			for _, e := range []billing.Event{failed, paid, began, failed, paid, began, failed, paid, began} {
				group.Go(func() {
					result, err := billing.Apply(t.Context(), s, e, now)
					if err != nil {
						t.Error(err)
					}
					if !result.Deduped {
						applied.Add(1)
					}
				})
			}
			group.Wait()
			if applied.Load() != 3 {
				t.Errorf("%d of nine copies of three events were applied", applied.Load())
			}
			if plan := planOf(t, s, consumer.ID); plan.Status != billing.PastDue {
				t.Errorf("an event was lost: the plan is %+v", plan)
			}
		}
	})
}

var errFailing = errors.New("this write fails")

// failingStore is a store whose transactions fail after fn returns.
type failingStore struct{ *store.Store }

func (b failingStore) WritePayment(ctx context.Context, fn func(context.Context, billing.Ledger) error) error {
	return b.Store.WritePayment(ctx, func(ctx context.Context, ledger billing.Ledger) error {
		return errors.Join(fn(ctx, ledger), errFailing)
	})
}

// TestPaymentEventIsAtomic checks that an event is not stored if its effect was not
// saved, and that it can be received again.
func TestPaymentEventIsAtomic(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s)
		began := change(consumer, "sub_1", 1, billing.Began, billing.ActiveStatus)
		if _, err := billing.Apply(t.Context(), failingStore{s}, began, now); !errors.Is(err, errFailing) {
			t.Fatalf("got %v, want the store's error", err)
		}
		if plan := planOf(t, s, consumer.ID); plan != (billing.Plan{}) {
			t.Errorf("a failed event changed the plan: %+v", plan)
		}
		receive(t, s, began)
		if plan := planOf(t, s, consumer.ID); !plan.Active() {
			t.Errorf("the second try was not applied: %+v", plan)
		}
	})
}
