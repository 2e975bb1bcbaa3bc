package payment

import (
	"cmp"
	"time"
)

// Plan is the plan of a consumer. The zero Plan is that of a consumer without a
// subscription.
type Plan struct {
	Name      string    // from the subscription's metadata or the provider's price; may be empty
	Status    Status    // empty without a subscription
	PeriodEnd time.Time // zero when unknown

	Customer     string // IDs of the provider; empty when unknown
	Subscription string
}

// Active reports whether the plan is active. A consumer without an active plan is
// on the free tier.
func (p Plan) Active() bool { return p.Status.Active() }

// Best returns the plan of a consumer with these subscriptions, in any order
// (package documentation, The plan).
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
