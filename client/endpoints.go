package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
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
	var me Me
	_, err := c.call(ctx, request{method: http.MethodGet, path: []string{"api", "v1", "me"}}, &me)
	return me, err
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
	Secret     string     `json:"key"` // only of a new key
}

// NewKey is a key to create. Zero fields have their defaults.
type NewKey struct {
	Name      string     `json:"name"`
	Mode      string     `json:"mode,omitempty"`  // that of the client's key
	Scope     string     `json:"scope,omitempty"` // admin
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
}

// Keys returns the keys of the team that are not revoked. The key of the client needs the scope
// admin.
func (c *Client) Keys(ctx context.Context) ([]Key, error) {
	var response struct {
		Keys []Key `json:"keys"`
	}
	_, err := c.call(ctx, request{method: http.MethodGet, path: []string{"api", "v1", "keys"}}, &response)
	return response.Keys, err
}

// CreateKey creates a key, whose secret cannot be read again. The key of the client needs the scope
// admin.
func (c *Client) CreateKey(ctx context.Context, key NewKey) (Key, error) {
	var created Key
	_, err := c.call(ctx, request{method: http.MethodPost, path: []string{"api", "v1", "keys"}, body: key}, &created)
	return created, err
}

// RevokeKey revokes a key. The key of the client needs the scope admin.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: []string{"api", "v1", "keys", id}}, nil)
	return err
}

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
