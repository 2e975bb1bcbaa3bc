package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/webhook"
)

// Webhooks manages all webhooks of a consumer. History has those of one job.
type Webhooks interface {
	Endpoints(ctx context.Context, caller account.Caller, page lifecycle.Page) (endpoints []webhook.Endpoint, next string, err error)
	RedeliverFailed(ctx context.Context, caller account.Caller, filter webhook.FailedFilter) (int, error)
	RotateSecret(ctx context.Context, caller account.Caller) (secret string, previousUntil time.Time, err error)
}

// endpointBody is the WebhookEndpoint schema of api/openapi.yaml.
type endpointBody struct {
	URL             string                  `json:"url"`
	State           lifecycle.EndpointState `json:"state"`
	Failures        int                     `json:"failures"`
	FailingSince    *job.Timestamp          `json:"failingSince"`
	LastTryAt       job.Timestamp           `json:"lastTryAt"`
	LastStatus      *int                    `json:"lastStatus"`
	LastError       *string                 `json:"lastError"`
	LastDeliveredAt *job.Timestamp          `json:"lastDeliveredAt"`
	Waiting         int64                   `json:"waiting"`
	NextTryAt       *job.Timestamp          `json:"nextTryAt"`
}

func newEndpointBody(e webhook.Endpoint) endpointBody {
	body := endpointBody{
		URL: e.URL, State: lifecycle.StateOf(e), Failures: e.Failures, FailingSince: job.NullTimestamp(e.FailingSince),
		LastTryAt: job.Timestamp(e.LastTryAt), LastError: nullText(e.LastError),
		LastDeliveredAt: job.NullTimestamp(e.LastDeliveredAt), Waiting: e.Waiting, NextTryAt: job.NullTimestamp(e.NextTryAt),
	}
	if e.LastStatus != 0 {
		body.LastStatus = &e.LastStatus
	}
	return body
}

func (a *API) listWebhookEndpoints(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	var query pageQuery
	if err := a.readQuery(w, r, "listWebhookEndpoints", &query); err != nil {
		return err
	}
	endpoints, next, err := a.settings.Webhooks.Endpoints(r.Context(), caller, query.page())
	if err != nil {
		return fmt.Errorf("list webhook endpoints: %w", err)
	}
	bodies := make([]endpointBody, len(endpoints))
	for i, e := range endpoints {
		bodies[i] = newEndpointBody(e)
	}
	a.writeJSON(w, http.StatusOK, struct {
		Endpoints []endpointBody `json:"endpoints"`
		Next      *string        `json:"nextCursor"`
	}{bodies, nullText(next)})
	return nil
}

// redeliverRequest is the RedeliverFailedRequest schema of api/openapi.yaml.
type redeliverRequest struct {
	JobID uuid.UUID `json:"jobId"`
	URL   string    `json:"url"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
}

func (a *API) redeliverFailed(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	var request redeliverRequest
	if err := a.readRequest(w, r, "redeliverFailed", &request); err != nil {
		return err
	}
	count, err := a.settings.Webhooks.RedeliverFailed(r.Context(), caller, webhook.FailedFilter(request))
	if err != nil {
		return fmt.Errorf("redeliver failed webhooks: %w", err)
	}
	a.writeJSON(w, http.StatusAccepted, struct {
		Count int `json:"count"`
	}{count})
	return nil
}

func (a *API) rotateWebhookSecret(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	secret, until, err := a.settings.Webhooks.RotateSecret(r.Context(), caller)
	if err != nil {
		return fmt.Errorf("rotate a webhook secret: %w", err)
	}
	a.writeJSON(w, http.StatusCreated, struct {
		Secret        string        `json:"secret"`
		PreviousUntil job.Timestamp `json:"previousSignsUntil"`
	}{secret, job.Timestamp(until)})
	return nil
}
