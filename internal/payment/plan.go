package payment

import (
	"cmp"
	"time"
)

// Plan is what a consumer has paid for. The zero Plan is that of a consumer
// without any subscription.
type Plan struct {
	Name      string    // as the provider's price or the subscription's metadata calls it; may be empty
	Status    Status    // empty without a subscription
	PeriodEnd time.Time // zero when not known

	Customer     string // the provider's ids; empty when not known
	Subscription string
}

// Active reports whether the consumer has a plan that counts; one without is
// on the free tier.
func (p Plan) Active() bool { return p.Status.Active() }

// Best returns the plan of a consumer that has these subscriptions, in
// whatever order they come (package doc, The plan).
func Best(subscriptions []Subscription) Plan {
	var best Subscription
	for _, s := range subscriptions {
		if best.ID == "" || s.betterThan(best) {
			best = s
		}
	}
	return Plan{
		Name:         best.Plan,
		Status:       best.Status,
		PeriodEnd:    best.PeriodEnd,
		Customer:     best.Customer,
		Subscription: best.ID,
	}
}

func (s Subscription) betterThan(other Subscription) bool {
	if s.Status.Active() != other.Status.Active() {
		return s.Status.Active()
	}
	return cmp.Or(s.PeriodEnd.Compare(other.PeriodEnd), cmp.Compare(s.ID, other.ID)) > 0
}
