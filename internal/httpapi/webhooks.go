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

// Webhooks is what consumers may do with their webhooks as a whole; History has
// those of one job.
type Webhooks interface {
	Endpoints(ctx context.Context, caller account.Caller, page lifecycle.Page) (endpoints []webhook.Endpoint, next string, err error)
	RedeliverFailed(ctx context.Context, caller account.Caller, filter webhook.FailedFilter) (int, error)
	RotateSecret(ctx context.Context, caller account.Caller) (secret string, previousUntil time.Time, err error)
}

// endpointBody is a WebhookEndpoint of the description.
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

func endpointView(e webhook.Endpoint) endpointBody {
	view := endpointBody{
		URL: e.URL, State: lifecycle.StateOf(e), Failures: e.Failures, FailingSince: timestampOrNull(e.FailingSince),
		LastTryAt: job.Timestamp(e.LastTryAt), LastError: textOrNull(e.LastError),
		LastDeliveredAt: timestampOrNull(e.LastDeliveredAt), Waiting: e.Waiting, NextTryAt: timestampOrNull(e.NextTryAt),
	}
	if e.LastStatus != 0 {
		view.LastStatus = &e.LastStatus
	}
	return view
}

func (a *API) listWebhookEndpoints(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	query, err := a.readQuery(r, "listWebhookEndpoints")
	if err != nil {
		return err
	}
	endpoints, next, err := a.settings.Webhooks.Endpoints(r.Context(), caller, pageOf(query))
	if err != nil {
		return fmt.Errorf("list webhook endpoints: %w", err)
	}
	views := make([]endpointBody, len(endpoints))
	for i, e := range endpoints {
		views[i] = endpointView(e)
	}
	a.writeJSON(w, http.StatusOK, struct {
		Endpoints []endpointBody `json:"endpoints"`
		Next      *string        `json:"nextCursor"`
	}{views, textOrNull(next)})
	return nil
}

func (a *API) redeliverFailed(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	fields, err := a.readRequest(w, r, "redeliverFailed")
	if err != nil {
		return err
	}
	filter := webhook.FailedFilter{URL: fields.text("url")}
	if text := fields.text("jobId"); text != "" {
		if filter.JobID, err = uuid.Parse(text); err != nil {
			return fmt.Errorf("read jobId: %w", err)
		}
	}
	if filter.From, err = fields.time("from"); err != nil {
		return err
	}
	if filter.To, err = fields.time("to"); err != nil {
		return err
	}
	count, err := a.settings.Webhooks.RedeliverFailed(r.Context(), caller, filter)
	if err != nil {
		return fmt.Errorf("redeliver what failed: %w", err)
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
	w.Header().Set("Cache-Control", "no-store")
	a.writeJSON(w, http.StatusCreated, struct {
		Secret        string        `json:"secret"`
		PreviousUntil job.Timestamp `json:"previousSignsUntil"`
	}{secret, job.Timestamp(until)})
	return nil
}
