package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/webhook"
)

// History lists the timeline and the webhook deliveries of jobs. A job that
// does not exist or belongs to another consumer results in a *job.Error with
// NotFound.
type History interface {
	Timeline(ctx context.Context, caller account.Caller, id uuid.UUID, page lifecycle.Page) (entries []job.TimelineEntry, next string, err error)
	Deliveries(ctx context.Context, caller account.Caller, id uuid.UUID, page lifecycle.Page) (deliveries []webhook.DeliveryRecord, next string, err error)
	// TranscriptProblem returns why a job has no transcript, as a sentence; empty when
	// nothing has failed.
	TranscriptProblem(ctx context.Context, id uuid.UUID) (string, error)
	Redeliver(ctx context.Context, caller account.Caller, id uuid.UUID, deliveryID string) (webhook.DeliveryRecord, error)
}

// entryBody is the TimelineEntry schema of api/openapi.yaml.
type entryBody struct {
	ID         uuid.UUID       `json:"id"`
	Attempt    int             `json:"attempt"`
	Source     job.Source      `json:"source"`
	Kind       string          `json:"kind"`
	EmittedAt  job.Timestamp   `json:"emittedAt"`
	ReceivedAt job.Timestamp   `json:"receivedAt"`
	Applied    bool            `json:"applied"`
	Reason     *string         `json:"reason"`
	From       job.Status      `json:"from"`
	To         job.Status      `json:"to"`
	Data       json.RawMessage `json:"data"`
}

func newEntryBody(e job.TimelineEntry) entryBody {
	body := entryBody{
		ID: e.ID, Attempt: e.Attempt, Source: e.Source,
		Kind:      string(e.Kind),
		EmittedAt: job.Timestamp(e.EmittedAt), ReceivedAt: job.Timestamp(e.ReceivedAt),
		Applied: e.Applied, Reason: nullText(string(e.Reason)), From: e.From, To: e.To, Data: e.Data,
	}
	if len(body.Data) == 0 {
		body.Data = json.RawMessage("{}")
	}
	return body
}

func (a *API) listTimeline(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, page, err := a.readJobList(w, r, "listTimeline")
	if err != nil {
		return err
	}
	entries, next, err := a.settings.History.Timeline(r.Context(), caller, id, page)
	if err != nil {
		return fmt.Errorf("list a timeline: %w", err)
	}
	bodies := make([]entryBody, len(entries))
	for i, e := range entries {
		bodies[i] = newEntryBody(e)
	}
	a.writeJSON(w, http.StatusOK, struct {
		Entries []entryBody `json:"entries"`
		Next    *string     `json:"nextCursor"`
	}{bodies, nullText(next)})
	return nil
}

// readJobList reads the job in the path and the page of a list of that job.
func (a *API) readJobList(w http.ResponseWriter, r *http.Request, operationID string) (uuid.UUID, lifecycle.Page, error) {
	id, err := jobID(r)
	if err != nil {
		return uuid.Nil, lifecycle.Page{}, err
	}
	var query pageQuery
	err = a.readQuery(w, r, operationID, &query)
	return id, query.page(), err
}

// deliveryBody is the Delivery schema of api/openapi.yaml.
type deliveryBody struct {
	ID        string                `json:"deliveryId"`
	Event     string                `json:"event"`
	URL       string                `json:"url"`
	Sequence  int64                 `json:"sequence"`
	EmittedAt job.Timestamp         `json:"emittedAt"`
	Version   int                   `json:"version"`
	State     webhook.DeliveryState `json:"state"`
	Attempt   int                   `json:"attempt"`
	NextTryAt *job.Timestamp        `json:"nextTryAt"`
	EndedAt   *job.Timestamp        `json:"endedAt"`
	EndReason *string               `json:"endReason"`
	Tries     []tryBody             `json:"tries"`
}

// tryBody is the DeliveryTry schema of api/openapi.yaml.
type tryBody struct {
	Number       int           `json:"number"`
	StartedAt    job.Timestamp `json:"startedAt"`
	LatencyMS    int64         `json:"latencyMs"`
	Status       *int          `json:"status"`
	Error        *string       `json:"error"`
	ResponseBody string        `json:"responseBody"`
}

func newDeliveryBody(d webhook.DeliveryRecord) deliveryBody {
	body := deliveryBody{
		ID: d.ID, Event: d.Event, URL: d.URL, Sequence: d.Sequence, EmittedAt: job.Timestamp(d.EmittedAt),
		Version: d.Version, State: d.State, Attempt: d.Attempt,
		NextTryAt: job.NullTimestamp(d.NextTryAt), EndedAt: job.NullTimestamp(d.EndedAt), EndReason: nullText(d.EndReason),
		Tries: make([]tryBody, len(d.Tries)),
	}
	for i, t := range d.Tries {
		body.Tries[i] = tryBody{
			Number: t.Number, StartedAt: job.Timestamp(t.StartedAt), LatencyMS: t.Latency.Milliseconds(),
			Error: nullText(t.Error), ResponseBody: strings.ToValidUTF8(string(t.ResponseBody), "\uFFFD"),
		}
		if t.StatusCode != 0 {
			body.Tries[i].Status = &t.StatusCode
		}
	}
	return body
}

func (a *API) listDeliveries(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, page, err := a.readJobList(w, r, "listDeliveries")
	if err != nil {
		return err
	}
	deliveries, next, err := a.settings.History.Deliveries(r.Context(), caller, id, page)
	if err != nil {
		return fmt.Errorf("list deliveries: %w", err)
	}
	bodies := make([]deliveryBody, len(deliveries))
	for i, d := range deliveries {
		bodies[i] = newDeliveryBody(d)
	}
	a.writeJSON(w, http.StatusOK, struct {
		Deliveries []deliveryBody `json:"deliveries"`
		Next       *string        `json:"nextCursor"`
	}{bodies, nullText(next)})
	return nil
}

func (a *API) redeliver(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	delivery, err := a.settings.History.Redeliver(r.Context(), caller, id, r.PathValue("deliveryId"))
	if err != nil {
		return fmt.Errorf("redeliver a webhook: %w", err)
	}
	a.writeJSON(w, http.StatusAccepted, newDeliveryBody(delivery))
	return nil
}

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
