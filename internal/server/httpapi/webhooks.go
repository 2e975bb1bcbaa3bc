package httpapi

import (
	"net/http"

	"standin/client"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
)

func newEndpointBody(e webhook.Endpoint) client.WebhookEndpoint {
	body := client.WebhookEndpoint{
		ID: e.ID.String(), URL: e.URL, Registered: e.Registered, Events: append([]string{}, e.Events...), Description: e.Description,
		Enabled: e.Enabled || !e.Registered, CreatedAt: timeOrNull(e.CreatedAt),
		State: string(lifecycle.StateOf(e)), Failures: e.Failures, FailingSince: timeOrNull(e.FailingSince),
		LastTryAt: timeOrNull(e.LastTryAt), LastStatus: orNull(e.LastStatus), LastError: orNull(e.LastError),
		LastDeliveredAt: timeOrNull(e.LastDeliveredAt), Waiting: int(e.Waiting), NextTryAt: timeOrNull(e.NextTryAt),
	}
	if !e.LastTryAt.IsZero() {
		body.LatencyMS = new(int(e.Latency.Milliseconds()))
	}
	return body
}

func (a *API) listWebhookEndpoints(r *apiRequest, in pageQuery) error {
	endpoints, next, err := a.Jobs.Endpoints(r.Context(), r.caller, in.page())
	return respondPage(r, "endpoints", endpoints, newEndpointBody, next, err)
}

// endpointRequest is the WebhookEndpointCreate schema of api/openapi.yaml.
type endpointRequest struct {
	URL         string   `json:"url"`
	Events      []string `json:"events"`
	Description string   `json:"description"`
	Enabled     *bool    `json:"enabled"`
}

func (a *API) createWebhookEndpoint(r *apiRequest, request endpointRequest) error {
	e, err := a.Jobs.RegisterEndpoint(r.Context(), r.caller, lifecycle.NewEndpoint{
		URL: request.URL, Events: request.Events, Description: request.Description, Disabled: request.Enabled != nil && !*request.Enabled,
	})
	return r.respondCreated("webhook-endpoints", e.ID, newEndpointBody(e), err)
}

func (a *API) getWebhookEndpoint(r *apiRequest) error {
	e, err := a.Jobs.Endpoint(r.Context(), r.caller, r.id)
	return r.respond(newEndpointBody(e), err)
}

func (a *API) patchWebhookEndpoint(r *apiRequest, request client.WebhookEndpointPatch) error {
	e, err := a.Jobs.ChangeEndpoint(r.Context(), r.caller, r.id, lifecycle.EndpointPatch(request))
	return r.respond(newEndpointBody(e), err)
}

type testRequest struct {
	Event string `json:"event"`
}

func (a *API) testWebhookEndpoint(r *apiRequest, request testRequest) error {
	e, err := a.Jobs.Endpoint(r.Context(), r.caller, r.id)
	if err != nil {
		return err
	}
	release, err := r.costlyRead() // an endpoint may take seconds to respond
	if err != nil {
		return err
	}
	defer release()
	if request.Event == "" {
		request.Event = webhook.FirstTaken(e.Events)
	}
	try, err := a.Tester.Test(r.Context(), r.caller.ConsumerID, e.URL, request.Event)
	answer := newTryBody(try)
	return r.respond(client.WebhookTestResult{
		Event: request.Event, Acknowledged: try.Acknowledged(), Status: answer.Status, LatencyMS: answer.LatencyMS, Error: answer.Error,
		ResponseBody: answer.ResponseBody,
	}, err)
}

func (a *API) retryWebhookEndpoint(r *apiRequest) error {
	e, err := a.Jobs.RetryEndpoint(r.Context(), r.caller, r.id)
	return r.respondStatus(http.StatusAccepted, newEndpointBody(e), err)
}

// deliveryQuery has the parameters of listTeamDeliveries.
type deliveryQuery struct {
	pageQuery
	webhook.LogFilter
}

func (a *API) listTeamDeliveries(r *apiRequest, query deliveryQuery) error {
	deliveries, next, err := a.Jobs.DeliveryLog(r.Context(), r.caller, query.LogFilter, query.page())
	return respondPage(r, "deliveries", deliveries, newDeliveryBody, next, err)
}

func (a *API) getDelivery(r *apiRequest) error {
	found, err := a.Jobs.Delivery(r.Context(), r.caller, r.PathValue("deliveryId"))
	return r.respond(struct {
		client.Delivery
		Headers []webhook.Header `json:"headers"`
		Body    string           `json:"body"`
	}{newDeliveryBody(found.DeliveryRecord), found.Request.Headers(), string(found.Request.Body)}, err)
}

func (a *API) redeliverDelivery(r *apiRequest) error {
	delivery, err := a.Jobs.RedeliverOne(r.Context(), r.caller, r.PathValue("deliveryId"))
	return r.respondStatus(http.StatusAccepted, newDeliveryBody(delivery), err)
}

func (a *API) redeliverFailed(r *apiRequest, request lifecycle.FailedDeliveries) error {
	count, err := a.Jobs.RedeliverFailed(r.Context(), r.caller, request)
	return r.respondStatus(http.StatusAccepted, map[string]int{"count": count}, err)
}

func (a *API) rotateWebhookSecret(r *apiRequest) error {
	secret, until, err := a.Jobs.RotateSecret(r.Context(), r.caller)
	return r.respondStatus(http.StatusCreated, struct {
		Secret        string        `json:"secret"`
		PreviousUntil job.Timestamp `json:"previousSignsUntil"`
	}{secret, job.Timestamp(until)}, err)
}
