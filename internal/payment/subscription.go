package payment

import (
	"cmp"
	"slices"
	"time"
)

// Status is how a subscription stands, in the provider's words. One that is
// not known here is kept and is not active.
type Status string

const (
	Incomplete        Status = "incomplete" // the first payment is still to come
	Trialing          Status = "trialing"
	ActiveStatus      Status = "active"
	PastDue           Status = "past_due" // a payment failed and will be tried again
	Unpaid            Status = "unpaid"   // the provider tries no more
	Paused            Status = "paused"
	IncompleteExpired Status = "incomplete_expired" // the first payment never came
	Canceled          Status = "canceled"
)

// usualOrder is in which order a subscription goes through its statuses.
var usualOrder = []Status{Incomplete, Trialing, ActiveStatus, PastDue, Unpaid, Paused, IncompleteExpired, Canceled}

// place is where the status stands in the usual order; -1 for unknown ones.
func (s Status) place() int { return slices.Index(usualOrder, s) }

// Active reports whether the plan counts.
func (s Status) Active() bool { return s == ActiveStatus || s == Trialing || s == PastDue }

// Subscription is what is known of a subscription.
type Subscription struct {
	ID        string
	Customer  string // its id; empty when none is known
	Consumer  string // id or name of the consumer that it names; may be empty
	Plan      string
	Status    Status
	PeriodEnd time.Time // zero when not known
}

// foldSubscription works out what the events say of the subscription, in
// whatever order they come.
func foldSubscription(id string, events []Event) Subscription {
	s := Subscription{ID: id}
	for _, e := range slices.SortedFunc(slices.Values(events), Event.compare) {
		s.apply(e)
	}
	return s
}

// apply adds an event that is newer than all before.
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
			s.PeriodEnd = later(s.PeriodEnd, e.PeriodEnd)
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

// Customer is what is known of a customer of the provider's.
type Customer struct {
	ID       string
	Consumer string // id or name of the consumer that it, or anything of its, names
	Email    string // in lower case
}

// foldCustomer works out what the events say of the customer, in whatever
// order they come.
func foldCustomer(id string, events []Event) Customer {
	c := Customer{ID: id}
	for _, e := range slices.SortedFunc(slices.Values(events), Event.compare) {
		c.Consumer = cmp.Or(e.Consumer, c.Consumer)
		c.Email = cmp.Or(e.Email, c.Email)
	}
	return c
}
