package client

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// Me is an API key, its team, and the service.
type Me struct {
	Team struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"consumer"`
	Key struct {
		ID        string     `json:"id"`
		Name      string     `json:"name"`
		Mode      string     `json:"mode"`  // live or test
		Scope     string     `json:"scope"` // read, jobs or admin
		CreatedAt time.Time  `json:"createdAt"`
		ExpiresAt *time.Time `json:"expiresAt"`
	} `json:"key"`
	Service struct {
		Version string `json:"version"`
	} `json:"service"`
}

// Me returns what the service knows about the key of this client.
func (c *Client) Me(ctx context.Context) (Me, error) {
	return get[Me](ctx, c, "me")
}

// Key is an API key.
type Key struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Mode       string     `json:"mode"`   // live or test
	Scope      string     `json:"scope"`  // read, jobs or admin
	Prefix     string     `json:"prefix"` // the first characters
	CreatedAt  time.Time  `json:"createdAt"`
	CreatedBy  string     `json:"createdBy"`
	LastUsedAt *time.Time `json:"lastUsedAt"`
	ExpiresAt  *time.Time `json:"expiresAt"`
	Secret     string     `json:"key,omitempty"` // only of a new key
}

// NewKey is a key to create. Zero fields have their defaults.
type NewKey struct {
	Name      string     `json:"name"`
	Mode      string     `json:"mode,omitempty"`  // that of the client's key
	Scope     string     `json:"scope,omitempty"` // admin
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
}

// Keys iterates over the keys of the team that are not revoked, newest first. The key of the client
// needs the scope admin.
func (c *Client) Keys(ctx context.Context) iter.Seq2[Key, error] {
	return pages[Key](ctx, c, "keys", nil, "keys")
}

// CreateKey creates a key, whose secret cannot be read again. The key of the client needs the scope
// admin.
func (c *Client) CreateKey(ctx context.Context, key NewKey) (Key, error) {
	return fetch[Key](ctx, c, http.MethodPost, key, "keys")
}

// RevokeKey revokes a key. The key of the client needs the scope admin.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	return c.remove(ctx, "keys", id)
}

// WebhookEndpoint is a URL to which webhooks are sent, with its health: one that the team
// has registered, or one that jobs name.
type WebhookEndpoint struct {
	ID              string     `json:"id"`
	URL             string     `json:"url"`
	Registered      bool       `json:"registered"`
	Events          []string   `json:"events"` // that a registered endpoint takes
	Description     string     `json:"description"`
	Enabled         bool       `json:"enabled"`
	CreatedAt       *time.Time `json:"createdAt"`
	State           string     `json:"state"` // untried, answering, slow, failing or dead
	Failures        int        `json:"failures"`
	FailingSince    *time.Time `json:"failingSince"`
	LastTryAt       *time.Time `json:"lastTryAt"`
	LatencyMS       *int       `json:"latencyMs"` // of that attempt
	LastStatus      *int       `json:"lastStatus"`
	LastError       *string    `json:"lastError"`
	LastDeliveredAt *time.Time `json:"lastDeliveredAt"`
	Waiting         int        `json:"waiting"`
	NextTryAt       *time.Time `json:"nextTryAt"`
}

// WebhookEndpoints iterates over the registered endpoints, and the URLs of jobs that webhooks
// were sent to.
func (c *Client) WebhookEndpoints(ctx context.Context) iter.Seq2[WebhookEndpoint, error] {
	return pages[WebhookEndpoint](ctx, c, "endpoints", nil, "webhook-endpoints")
}

// NewWebhookEndpoint is an endpoint to register.
type NewWebhookEndpoint struct {
	URL         string   `json:"url"`
	Events      []string `json:"events"` // names, beginnings of names as in bot.*, or *
	Description string   `json:"description,omitempty"`
}

// CreateWebhookEndpoint registers an endpoint for the events of all jobs.
func (c *Client) CreateWebhookEndpoint(ctx context.Context, endpoint NewWebhookEndpoint) (WebhookEndpoint, error) {
	return fetch[WebhookEndpoint](ctx, c, http.MethodPost, endpoint, "webhook-endpoints")
}

// WebhookEndpoint returns an endpoint.
func (c *Client) WebhookEndpoint(ctx context.Context, id string) (WebhookEndpoint, error) {
	return get[WebhookEndpoint](ctx, c, "webhook-endpoints", id)
}

// WebhookEndpointPatch has the changes of an endpoint. A nil field does not change.
type WebhookEndpointPatch struct {
	Events      []string `json:"events,omitempty"`
	Description *string  `json:"description,omitempty"`
	Enabled     *bool    `json:"enabled,omitempty"`
}

// PatchWebhookEndpoint changes a registered endpoint.
func (c *Client) PatchWebhookEndpoint(ctx context.Context, id string, patch WebhookEndpointPatch) (WebhookEndpoint, error) {
	return fetch[WebhookEndpoint](ctx, c, http.MethodPatch, patch, "webhook-endpoints", id)
}

// DeleteWebhookEndpoint deletes a registered endpoint. Its pending deliveries fail.
func (c *Client) DeleteWebhookEndpoint(ctx context.Context, id string) error {
	return c.remove(ctx, "webhook-endpoints", id)
}

// WebhookTestResult is the response of an endpoint to a test event.
type WebhookTestResult struct {
	Event        string  `json:"event"`
	Acknowledged bool    `json:"acknowledged"`
	Status       *int    `json:"status"`
	LatencyMS    int     `json:"latencyMs"`
	Error        *string `json:"error"`
	ResponseBody string  `json:"responseBody"` // its first KiB
}

// TestWebhookEndpoint posts an example of an event, or of the first event that the endpoint
// takes if event is empty.
func (c *Client) TestWebhookEndpoint(ctx context.Context, id, event string) (WebhookTestResult, error) {
	body := struct {
		Event string `json:"event,omitempty"`
	}{event}
	return fetch[WebhookTestResult](ctx, c, http.MethodPost, body, "webhook-endpoints", id, "test")
}

// RetryWebhookEndpoint sends the pending webhooks of an endpoint now.
func (c *Client) RetryWebhookEndpoint(ctx context.Context, id string) (WebhookEndpoint, error) {
	return fetch[WebhookEndpoint](ctx, c, http.MethodPost, nil, "webhook-endpoints", id, "retry")
}

// DeliveryFilter selects deliveries. Zero fields match all of them.
type DeliveryFilter struct {
	Event      string
	State      string // waiting, delivered or failed
	EndpointID string
	JobID      string
	From       time.Time // time of the event, inclusive
	To         time.Time // time of the event, exclusive
}

// TeamDeliveries iterates over the deliveries of the team, newest event first.
func (c *Client) TeamDeliveries(ctx context.Context, filter DeliveryFilter) iter.Seq2[Delivery, error] {
	return pages[Delivery](ctx, c, "deliveries", parameters(map[string]string{
		"event": filter.Event, "state": filter.State, "endpointId": filter.EndpointID, "jobId": filter.JobID,
		"from": queryTime(filter.From), "to": queryTime(filter.To),
	}), "deliveries")
}

// DeliveryDetails is a delivery with the request of its latest attempt.
type DeliveryDetails struct {
	Delivery
	Headers []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"headers"`
	Body string `json:"body"`
}

// Delivery returns a delivery of the team.
func (c *Client) Delivery(ctx context.Context, id string) (DeliveryDetails, error) {
	return get[DeliveryDetails](ctx, c, "deliveries", id)
}

// RedeliverDelivery sends a webhook of any kind again that was delivered or failed
// permanently.
func (c *Client) RedeliverDelivery(ctx context.Context, id string) (Delivery, error) {
	return fetch[Delivery](ctx, c, http.MethodPost, nil, "deliveries", id, "redeliver")
}

// FailedDeliveryFilter selects webhooks that failed permanently. Zero fields match
// all of them, but at least one field must be set.
type FailedDeliveryFilter struct {
	JobID      string     `json:"jobId,omitempty"`
	EndpointID string     `json:"endpointId,omitempty"`
	URL        string     `json:"url,omitempty"`
	From       *time.Time `json:"from,omitempty"` // time of the event, inclusive
	To         *time.Time `json:"to,omitempty"`   // time of the event, exclusive
}

// RedeliverFailed redelivers webhooks that failed permanently and returns their
// number.
func (c *Client) RedeliverFailed(ctx context.Context, filter FailedDeliveryFilter) (int, error) {
	response, err := fetch[struct {
		Count int `json:"count"`
	}](ctx, c, http.MethodPost, filter, "deliveries", "redeliver")
	return response.Count, err
}

// RotateWebhookSecret returns a new webhook secret, which cannot be read again. The
// old one also signs webhooks until previousUntil.
func (c *Client) RotateWebhookSecret(ctx context.Context) (secret string, previousUntil time.Time, err error) {
	response, err := fetch[struct {
		Secret        string    `json:"secret"`
		PreviousUntil time.Time `json:"previousSignsUntil"`
	}](ctx, c, http.MethodPost, nil, "webhook-secret", "rotate")
	return response.Secret, response.PreviousUntil, err
}
