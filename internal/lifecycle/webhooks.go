package lifecycle

import (
	"context"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/event"
	"standin/internal/job"
	"standin/internal/webhook"
)

// Endpoints returns the endpoints that the consumer has registered for the caller's mode and
// the URLs of jobs to which webhooks have been sent, with their state, and the cursor of the
// next page. Live and test keys share the URLs of jobs.
func (s *Service) Endpoints(ctx context.Context, caller account.Caller, page Page) (endpoints []webhook.Endpoint, next string, err error) {
	limit, err := page.limit()
	if err != nil {
		return nil, "", err
	}
	after := ""
	if page.Cursor != "" {
		if _, after, err = readCursor(endpointList, page.Cursor); err != nil {
			return nil, "", err
		}
	}
	endpoints, more, err := s.Store.ListEndpoints(ctx, caller.ConsumerID, caller.Mode, after, limit, s.Now())
	if err != nil {
		return nil, "", err
	}
	if more {
		next = cursor(endpointList, 0, endpoints[len(endpoints)-1].Key)
	}
	return endpoints, next, nil
}

// RedeliverFailed sends the caller's deliveries again that failed permanently and
// match the filter, each with its ID and to its URL, and returns their number. An
// empty filter, which would match every failed delivery, is a *job.Error with
// InvalidInput.
func (s *Service) RedeliverFailed(ctx context.Context, caller account.Caller, filter webhook.FailedFilter) (int, error) {
	if filter == (webhook.FailedFilter{}) {
		return 0, &job.Error{Code: job.InvalidInput, Message: "name a job, an address or a time span", Path: []any{}}
	}
	if filter.JobID != uuid.Nil {
		if _, err := s.Job(ctx, caller, filter.JobID); err != nil {
			return 0, err
		}
	}
	count, err := s.Store.RedeliverFailed(ctx, caller.ConsumerID, caller.Mode, filter, s.Now())
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
		return "", time.Time{}, &job.Error{Code: job.InvalidState, Message: "use a live key to rotate the webhook secret"}
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
