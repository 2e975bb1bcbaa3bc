package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
)

// endpointBody is the WebhookEndpoint schema of api/openapi.yaml.
type endpointBody struct {
	ID              uuid.UUID               `json:"id"`
	URL             string                  `json:"url"`
	Registered      bool                    `json:"registered"`
	Events          []string                `json:"events"`
	Description     string                  `json:"description"`
	Enabled         bool                    `json:"enabled"`
	CreatedAt       *job.Timestamp          `json:"createdAt"`
	State           lifecycle.EndpointState `json:"state"`
	Failures        int                     `json:"failures"`
	FailingSince    *job.Timestamp          `json:"failingSince"`
	LastTryAt       *job.Timestamp          `json:"lastTryAt"`
	LatencyMS       *int64                  `json:"latencyMs"`
	LastStatus      *int                    `json:"lastStatus"`
	LastError       *string                 `json:"lastError"`
	LastDeliveredAt *job.Timestamp          `json:"lastDeliveredAt"`
	Waiting         int64                   `json:"waiting"`
	NextTryAt       *job.Timestamp          `json:"nextTryAt"`
}

func newEndpointBody(e webhook.Endpoint) endpointBody {
	body := endpointBody{
		ID: e.ID, URL: e.URL, Registered: e.Registered, Events: append([]string{}, e.Events...), Description: e.Description,
		Enabled: e.Enabled || !e.Registered, CreatedAt: job.NullTimestamp(e.CreatedAt),
		State: lifecycle.StateOf(e), Failures: e.Failures, FailingSince: job.NullTimestamp(e.FailingSince),
		LastTryAt: job.NullTimestamp(e.LastTryAt), LastError: nullText(e.LastError),
		LastDeliveredAt: job.NullTimestamp(e.LastDeliveredAt), Waiting: e.Waiting, NextTryAt: job.NullTimestamp(e.NextTryAt),
	}
	if e.LastStatus != 0 {
		body.LastStatus = &e.LastStatus
	}
	if !e.LastTryAt.IsZero() {
		latency := e.Latency.Milliseconds()
		body.LatencyMS = &latency
	}
	return body
}

func (a *API) listWebhookEndpoints(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	var query pageQuery
	if err := a.readQuery(w, r, "listWebhookEndpoints", &query); err != nil {
		return err
	}
	endpoints, next, err := a.Jobs.Endpoints(r.Context(), caller, query.page())
	return a.respond(w, http.StatusOK, struct {
		Endpoints []endpointBody `json:"endpoints"`
		Next      *string        `json:"nextCursor"`
	}{bodiesOf(endpoints, newEndpointBody), nullText(next)}, err)
}

// endpointRequest is the WebhookEndpointCreate schema of api/openapi.yaml.
type endpointRequest struct {
	URL         string   `json:"url"`
	Events      []string `json:"events"`
	Description string   `json:"description"`
	Enabled     *bool    `json:"enabled"`
}

func (a *API) createWebhookEndpoint(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	var request endpointRequest
	if err := a.readRequest(w, r, "createWebhookEndpoint", &request); err != nil {
		return err
	}
	e, err := a.Jobs.RegisterEndpoint(r.Context(), caller, lifecycle.NewEndpoint{
		URL: request.URL, Events: request.Events, Description: request.Description, Disabled: request.Enabled != nil && !*request.Enabled,
	})
	if err != nil {
		return fmt.Errorf("register a webhook endpoint: %w", err)
	}
	w.Header().Set("Location", "/api/v1/webhook-endpoints/"+e.ID.String())
	a.writeJSON(w, http.StatusCreated, newEndpointBody(e))
	return nil
}

func (a *API) getWebhookEndpoint(w http.ResponseWriter, r *http.Request, caller account.Caller, id uuid.UUID) error {
	e, err := a.Jobs.Endpoint(r.Context(), caller, id)
	return a.respond(w, http.StatusOK, newEndpointBody(e), err)
}

func (a *API) patchWebhookEndpoint(w http.ResponseWriter, r *http.Request, caller account.Caller, id uuid.UUID) error {
	var request struct {
		Events      []string `json:"events"`
		Description *string  `json:"description"`
		Enabled     *bool    `json:"enabled"`
	}
	if err := a.readRequest(w, r, "patchWebhookEndpoint", &request); err != nil {
		return err
	}
	e, err := a.Jobs.ChangeEndpoint(r.Context(), caller, id, lifecycle.EndpointPatch(request))
	return a.respond(w, http.StatusOK, newEndpointBody(e), err)
}

func (a *API) testWebhookEndpoint(w http.ResponseWriter, r *http.Request, caller account.Caller, id uuid.UUID) error {
	var request struct {
		Event string `json:"event"`
	}
	if err := a.readRequest(w, r, "testWebhookEndpoint", &request); err != nil {
		return err
	}
	e, err := a.Jobs.Endpoint(r.Context(), caller, id)
	if err != nil {
		return fmt.Errorf("read a webhook endpoint: %w", err)
	}
	release, err := a.costlyRead(r, caller) // an endpoint may take seconds to respond
	if err != nil {
		return err
	}
	defer release()
	if request.Event == "" {
		request.Event = webhook.FirstTaken(e.Events)
	}
	try, err := a.Tester.Test(r.Context(), caller.ConsumerID, e.URL, request.Event)
	if err != nil {
		return fmt.Errorf("test a webhook endpoint: %w", err)
	}
	body := struct {
		Event        string  `json:"event"`
		Acknowledged bool    `json:"acknowledged"`
		Status       *int    `json:"status"`
		LatencyMS    int64   `json:"latencyMs"`
		Error        *string `json:"error"`
		ResponseBody string  `json:"responseBody"`
	}{
		Event: request.Event, Acknowledged: try.Acknowledged(), LatencyMS: try.Latency.Milliseconds(), Error: nullText(try.Error),
		ResponseBody: strings.ToValidUTF8(string(try.ResponseBody), "\uFFFD"),
	}
	if try.StatusCode != 0 {
		body.Status = &try.StatusCode
	}
	a.writeJSON(w, http.StatusOK, body)
	return nil
}

func (a *API) retryWebhookEndpoint(w http.ResponseWriter, r *http.Request, caller account.Caller, id uuid.UUID) error {
	e, err := a.Jobs.RetryEndpoint(r.Context(), caller, id)
	return a.respond(w, http.StatusAccepted, newEndpointBody(e), err)
}

// deliveryQuery has the parameters of listTeamDeliveries.
type deliveryQuery struct {
	pageQuery
	Event    string                `json:"event"`
	State    webhook.DeliveryState `json:"state"`
	Endpoint uuid.UUID             `json:"endpointId"`
	JobID    uuid.UUID             `json:"jobId"`
	From     time.Time             `json:"from"`
	To       time.Time             `json:"to"`
}

func (a *API) listTeamDeliveries(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	var query deliveryQuery
	if err := a.readQuery(w, r, "listTeamDeliveries", &query); err != nil {
		return err
	}
	deliveries, next, err := a.Jobs.DeliveryLog(r.Context(), caller, webhook.LogFilter{
		Event: query.Event, State: query.State, Endpoint: query.Endpoint, JobID: query.JobID, From: query.From, To: query.To,
	}, query.page())
	return a.writeDeliveries(w, deliveries, next, err)
}

// headerBody is a header of a request.
type headerBody struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (a *API) getDelivery(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	found, err := a.Jobs.Delivery(r.Context(), caller, r.PathValue("deliveryId"))
	if err != nil {
		return fmt.Errorf("read a delivery: %w", err)
	}
	headers := []headerBody{}
	for name, values := range found.Request.Header {
		for _, value := range values {
			headers = append(headers, headerBody{strings.ToLower(name), value})
		}
	}
	slices.SortStableFunc(headers, func(a, b headerBody) int { return strings.Compare(a.Name, b.Name) })
	a.writeJSON(w, http.StatusOK, struct {
		deliveryBody
		Headers []headerBody `json:"headers"`
		Body    string       `json:"body"`
	}{newDeliveryBody(found.DeliveryRecord), headers, string(found.Request.Body)})
	return nil
}

func (a *API) redeliverDelivery(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	delivery, err := a.Jobs.RedeliverOne(r.Context(), caller, r.PathValue("deliveryId"))
	return a.respond(w, http.StatusAccepted, newDeliveryBody(delivery), err)
}

func (a *API) redeliverFailed(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	var request struct {
		JobID      uuid.UUID `json:"jobId"`
		EndpointID uuid.UUID `json:"endpointId"`
		URL        string    `json:"url"`
		From       time.Time `json:"from"`
		To         time.Time `json:"to"`
	}
	if err := a.readRequest(w, r, "redeliverFailed", &request); err != nil {
		return err
	}
	count, err := a.Jobs.RedeliverFailed(r.Context(), caller, lifecycle.FailedDeliveries(request))
	return a.respond(w, http.StatusAccepted, struct {
		Count int `json:"count"`
	}{count}, err)
}

func (a *API) rotateWebhookSecret(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	secret, until, err := a.Jobs.RotateSecret(r.Context(), caller)
	return a.respond(w, http.StatusCreated, struct {
		Secret        string        `json:"secret"`
		PreviousUntil job.Timestamp `json:"previousSignsUntil"`
	}{secret, job.Timestamp(until)}, err)
}
