package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// TimelineEntry is one thing that happened to a job.
type TimelineEntry struct {
	ID         string          `json:"id"`
	Attempt    int             `json:"attempt"`
	Source     string          `json:"source"` // bot or service
	Kind       string          `json:"kind"`
	EmittedAt  time.Time       `json:"emittedAt"`  // when it happened
	ReceivedAt time.Time       `json:"receivedAt"` // when the service heard of it
	Applied    bool            `json:"applied"`
	Reason     *string         `json:"reason"` // why it was not applied
	From       string          `json:"from"`
	To         string          `json:"to"`
	Data       json.RawMessage `json:"data"`
}

// Timeline goes through all that happened to a job, oldest first.
func (c *Client) Timeline(ctx context.Context, id string) iter.Seq2[TimelineEntry, error] {
	return pages(func(query url.Values) ([]TimelineEntry, *string, error) {
		var page struct {
			Entries    []TimelineEntry `json:"entries"`
			NextCursor *string         `json:"nextCursor"`
		}
		_, err := c.call(ctx, request{method: http.MethodGet, path: jobPath(id, "timeline"), query: query}, &page)
		return page.Entries, page.NextCursor, err
	}, url.Values{})
}

// Delivery is one event on its way to one address.
type Delivery struct {
	DeliveryID string     `json:"deliveryId"`
	Event      string     `json:"event"`
	URL        string     `json:"url"`
	Sequence   int        `json:"sequence"`
	EmittedAt  time.Time  `json:"emittedAt"`
	Version    int        `json:"version"`
	State      string     `json:"state"` // waiting, delivered or gave_up
	Attempt    int        `json:"attempt"`
	NextTryAt  *time.Time `json:"nextTryAt"`
	EndedAt    *time.Time `json:"endedAt"`
	EndReason  *string    `json:"endReason"`
	Tries      []Try      `json:"tries"`
}

// Try is what came of posting a webhook once.
type Try struct {
	Number    int       `json:"number"`
	StartedAt time.Time `json:"startedAt"`
	LatencyMS int       `json:"latencyMs"`
	Status    *int      `json:"status"`
	Error     *string   `json:"error"`
	Answer    string    `json:"answer"` // the first KiB
}

// Deliveries goes through a job's webhooks, in the order of their events.
func (c *Client) Deliveries(ctx context.Context, id string) iter.Seq2[Delivery, error] {
	return pages(func(query url.Values) ([]Delivery, *string, error) {
		var page struct {
			Deliveries []Delivery `json:"deliveries"`
			NextCursor *string    `json:"nextCursor"`
		}
		_, err := c.call(ctx, request{method: http.MethodGet, path: jobPath(id, "deliveries"), query: query}, &page)
		return page.Deliveries, page.NextCursor, err
	}, url.Values{})
}

// Redeliver sends a webhook that was delivered or given up once more.
func (c *Client) Redeliver(ctx context.Context, id, deliveryID string) (delivery Delivery, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: jobPath(id, "deliveries", deliveryID, "redeliver")}, &delivery)
	return delivery, err
}
