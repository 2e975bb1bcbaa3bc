package lifecycle

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/base/text"
	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
)

// Limits of a registered endpoint.
const (
	maxEndpointURL         = 2048
	maxEndpointDescription = 200
)

// NewEndpoint is an endpoint to register.
type NewEndpoint struct {
	URL         string
	Events      []string // see webhook.Takes
	Description string
	Disabled    bool // no events are sent to it
}

// RegisterEndpoint registers a URL for events of the caller's mode. The error is a *job.Error
// with InvalidInput for an unusable URL or choice, or InvalidState for a URL that is
// registered.
func (s *Service) RegisterEndpoint(ctx context.Context, caller account.Caller, request NewEndpoint) (e webhook.Endpoint, err error) {
	parsed, err := url.Parse(request.URL)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" ||
		text.CheckLine(request.URL, maxEndpointURL) != nil {
		return e, job.NewInvalidInput("the URL must start with https:// or http:// and include a host", "url")
	}
	e = webhook.Endpoint{
		ID: webhook.EndpointID(caller.ConsumerID, caller.Mode, request.URL), ConsumerID: caller.ConsumerID, URL: request.URL, Mode: caller.Mode,
		Events: request.Events, Description: request.Description, Enabled: !request.Disabled, CreatedAt: s.Now(),
	}
	if err := checkEndpoint(&e); err != nil {
		return e, err
	}
	if err := s.Store.RegisterEndpoint(ctx, e); err != nil {
		return e, err
	}
	return s.Endpoint(ctx, caller, e.ID)
}

// checkEndpoint checks what can be changed, and removes repetitions.
func checkEndpoint(e *webhook.Endpoint) error {
	if err := webhook.CheckEvents(e.Events); err != nil {
		return err
	}
	slices.Sort(e.Events)
	e.Events = slices.Compact(e.Events)
	if err := text.CheckLine(e.Description, maxEndpointDescription); err != nil {
		return job.NewInvalidInput("the description "+err.Error(), "description")
	}
	return nil
}

// Endpoint returns an endpoint of the caller, or a *job.Error with NotFound.
func (s *Service) Endpoint(ctx context.Context, caller account.Caller, id uuid.UUID) (webhook.Endpoint, error) {
	return s.Store.Endpoint(ctx, caller, id, s.Now())
}

// registeredEndpoint returns an endpoint that the caller can change.
func (s *Service) registeredEndpoint(ctx context.Context, caller account.Caller, id uuid.UUID) (webhook.Endpoint, error) {
	e, err := s.Endpoint(ctx, caller, id)
	if err == nil && !e.Registered {
		err = job.NewInvalidState("only jobs name this URL; register it to choose its events")
	}
	return e, err
}

// EndpointPatch has the changes of an endpoint. A nil field does not change.
type EndpointPatch struct {
	Events      []string
	Description *string
	Enabled     *bool
}

// ChangeEndpoint changes a registered endpoint.
func (s *Service) ChangeEndpoint(ctx context.Context, caller account.Caller, id uuid.UUID, patch EndpointPatch) (webhook.Endpoint, error) {
	e, err := s.registeredEndpoint(ctx, caller, id)
	if err != nil {
		return e, err
	}
	if patch.Events != nil {
		e.Events = patch.Events
	}
	replace(&e.Description, patch.Description)
	replace(&e.Enabled, patch.Enabled)
	if err := checkEndpoint(&e); err != nil {
		return e, err
	}
	if err := s.Store.UpdateEndpoint(ctx, e); err != nil {
		return e, err
	}
	return s.Endpoint(ctx, caller, id)
}

// DeleteEndpoint deletes a registered endpoint. The deliveries that wait only because of it
// fail.
func (s *Service) DeleteEndpoint(ctx context.Context, caller account.Caller, id uuid.UUID) error {
	e, err := s.registeredEndpoint(ctx, caller, id)
	if err != nil {
		return err
	}
	return s.Store.DeleteEndpoint(ctx, e, s.Now())
}

// RetryEndpoint sends the waiting deliveries of an endpoint now: all of them, or the oldest
// one if the endpoint is dead, and the others as soon as that one is acknowledged.
func (s *Service) RetryEndpoint(ctx context.Context, caller account.Caller, id uuid.UUID) (webhook.Endpoint, error) {
	e, err := s.Endpoint(ctx, caller, id)
	if err != nil {
		return e, err
	}
	if err := s.Store.RetryEndpoint(ctx, e.Key, s.Now()); err != nil {
		return e, err
	}
	s.Events.Publish(event.DeliveryDue{})
	return s.Endpoint(ctx, caller, id)
}

// DeliveryLog returns the caller's deliveries that match a filter, newest first and with
// their attempts, and the cursor of the next page.
func (s *Service) DeliveryLog(ctx context.Context, caller account.Caller, filter webhook.LogFilter,
	page Page) (deliveries []webhook.DeliveryRecord, next string, err error) {
	return readPage(page, logList, func(after position, limit int) ([]webhook.DeliveryRecord, bool, error) {
		var last webhook.LogCursor
		if after != (position{}) {
			last = webhook.LogCursor{EmittedAt: time.UnixMilli(after.number).UTC(), ID: after.id}
		}
		return s.Store.DeliveryLog(ctx, caller, filter, last, limit, s.Now())
	}, func(d webhook.DeliveryRecord) position { return position{d.EmittedAt.UnixMilli(), d.ID} })
}

// DeliveryDetails is a delivery with its request.
type DeliveryDetails struct {
	webhook.DeliveryRecord
	Request webhook.Request
}

// Delivery returns a delivery of the caller, with the request of its latest attempt or, before
// the first, of that one.
func (s *Service) Delivery(ctx context.Context, caller account.Caller, id string) (details DeliveryDetails, err error) {
	id = checkedDeliveryID(id)
	if details.DeliveryRecord, err = s.Store.DeliveryOf(ctx, caller, id, s.Now()); err != nil {
		return details, err
	}
	sent, err := s.Store.DeliveryRequest(ctx, caller, id)
	if err != nil {
		return details, err
	}
	at := s.Now()
	if n := len(details.Tries); n > 0 {
		at, sent.Attempt = details.Tries[n-1].StartedAt, details.Tries[n-1].Number
	}
	details.Request, err = webhook.RequestOf(sent, at)
	return details, err
}

// RedeliverOne sends a delivery of the caller again that succeeded or failed permanently,
// with the same ID and to the same URL. It returns the waiting delivery. One that is still
// waiting, or was attempted too often, is a *job.Error with InvalidState.
func (s *Service) RedeliverOne(ctx context.Context, caller account.Caller, id string) (waiting webhook.DeliveryRecord, err error) {
	id = checkedDeliveryID(id)
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Redeliver(ctx, caller, id, s.Now()); err != nil {
			return err
		}
		waiting, err = tx.DeliveryOf(ctx, caller, id, s.Now())
		return err
	})
	if err != nil {
		return webhook.DeliveryRecord{}, err
	}
	s.Events.Publish(event.DeliveryDue{})
	return waiting, nil
}

// checkedDeliveryID returns a delivery ID, or an empty text, which no delivery has, in place
// of one that no database can store.
func checkedDeliveryID(id string) string {
	if len(id) > maxDeliveryID || !printable(id) {
		return ""
	}
	return id
}

// Endpoints returns the endpoints that the consumer has registered for the caller's mode and
// the URLs of jobs to which webhooks have been sent, with their state, and the cursor of the
// next page.
func (s *Service) Endpoints(ctx context.Context, caller account.Caller, page Page) (endpoints []webhook.Endpoint, next string, err error) {
	return readPage(page, endpointList, func(after position, limit int) ([]webhook.Endpoint, bool, error) {
		return s.Store.ListEndpoints(ctx, caller, after.id, limit, s.Now())
	}, func(e webhook.Endpoint) position { return position{id: e.Key} })
}

// FailedDeliveries selects deliveries that failed permanently. Zero fields match all of them.
type FailedDeliveries struct {
	JobID      uuid.UUID `json:"jobId"`
	EndpointID uuid.UUID `json:"endpointId"`
	URL        string    `json:"url"`
	From       time.Time `json:"from"` // time of the event, inclusive
	To         time.Time `json:"to"`   // time of the event, exclusive
}

// RedeliverFailed sends the caller's deliveries again that failed permanently and match all
// fields, each with its ID and to its URL, and returns their number. The error is a *job.Error
// with NotFound without the job or the endpoint, or with InvalidInput without a field, which
// would match every failed delivery.
func (s *Service) RedeliverFailed(ctx context.Context, caller account.Caller, which FailedDeliveries) (int, error) {
	if which == (FailedDeliveries{}) {
		return 0, &job.Error{Code: job.InvalidInput, Message: "name a job, an endpoint, a URL or a time range", Path: []any{}}
	}
	if which.JobID != uuid.Nil {
		if _, err := s.Job(ctx, caller, which.JobID); err != nil {
			return 0, err
		}
	}
	filter := webhook.FailedFilter{JobID: which.JobID, URL: which.URL, From: which.From, To: which.To}
	if which.EndpointID != uuid.Nil {
		e, err := s.Endpoint(ctx, caller, which.EndpointID)
		if err != nil || which.URL != "" && which.URL != e.URL {
			return 0, err
		}
		filter.URL = e.URL
	}
	count, err := s.Store.RedeliverFailed(ctx, caller, filter, s.Now())
	if count > 0 {
		s.Events.Publish(event.DeliveryDue{})
	}
	return count, err
}

// RotateSecret creates a new webhook secret for the caller's consumer, which is
// shown only once. The old one signs too until the returned time. It needs a live
// key: test keys are handed out more freely, and the secret signs the webhooks of
// live jobs.
func (s *Service) RotateSecret(ctx context.Context, caller account.Caller) (secret string, previousUntil time.Time, err error) {
	if caller.Mode != job.Live {
		return "", time.Time{}, job.NewInvalidState("use a live key to rotate the webhook secret")
	}
	return account.RotateSecret(ctx, s.Store, caller.ConsumerID, s.Now())
}

// EndpointState is the state of an endpoint.
type EndpointState string

// The states of an endpoint.
const (
	Untried   EndpointState = "untried"   // no webhook was sent to it
	Answering EndpointState = "answering" // it acknowledged the last attempt
	Slow      EndpointState = "slow"      // it did, after more than slowAfter
	Failing   EndpointState = "failing"   // it did not
	Dead      EndpointState = "dead"      // so often that attempts are rare until it answers
)

// slowAfter is how long an endpoint may take to respond before it is slow.
const slowAfter = time.Second

// StateOf returns the state of an endpoint.
func StateOf(e webhook.Endpoint) EndpointState {
	switch {
	case e.Failures >= webhook.DeadAfterFailures:
		return Dead
	case e.Failures > 0:
		return Failing
	case e.LastTryAt.IsZero():
		return Untried
	case e.Latency >= slowAfter:
		return Slow
	}
	return Answering
}

// EndpointTester posts test events in the same way as any webhook.
type EndpointTester struct {
	Poster interface {
		Post(ctx context.Context, delivery webhook.Delivery) webhook.Try
	}
	Consumers interface {
		Consumer(ctx context.Context, id uuid.UUID) (account.Consumer, error)
	}
	Now func() time.Time
}

// Test posts an example of an event to an address once, without the outbox. It follows no
// redirect. The error is a *job.Error with InvalidInput without such an event.
func (t *EndpointTester) Test(ctx context.Context, consumer uuid.UUID, address, event string) (try webhook.Try, err error) {
	example, err := webhook.Example(event)
	if err != nil {
		return try, err
	}
	of, err := t.Consumers.Consumer(ctx, consumer)
	if err != nil {
		return try, err
	}
	data, err := example.Data(1)
	if err != nil {
		return try, err
	}
	return t.Poster.Post(ctx, webhook.Delivery{
		ID: webhook.NewDeliveryID(), ConsumerID: consumer, Mode: job.Test, URL: address, Event: event, Sequence: 1,
		EmittedAt: t.Now(), Data: data, Version: of.WebhookVersion, Secrets: of.WebhookSecrets(), Attempt: 1,
	}), nil
}
