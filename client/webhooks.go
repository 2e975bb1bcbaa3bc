package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"standin/internal/webhook"
)

// MaxWebhookBytes bounds the body of a webhook. Metadata take at most 1 MiB of it.
const MaxWebhookBytes = 4 << 20

// Webhook is the body of a webhook.
type Webhook struct {
	DeliveryID string    `json:"deliveryId"` // the same for all attempts: use it to discard duplicates
	Event      string    `json:"event"`
	EmittedAt  time.Time `json:"emittedAt"`
	Attempt    int       `json:"attempt"` // number of this attempt, starting at 1
	Version    int       `json:"version"` // 0 in payloads of version 1
	Data       struct {
		JobID           string  `json:"jobId"`
		Sequence        int     `json:"sequence"` // number of the event within the job
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

// VerifyWebhook checks that a webhook was signed with the secret less than five
// minutes ago. It compares signatures in constant time.
func VerifyWebhook(header http.Header, body []byte, secret string, now time.Time) error {
	return webhook.Verify(header, body, secret, now)
}

// ReceiveWebhook reads, verifies and decodes a webhook request. Respond with any
// 2xx status after storing the event, to acknowledge it.
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
