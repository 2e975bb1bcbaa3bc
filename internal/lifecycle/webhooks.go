package lifecycle

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/webhook"
)

// Endpoints lists the addresses to which the caller's webhooks have been
// posted, with how they do. They are the consumer's, whatever the key's mode.
func (s *Service) Endpoints(ctx context.Context, caller account.Caller, page Page) (endpoints []webhook.Endpoint, next string, err error) {
	limit, err := page.limit()
	if err != nil {
		return nil, "", err
	}
	after := ""
	if page.Cursor != "" {
		key, err := placeOf(page.Cursor)
		if err != nil || len(key) > maxEndpointKey || !printable(string(key)) {
			return nil, "", errCursor()
		}
		after = string(key)
	}
	endpoints, more, err := s.store.ListEndpoints(ctx, caller.ConsumerID, after, limit)
	if err != nil {
		return nil, "", err
	}
	if more {
		next = base64.RawURLEncoding.EncodeToString([]byte(endpoints[len(endpoints)-1].Key))
	}
	return endpoints, next, nil
}

// maxEndpointKey bounds the key of an endpoint; ours are shorter.
const maxEndpointKey = 1000

// RedeliverFailed has the caller's given up deliveries that pass the filter sent
// once more, each under its id and to its address, and returns how many. A
// filter that names nothing gives a *job.Error with InvalidInput: everything
// that ever failed is meant by nobody.
func (s *Service) RedeliverFailed(ctx context.Context, caller account.Caller, filter webhook.FailedFilter) (int, error) {
	if filter == (webhook.FailedFilter{}) {
		return 0, &job.Error{Code: job.InvalidInput, Message: "name a job, an address or a time span", Path: []any{}}
	}
	if filter.JobID != uuid.Nil {
		if _, err := s.Job(ctx, caller, filter.JobID); err != nil {
			return 0, err
		}
	}
	count, err := s.store.RedeliverFailed(ctx, caller.ConsumerID, caller.Mode, filter, s.now())
	if count > 0 {
		s.wakeHooks()
	}
	return count, err
}

// RotateSecret gives the caller's consumer a new webhook secret, which is shown
// this once; the old one signs too until the time returned. Test keys, which
// are handed out more freely, may not: the secret signs what live jobs tell.
func (s *Service) RotateSecret(ctx context.Context, caller account.Caller) (secret string, previousUntil time.Time, err error) {
	if caller.Mode != job.Live {
		return "", time.Time{}, &job.Error{Code: job.InvalidState, Message: "a webhook secret is rotated with a live key"}
	}
	return account.RotateSecret(ctx, s.store, caller.ConsumerID, s.now())
}

// EndpointState is how an endpoint does, in a word.
type EndpointState string

// The states of an endpoint.
const (
	Answering EndpointState = "answering" // its last try was acknowledged
	Failing   EndpointState = "failing"   // its last tries were not
	Dead      EndpointState = "dead"      // so many that it is tried gently until it is back
)

// StateOf returns the state of an endpoint.
func StateOf(e webhook.Endpoint) EndpointState {
	switch {
	case e.Failures >= webhook.DeadAfterFailures:
		return Dead
	case e.Failures > 0:
		return Failing
	}
	return Answering
}
