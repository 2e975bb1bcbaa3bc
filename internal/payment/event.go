package payment

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// Event is what Standin reads of a provider's event. Texts are empty and
// times zero where the event does not say.
type Event struct {
	ID      string
	Type    string
	Created time.Time // exact to a second
	Effect  Effect

	Subscription string // its id
	Customer     string // its id
	Consumer     string // id or name of the consumer that the event names
	Email        string // the customer's, in lower case

	// What Effect brings to the subscription.
	Plan      string
	Status    Status
	PeriodEnd time.Time
}

// Effect is what an event does to its subscription.
type Effect string

const (
	NoEffect      Effect = ""
	Began         Effect = "began"
	PaymentFailed Effect = "payment_failed"
	PaymentMade   Effect = "payment_made"
	Changed       Effect = "changed"
	Ended         Effect = "ended"
)

// effectOrder is how effects within one second follow on each other.
var effectOrder = []Effect{NoEffect, Began, PaymentFailed, PaymentMade, Changed, Ended}

// compare orders events as they happened (package doc, Order).
func (e Event) compare(other Event) int {
	return cmp.Or(
		e.Created.Compare(other.Created),
		slices.Index(effectOrder, e.Effect)-slices.Index(effectOrder, other.Effect),
		e.Status.place()-other.Status.place(),
		e.PeriodEnd.Compare(other.PeriodEnd),
		cmp.Compare(e.ID, other.ID),
	)
}

// Decode reads an event. Any JSON object is one (specification, POST
// /webhooks/payments); what it does not say is left empty. Anything else gives
// a *job.Error with InvalidInput.
func Decode(body []byte) (Event, error) {
	o := parseObject(body)
	if o == nil {
		return Event{}, &job.Error{Code: job.InvalidInput, Message: "The body is no JSON object."}
	}
	e := Event{ID: o.text("id"), Type: o.text("type"), Created: o.seconds("created")}
	if e.ID == "" {
		sum := sha256.Sum256(body)
		e.ID = "sha256:" + hex.EncodeToString(sum[:])
	}
	about := o.object("data", "object")
	switch {
	case strings.HasPrefix(e.Type, "customer.subscription."):
		e.readSubscription(about)
	case strings.HasPrefix(e.Type, "invoice."):
		e.readInvoice(about)
	case e.Type == "checkout.session.completed", e.Type == "checkout.session.async_payment_succeeded":
		e.readCheckout(about)
	case e.Type == "customer.created", e.Type == "customer.updated":
		e.Customer = about.text("id")
		e.readEmail(about.text("email"))
		e.Consumer = namedConsumer(about)
	}
	return e, nil
}

func (e *Event) readSubscription(o object) {
	e.Subscription = o.text("id")
	e.readCustomer(o)
	e.Consumer = namedConsumer(o)
	e.Plan = planName(o)
	e.Status = Status(o.text("status"))
	e.PeriodEnd = o.seconds("current_period_end")
	for _, item := range o.object("items").list("data") { // its place since the provider's version of 2025-03-31
		e.PeriodEnd = later(e.PeriodEnd, item.seconds("current_period_end"))
	}
	switch e.Type {
	case "customer.subscription.created":
		e.Effect = Began
	case "customer.subscription.deleted":
		e.Effect, e.Status = Ended, Canceled
	default:
		e.Effect = Changed
	}
}

func (e *Event) readInvoice(o object) {
	parent := o.object("parent", "subscription_details") // its place since the provider's version of 2025-03-31
	e.Subscription = cmp.Or(o.id("subscription"), parent.id("subscription"))
	e.readCustomer(o)
	e.readEmail(o.text("customer_email"))
	e.Consumer = cmp.Or(namedConsumer(parent), namedConsumer(o.object("subscription_details")), namedConsumer(o))
	switch e.Type {
	case "invoice.paid", "invoice.payment_succeeded":
		e.Effect = PaymentMade
		// The invoice's own period is the one before; its lines tell what
		// was paid for.
		for _, line := range o.object("lines").list("data") {
			e.PeriodEnd = later(e.PeriodEnd, line.object("period").seconds("end"))
		}
	case "invoice.payment_failed":
		e.Effect = PaymentFailed
	}
}

// readCheckout reads whom a customer belongs to. It says nothing of the
// subscription itself: client_reference_id may as well be an order's number.
func (e *Event) readCheckout(o object) {
	e.readCustomer(o)
	e.readEmail(cmp.Or(o.object("customer_details").text("email"), o.text("customer_email")))
	e.Consumer = cmp.Or(namedConsumer(o), consumerReference(o.text("client_reference_id")))
}

// readCustomer reads the reference to a customer, and its e-mail address when
// the whole customer is there.
func (e *Event) readCustomer(o object) {
	e.Customer = o.id("customer")
	e.readEmail(o.object("customer").text("email"))
}

// readEmail keeps the address unless it is empty.
func (e *Event) readEmail(address string) {
	if address != "" {
		e.Email = strings.ToLower(address)
	}
}

// namedConsumer returns the consumer that the object's metadata names.
func namedConsumer(o object) string {
	return consumerReference(o.object("metadata").first("standin_consumer", "consumer_id", "consumerId", "consumer"))
}

// consumerReference writes an id as Standin does, and leaves a name as it is.
func consumerReference(s string) string {
	if id, err := uuid.Parse(s); err == nil && len(s) == len(id.String()) {
		return id.String()
	}
	return s
}

// planName returns what the subscription's plan is called: the name that its
// metadata gives under plan, else that of its first price: the lookup key, the
// nickname, the identifier.
func planName(o object) string {
	name := o.object("metadata").text("plan")
	for _, item := range o.object("items").list("data") {
		name = cmp.Or(name, item.object("price").first("lookup_key", "nickname", "id"), item.object("plan").first("nickname", "id"))
	}
	return cmp.Or(name, o.object("plan").first("nickname", "id"))
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
