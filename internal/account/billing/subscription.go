package billing

import (
	"cmp"
	"slices"
	"time"

	"standin/internal/jobs/job"
)

// Status is the provider's status of a subscription. An unknown status is stored
// and is not active.
type Status string

const (
	Incomplete        Status = "incomplete" // the first payment is pending
	Trialing          Status = "trialing"
	ActiveStatus      Status = "active"
	PastDue           Status = "past_due" // a payment failed and will be retried
	Unpaid            Status = "unpaid"   // the provider has stopped retrying
	Paused            Status = "paused"
	IncompleteExpired Status = "incomplete_expired" // the first payment was never made
	Canceled          Status = "canceled"
)

// usualOrder is the usual order of the statuses of a subscription.
var usualOrder = []Status{Incomplete, Trialing, ActiveStatus, PastDue, Unpaid, Paused, IncompleteExpired, Canceled}

// rank returns the index in usualOrder, -1 for unknown statuses.
func (s Status) rank() int { return slices.Index(usualOrder, s) }

// Active reports whether a subscription with that status is active.
func (s Status) Active() bool { return s == ActiveStatus || s == Trialing || s == PastDue }

// Subscription is the state of a subscription.
type Subscription struct {
	ID        string
	Customer  string // its ID; empty when unknown
	Consumer  string // ID or name of the consumer that it names; may be empty
	Plan      string
	Status    Status
	PeriodEnd time.Time // zero when not known
}

// apply applies an event that is newer than all before.
func (s *Subscription) apply(e Event) {
	s.Customer = cmp.Or(e.Customer, s.Customer)
	s.Consumer = cmp.Or(e.Consumer, s.Consumer)
	switch e.Effect {
	case Began, Changed, Ended:
		s.Plan = cmp.Or(e.Plan, s.Plan)
		s.Status = cmp.Or(e.Status, s.Status)
		if !e.PeriodEnd.IsZero() {
			s.PeriodEnd = e.PeriodEnd
		}
	case PaymentMade:
		switch s.Status {
		case "", Incomplete, PastDue, Unpaid:
			s.Status = ActiveStatus
		}
		if s.Status.Active() {
			s.PeriodEnd = job.Latest(s.PeriodEnd, e.PeriodEnd)
		}
	case PaymentFailed:
		switch s.Status {
		case "":
			s.Status = Incomplete
		case ActiveStatus, Trialing:
			s.Status = PastDue
		}
	}
}

// Customer is the state of a customer of the provider.
type Customer struct {
	ID       string
	Consumer string // ID or name of the consumer that any event of the customer names
	Email    string // in lower case
}

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
		better := cmp.Or(s.PeriodEnd.Compare(best.PeriodEnd), cmp.Compare(s.ID, best.ID)) > 0
		if s.Status.Active() != best.Status.Active() {
			better = s.Status.Active()
		}
		if best.ID == "" || better {
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
