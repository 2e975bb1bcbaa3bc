package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// WebhookEndpoint is the delivery health of a webhook URL.
type WebhookEndpoint struct {
	URL             string     `json:"url"`
	State           string     `json:"state"` // answering, failing or dead
	Failures        int        `json:"failures"`
	FailingSince    *time.Time `json:"failingSince"`
	LastTryAt       time.Time  `json:"lastTryAt"`
	LastStatus      *int       `json:"lastStatus"`
	LastError       *string    `json:"lastError"`
	LastDeliveredAt *time.Time `json:"lastDeliveredAt"`
	Waiting         int        `json:"waiting"`
	NextTryAt       *time.Time `json:"nextTryAt"`
}

// WebhookEndpoints iterates over the URLs that webhooks were sent to.
func (c *Client) WebhookEndpoints(ctx context.Context) iter.Seq2[WebhookEndpoint, error] {
	return pages(func(query url.Values) ([]WebhookEndpoint, *string, error) {
		var page struct {
			Endpoints  []WebhookEndpoint `json:"endpoints"`
			NextCursor *string           `json:"nextCursor"`
		}
		_, err := c.call(ctx, request{method: http.MethodGet, path: []string{"api", "v1", "webhook-endpoints"}, query: query}, &page)
		return page.Endpoints, page.NextCursor, err
	}, url.Values{})
}

// FailedDeliveryFilter selects webhooks that failed permanently. Zero fields match
// all of them, but at least one field must be set.
type FailedDeliveryFilter struct {
	JobID string     `json:"jobId,omitempty"`
	URL   string     `json:"url,omitempty"`
	From  *time.Time `json:"from,omitempty"` // time of the event, inclusive
	To    *time.Time `json:"to,omitempty"`   // time of the event, exclusive
}

// RedeliverFailed redelivers webhooks that failed permanently and returns their
// number.
func (c *Client) RedeliverFailed(ctx context.Context, filter FailedDeliveryFilter) (int, error) {
	var response struct {
		Count int `json:"count"`
	}
	_, err := c.call(ctx, request{method: http.MethodPost, path: []string{"api", "v1", "webhook-deliveries", "redeliver"}, body: filter}, &response)
	return response.Count, err
}

// RotateWebhookSecret returns a new webhook secret, which cannot be read again. The
// old one also signs webhooks until previousUntil.
func (c *Client) RotateWebhookSecret(ctx context.Context) (secret string, previousUntil time.Time, err error) {
	var response struct {
		Secret        string    `json:"secret"`
		PreviousUntil time.Time `json:"previousSignsUntil"`
	}
	_, err = c.call(ctx, request{method: http.MethodPost, path: []string{"api", "v1", "webhook-secret", "rotate"}}, &response)
	return response.Secret, response.PreviousUntil, err
}
