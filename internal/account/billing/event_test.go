package billing_test

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
	"time"

	"standin/internal/account/billing"
	"standin/internal/jobs/job"
)

// unix returns a time from the provider's format.
func unix(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }

// hashID returns the ID of an event without an ID.
func hashID(body string) string {
	sum := sha256.Sum256([]byte(body))
	return "sha256:" + hex.EncodeToString(sum[:])
}

const subscriptionUpdated = `{
	"id": "evt_1", "object": "event", "api_version": "2025-03-31.basil", "created": 1700000000, "livemode": true,
	"type": "customer.subscription.updated",
	"data": {
		"object": {
			"id": "sub_1", "object": "subscription", "customer": "cus_1", "status": "past_due",
			"metadata": {"standin_consumer": "ada"},
			"items": {"object": "list", "data": [
				{"id": "si_1", "current_period_end": 1702592000, "price": {"id": "price_1", "nickname": "Team", "lookup_key": "team"}},
				{"id": "si_2", "current_period_end": 1702592001, "price": {"id": "price_2", "lookup_key": "seats"}}
			]}
		},
		"previous_attributes": {"status": "active"}
	}
}`

const subscriptionDeleted = `{
	"id": "evt_2", "created": 1700000000, "type": "customer.subscription.deleted",
	"data": {"object": {
		"id": "sub_1", "customer": {"id": "cus_1", "email": "Ada@Example.com"}, "status": "active",
		"current_period_end": 1702592000, "plan": {"id": "plan_1", "nickname": null},
		"metadata": {"consumer_id": "0198F6E0-0000-7000-8000-0000000000AA"}
	}}
}`

const invoicePaid = `{
	"id": "evt_3", "created": 1700000000, "type": "invoice.paid",
	"data": {"object": {
		"id": "in_1", "customer": "cus_1", "customer_email": "ada@example.com", "period_end": 1700000000,
		"parent": {"type": "subscription_details", "subscription_details": {"subscription": "sub_1", "metadata": {"consumer": "ada"}}},
		"lines": {"data": [{"period": {"start": 1700000000, "end": 1702592000}}, {"period": {"end": 1701000000}}]}
	}}
}`

const invoiceFailed = `{
	"id": "evt_4", "created": 1700000000, "type": "invoice.payment_failed",
	"data": {"object": {
		"id": "in_1", "customer": "cus_1", "subscription": "sub_1", "subscription_details": {"metadata": {"consumerId": "ada"}},
		"lines": {"data": [{"period": {"end": 1702592000}}]}
	}}
}`

const checkoutCompleted = `{
	"id": "evt_5", "created": 1700000000, "type": "checkout.session.completed",
	"data": {"object": {"id": "cs_1", "customer": "cus_1", "subscription": "sub_1", "client_reference_id": "ada",
		"customer_details": {"email": "ADA@example.com"}, "metadata": {}}}
}`

const customerUpdated = `{
	"id": "evt_6", "created": 1700000000, "type": "customer.updated",
	"data": {"object": {"id": "cus_1", "email": "ada@example.com", "metadata": {"consumer": "ada"}}}
}`

func TestDecode(t *testing.T) {
	t.Parallel()
	created := unix(1700000000)
	for name, test := range map[string]struct {
		body string
		want billing.Event
	}{
		"subscription updated": {subscriptionUpdated, billing.Event{
			ID: "evt_1", Type: "customer.subscription.updated", Created: created, Effect: billing.Changed,
			Subscription: "sub_1", Customer: "cus_1", Consumer: "ada",
			Plan: "team", Status: billing.PastDue, PeriodEnd: unix(1702592001),
		}},
		"subscription deleted, customer expanded, fields of an older version": {subscriptionDeleted, billing.Event{
			ID: "evt_2", Type: "customer.subscription.deleted", Created: created, Effect: billing.Ended,
			Subscription: "sub_1", Customer: "cus_1", Consumer: "0198f6e0-0000-7000-8000-0000000000aa", Email: "ada@example.com",
			Plan: "plan_1", Status: billing.Canceled, PeriodEnd: unix(1702592000),
		}},
		"invoice paid": {invoicePaid, billing.Event{
			ID: "evt_3", Type: "invoice.paid", Created: created, Effect: billing.PaymentMade,
			Subscription: "sub_1", Customer: "cus_1", Consumer: "ada", Email: "ada@example.com", PeriodEnd: unix(1702592000),
		}},
		"invoice paid under its other name": {strings.Replace(invoicePaid, "invoice.paid", "invoice.payment_succeeded", 1), billing.Event{
			ID: "evt_3", Type: "invoice.payment_succeeded", Created: created, Effect: billing.PaymentMade,
			Subscription: "sub_1", Customer: "cus_1", Consumer: "ada", Email: "ada@example.com", PeriodEnd: unix(1702592000),
		}},
		"invoice not paid, fields of an older version": {invoiceFailed, billing.Event{
			ID: "evt_4", Type: "invoice.payment_failed", Created: created, Effect: billing.PaymentFailed,
			Subscription: "sub_1", Customer: "cus_1", Consumer: "ada",
		}},
		"other invoice event": {strings.Replace(invoicePaid, "invoice.paid", "invoice.created", 1), billing.Event{
			ID: "evt_3", Type: "invoice.created", Created: created,
			Subscription: "sub_1", Customer: "cus_1", Consumer: "ada", Email: "ada@example.com",
		}},
		"checkout": {checkoutCompleted, billing.Event{
			ID: "evt_5", Type: "checkout.session.completed", Created: created, Customer: "cus_1", Consumer: "ada", Email: "ada@example.com",
		}},
		"customer": {customerUpdated, billing.Event{
			ID: "evt_6", Type: "customer.updated", Created: created, Customer: "cus_1", Consumer: "ada", Email: "ada@example.com",
		}},
		"plan named by metadata": {
			`{"id":"e","created":1,"type":"customer.subscription.created","data":{"object":{"id":"s","status":"trialing","metadata":{"plan":"Gold"},"plan":{"id":"p"}}}}`,
			billing.Event{
				ID: "e", Type: "customer.subscription.created", Created: unix(1), Effect: billing.Began,
				Subscription: "s", Plan: "Gold", Status: billing.Trialing,
			}},
		"unknown type": {`{"id":"e","created":1,"type":"charge.refunded","data":{"object":{"customer":"cus_1"}}}`,
			billing.Event{ID: "e", Type: "charge.refunded", Created: unix(1)}},
		"empty object": {`{}`, billing.Event{ID: hashID(`{}`)}},
		"every field with a wrong type": {`{"id":7,"type":["customer.updated"],"created":"soon","data":[]}`,
			billing.Event{ID: hashID(`{"id":7,"type":["customer.updated"],"created":"soon","data":[]}`)}},
		"subscription fields with wrong types": {
			`{"id":"e","created":-5,"type":"customer.subscription.updated","data":{"object":{"id":{},"customer":[],"status":1,"items":{"data":[1,null,{"price":"x","current_period_end":1e9}]},"current_period_end":"1","metadata":null,"plan":null}}}`,
			billing.Event{ID: "e", Type: "customer.subscription.updated", Effect: billing.Changed}},
		"no data object": {
			`{"id":"e","type":"invoice.paid"}`, billing.Event{ID: "e", Type: "invoice.paid", Effect: billing.PaymentMade},
		},
		"created after the year 9999": {`{"id":"e","created":253402300800}`, billing.Event{ID: "e"}},
		"texts that databases cannot store": {`{"id":"e\u0000","type":"` + strings.Repeat("x", 1000) + `"}`,
			billing.Event{ID: hashID(`{"id":"e\u0000","type":"` + strings.Repeat("x", 1000) + `"}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := billing.Decode([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("\n got %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestDecodeRejectsInvalidBodies(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, ` `, `null`, `[]`, `[{}]`, `"x"`, `7`, `{`, `{}{}`, `{"a":}`, "\xff", `{"id":"e"} x`} {
		if event, err := billing.Decode([]byte(body)); !job.ErrorIs(err, job.InvalidInput) {
			t.Errorf("%q: got %+v and %v, want invalid_input", body, event, err)
		}
	}
}

// FuzzDecode checks that any JSON object decodes to an event that a database can store.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		subscriptionUpdated, subscriptionDeleted, invoicePaid, invoiceFailed, checkoutCompleted, customerUpdated,
		`{}`, `null`, `[]`, `{"id":"\ud800","type":"invoice.paid","created":1e3}`, "{\"id\":\"\xff\"}",
		`{"type":"customer.subscription.","data":{"object":{"items":{"data":{}},"customer":{"id":{"id":"x"}}}}}`,
		`{"id":"` + strings.Repeat("é", 200) + `","created":99999999999999999999}`, strings.Repeat(`{"data":`, 50),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		e, err := billing.Decode([]byte(body))
		if err != nil {
			if !job.ErrorIs(err, job.InvalidInput) {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		if e.ID == "" {
			t.Errorf("%q has no ID", body)
		}
		for _, text := range []string{e.ID, e.Type, e.Subscription, e.Customer, e.Consumer, e.Email, e.Plan, string(e.Status)} {
			if len(text) > 1000 || strings.ToValidUTF8(text, "") != text || strings.ContainsRune(text, 0) {
				t.Errorf("%q was decoded from %q", text, body)
			}
		}
		for _, at := range []time.Time{e.Created, e.PeriodEnd} {
			if !at.IsZero() && (at.Year() < 1970 || at.Year() > 9999) {
				t.Errorf("%v was decoded from %q", at, body)
			}
		}
	})
}
