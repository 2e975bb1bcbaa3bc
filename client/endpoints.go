package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// WebhookEndpoint is an address that webhooks go to.
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

// WebhookEndpoints goes through the addresses that webhooks were posted to.
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

// FailedDeliveryFilter says which of the webhooks that were given up; what is nil or
// empty says nothing, and something must be said.
type FailedDeliveryFilter struct {
	JobID string     `json:"jobId,omitempty"`
	URL   string     `json:"url,omitempty"`
	From  *time.Time `json:"from,omitempty"` // of the event, this time or later
	To    *time.Time `json:"to,omitempty"`   // of the event, before this time
}

// RedeliverFailed sends webhooks once more that were given up, and returns how
// many.
func (c *Client) RedeliverFailed(ctx context.Context, which FailedDeliveryFilter) (int, error) {
	var answer struct {
		Count int `json:"count"`
	}
	_, err := c.call(ctx, request{method: http.MethodPost, path: []string{"api", "v1", "webhook-deliveries", "redeliver"}, body: which}, &answer)
	return answer.Count, err
}

// RotateWebhookSecret returns a new webhook secret, which is shown this once.
// The old one signs too until the time returned.
func (c *Client) RotateWebhookSecret(ctx context.Context) (secret string, previousUntil time.Time, err error) {
	var answer struct {
		Secret        string    `json:"secret"`
		PreviousUntil time.Time `json:"previousSignsUntil"`
	}
	_, err = c.call(ctx, request{method: http.MethodPost, path: []string{"api", "v1", "webhook-secret", "rotate"}}, &answer)
	return answer.Secret, answer.PreviousUntil, err
}
