package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"standin/internal/webhook"
)

// MaxWebhookBytes is more than any webhook of a Standin is long: a job's
// metadata are at most 1 MiB.
const MaxWebhookBytes = 4 << 20

// Webhook is what Standin posts to a consumer (specification, Outbound
// webhooks).
type Webhook struct {
	DeliveryID string    `json:"deliveryId"` // stable across tries: dedupe on it
	Event      string    `json:"event"`
	EmittedAt  time.Time `json:"emittedAt"`
	Attempt    int       `json:"attempt"` // tries including this one
	Version    int       `json:"version"` // 0 in payloads of version 1
	Data       struct {
		JobID           string  `json:"jobId"`
		Sequence        int     `json:"sequence"` // counts a job's events
		Job             Job     `json:"job"`
		From            string  `json:"from"`
		To              string  `json:"to"`
		FailureCode     *string `json:"failure_code"`
		FailureDetail   *string `json:"failure_detail"`
		ManifestURI     string  `json:"manifestUri"`
		Granted         *bool   `json:"granted"`
		Detail          string  `json:"detail"`
		DetectedBotName string  `json:"detectedBotName"`
		LeftMeeting     *bool   `json:"leftMeeting"`
	} `json:"data"`
}

// VerifyWebhook checks that a request was signed with the consumer's webhook
// secret, in constant time, and not more than five minutes ago.
func VerifyWebhook(header http.Header, body []byte, secret string, now time.Time) error {
	return webhook.Verify(header, body, secret, now)
}

// ReceiveWebhook reads a request that Standin has posted, verifies it, and
// decodes it. Answer with any 2xx status once the event is safe: that
// acknowledges it.
func ReceiveWebhook(r *http.Request, secret string) (Webhook, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxWebhookBytes))
	if err != nil {
		return Webhook{}, fmt.Errorf("read the webhook: %w", err)
	}
	if err := VerifyWebhook(r.Header, body, secret, time.Now()); err != nil {
		return Webhook{}, err
	}
	var received Webhook
	if err := json.Unmarshal(body, &received); err != nil {
		return Webhook{}, fmt.Errorf("decode the webhook: %w", err)
	}
	return received, nil
}
