package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"
)

// TimelineEntry is an event in the history of a job.
type TimelineEntry struct {
	ID         string          `json:"id"`
	Attempt    int             `json:"attempt"`
	Source     string          `json:"source"` // bot or service
	Kind       string          `json:"kind"`
	EmittedAt  time.Time       `json:"emittedAt"`  // time of the event
	ReceivedAt time.Time       `json:"receivedAt"` // time of arrival at the service
	Applied    bool            `json:"applied"`
	Reason     *string         `json:"reason"` // why it was not applied
	From       string          `json:"from"`
	To         string          `json:"to"`
	Data       json.RawMessage `json:"data"`
}

// Timeline iterates over the history of a job, oldest first.
func (c *Client) Timeline(ctx context.Context, id string) iter.Seq2[TimelineEntry, error] {
	return pages[TimelineEntry](ctx, c, "entries", nil, "jobs", id, "timeline")
}

// Delivery is the delivery of an event to a webhook URL.
type Delivery struct {
	DeliveryID string     `json:"deliveryId"`
	JobID      *string    `json:"jobId"` // nil for events of calendars
	Event      string     `json:"event"`
	URL        string     `json:"url"`
	Sequence   int        `json:"sequence"`
	EmittedAt  time.Time  `json:"emittedAt"`
	Version    int        `json:"version"`
	State      string     `json:"state"` // waiting, delivered or failed
	Attempt    int        `json:"attempt"`
	NextTryAt  *time.Time `json:"nextTryAt"`
	EndedAt    *time.Time `json:"endedAt"`
	EndReason  *string    `json:"endReason"`
	Tries      []Try      `json:"tries"`
}

// Try is an attempt to deliver a webhook.
type Try struct {
	Number       int       `json:"number"`
	StartedAt    time.Time `json:"startedAt"`
	LatencyMS    int       `json:"latencyMs"`
	Status       *int      `json:"status"`
	Error        *string   `json:"error"`
	ResponseBody string    `json:"responseBody"` // its first KiB
}

// Deliveries iterates over the webhooks of a job, in the order of their events.
func (c *Client) Deliveries(ctx context.Context, id string) iter.Seq2[Delivery, error] {
	return pages[Delivery](ctx, c, "deliveries", nil, "jobs", id, "deliveries")
}

// Redeliver sends a webhook again that was delivered or failed permanently.
func (c *Client) Redeliver(ctx context.Context, id, deliveryID string) (Delivery, error) {
	return fetch[Delivery](ctx, c, http.MethodPost, nil, "jobs", id, "deliveries", deliveryID, "redeliver")
}
