package billing

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
)

// Event is a decoded event of the provider. Missing texts are empty, missing
// times zero.
type Event struct {
	ID      string
	Type    string
	Created time.Time // precise to a second
	Effect  Effect

	Subscription string // its id
	Customer     string // its id
	Consumer     string // ID or name of the consumer that the event names
	Email        string // the customer's, in lower case

	// What Effect changes in the subscription.
	Plan      string
	Status    Status
	PeriodEnd time.Time
}

// Effect is the effect of an event on its subscription.
type Effect string

const (
	NoEffect      Effect = ""
	Began         Effect = "began"
	PaymentFailed Effect = "payment_failed"
	PaymentMade   Effect = "payment_made"
	Changed       Effect = "changed"
	Ended         Effect = "ended"
)

// effectOrder is the order of effects within a second.
var effectOrder = []Effect{NoEffect, Began, PaymentFailed, PaymentMade, Changed, Ended}

// compare orders events by time (package documentation, Order).
func (e Event) compare(other Event) int {
	return cmp.Or(
		e.Created.Compare(other.Created),
		slices.Index(effectOrder, e.Effect)-slices.Index(effectOrder, other.Effect),
		e.Status.rank()-other.Status.rank(),
		e.PeriodEnd.Compare(other.PeriodEnd),
		cmp.Compare(e.ID, other.ID),
	)
}

// Decode decodes an event. Any JSON object is an event; missing fields are left
// empty. The error is a *job.Error with InvalidInput for any other body.
func Decode(body []byte) (Event, error) {
	o := parseObject(body)
	if o == nil {
		return Event{}, job.NewInvalidInput("The body is not a JSON object.")
	}
	e := Event{ID: o.text("id"), Type: o.text("type"), Created: o.seconds("created")}
	if e.ID == "" {
		e.ID = fmt.Sprintf("sha256:%x", sha256.Sum256(body))
	}
	object := o.object("data", "object")
	switch {
	case strings.HasPrefix(e.Type, "customer.subscription."):
		e.Subscription = object.text("id")
		e.readCustomer(object)
		e.Consumer = namedConsumer(object)
		e.Status = Status(object.text("status"))
		// The plan is named in the metadata, or by the lookup key, nickname or ID of the first price.
		e.Plan, e.PeriodEnd = object.object("metadata").text("plan"), object.seconds("current_period_end")
		for _, item := range object.object("items").list("data") { // with the end since the provider's API version 2025-03-31
			e.Plan = cmp.Or(e.Plan, item.object("price").first("lookup_key", "nickname", "id"), item.object("plan").first("nickname", "id"))
			e.PeriodEnd = job.Latest(e.PeriodEnd, item.seconds("current_period_end"))
		}
		e.Plan = cmp.Or(e.Plan, object.object("plan").first("nickname", "id"))
		switch e.Type {
		case "customer.subscription.created":
			e.Effect = Began
		case "customer.subscription.deleted":
			e.Effect, e.Status = Ended, Canceled
		default:
			e.Effect = Changed
		}
	case strings.HasPrefix(e.Type, "invoice."):
		parent := object.object("parent", "subscription_details") // here since the provider's API version 2025-03-31
		e.Subscription = cmp.Or(object.id("subscription"), parent.id("subscription"))
		e.readCustomer(object)
		e.readEmail(object.text("customer_email"))
		e.Consumer = cmp.Or(namedConsumer(parent), namedConsumer(object.object("subscription_details")), namedConsumer(object))
		switch e.Type {
		case "invoice.paid", "invoice.payment_succeeded":
			e.Effect = PaymentMade
			// The invoice's own period is the previous one; its lines have the period that was paid for.
			for _, line := range object.object("lines").list("data") {
				e.PeriodEnd = job.Latest(e.PeriodEnd, line.object("period").seconds("end"))
			}
		case "invoice.payment_failed":
			e.Effect = PaymentFailed
		}
	case e.Type == "checkout.session.completed", e.Type == "checkout.session.async_payment_succeeded":
		e.readCustomer(object)
		e.readEmail(cmp.Or(object.object("customer_details").text("email"), object.text("customer_email")))
		e.Consumer = cmp.Or(namedConsumer(object), consumerReference(object.text("client_reference_id")))
	case e.Type == "customer.created", e.Type == "customer.updated":
		e.Customer = object.text("id")
		e.readEmail(object.text("email"))
		e.Consumer = namedConsumer(object)
	}
	return e, nil
}

// readCustomer reads the reference to a customer, and its e-mail address when the
// customer is expanded.
func (e *Event) readCustomer(o object) {
	e.Customer = o.id("customer")
	e.readEmail(o.object("customer").text("email"))
}

// readEmail sets the address unless it is empty.
func (e *Event) readEmail(address string) {
	if address != "" {
		e.Email = strings.ToLower(address)
	}
}

// namedConsumer returns the consumer in the object's metadata.
func namedConsumer(o object) string {
	return consumerReference(o.object("metadata").first("standin_consumer", "consumer_id", "consumerId", "consumer"))
}

// consumerReference returns an ID in canonical form, and a name unchanged.
func consumerReference(s string) string {
	if id, err := uuid.Parse(s); err == nil && len(s) == len(id.String()) {
		return id.String()
	}
	return s
}

// maxText is the maximum length of a text in an event, in bytes. The provider's
// identifiers have at most 255 characters.
const maxText = 320

// lastSecond is the last second of the year 9999.
const lastSecond = 253402300799

// object is a JSON object. A field of an unexpected type is treated as missing,
// so that no event fails because of its content.
type object map[string]json.RawMessage

// parseObject returns nil when data is not a JSON object.
func parseObject(data []byte) object {
	var o object
	if json.Unmarshal(data, &o) != nil {
		return nil
	}
	return o // null is nil too
}

// object returns the object at a path, nil when there is none.
func (o object) object(path ...string) object {
	for _, key := range path {
		o = parseObject(o[key])
	}
	return o
}

// list returns the objects in the array with that key.
func (o object) list(key string) []object {
	var elements []json.RawMessage
	if json.Unmarshal(o[key], &elements) != nil {
		return nil
	}
	objects := make([]object, 0, len(elements))
	for _, element := range elements {
		if inner := parseObject(element); inner != nil {
			objects = append(objects, inner)
		}
	}
	return objects
}

// text returns the string with that key, "" when it is too long or contains
// control characters.
func (o object) text(key string) string {
	var s string
	if json.Unmarshal(o[key], &s) != nil || len(s) > maxText || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return ""
	}
	return strings.TrimSpace(s)
}

// first returns the first non-empty text of the keys.
func (o object) first(keys ...string) string {
	for _, key := range keys {
		if s := o.text(key); s != "" {
			return s
		}
	}
	return ""
}

// id returns the ID in a reference, which is either the ID or the expanded
// object.
func (o object) id(key string) string {
	if s := o.text(key); s != "" {
		return s
	}
	return o.object(key).text("id")
}

// seconds returns the Unix time with that key, zero when it is invalid.
func (o object) seconds(key string) time.Time {
	n, err := strconv.ParseInt(string(o[key]), 10, 64)
	if err != nil || n <= 0 || n > lastSecond {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}
