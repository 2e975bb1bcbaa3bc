package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
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
		JobID            string      `json:"jobId"`    // empty for events of calendars
		Sequence         int         `json:"sequence"` // number of the event within the job
		ExternalID       string      `json:"externalId"`
		Job              Job         `json:"job"`
		From             string      `json:"from"`
		To               string      `json:"to"`
		FailureCode      *string     `json:"failure_code"`
		FailureDetail    *string     `json:"failure_detail"`
		ManifestURI      string      `json:"manifestUri"`
		ManifestRevision int         `json:"manifestRevision"`
		Segments         int         `json:"segments"`
		Partial          bool        `json:"partial"`
		DurationMS       int64       `json:"durationMs"`
		Bytes            int64       `json:"bytes"`
		Granted          *bool       `json:"granted"`
		Detail           string      `json:"detail"`
		DetectedBotName  string      `json:"detectedBotName"`
		LeftMeeting      *bool       `json:"leftMeeting"`
		CommandID        string      `json:"commandId"`
		Command          string      `json:"command"`
		Outcome          string      `json:"outcome"`
		Stream           int         `json:"stream"` // its number in the request
		Host             string      `json:"host"`
		State            string      `json:"state"` // of a stream or of output
		Reason           string      `json:"reason"`
		Participant      Participant `json:"participant"` // without times
		Speaking         *bool       `json:"speaking"`
		Message          struct {
			LiveText
			SentAt time.Time `json:"sentAt"`
		} `json:"message"`
		Meeting struct {
			CalendarEvent
			CalendarID string `json:"calendarId"`
			EventID    string `json:"eventId"`
		} `json:"meeting"`
		Calendar struct {
			Calendar
			CalendarID string `json:"calendarId"`
			Previous   string `json:"previous"` // state
		} `json:"calendar"`
	} `json:"data"`
}

// ErrSignature reports that a webhook was not signed with the secret, or was
// signed too long ago.
var ErrSignature = errors.New("webhook signature does not verify")

// VerifyWebhook checks that a webhook was signed with the secret, in both schemes,
// within five minutes of now. It compares signatures in constant time. The body is
// the raw one, the secret the text as it was shown (whsec_…).
func VerifyWebhook(header http.Header, body []byte, secret string, now time.Time) error {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > 5*time.Minute { // as in the Standard Webhooks libraries
		return ErrSignature
	}
	service := hmac.New(sha256.New, []byte(secret))
	service.Write(body)
	key := []byte(secret) // of Standard Webhooks: the decoded part of whsec_…, or a secret in another form
	if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(decoded) > 0 {
			key = decoded
		}
	}
	standard := hmac.New(sha256.New, key)
	standard.Write([]byte(id + "." + timestamp + "."))
	standard.Write(body)
	// While two secrets are valid, there is a signature for each. Some frameworks join
	// headers of one name with commas.
	var services []string
	for _, value := range header.Values("x-service-signature") {
		services = append(services, strings.Split(strings.ReplaceAll(value, " ", ""), ",")...)
	}
	standards := strings.Fields(header.Get("webhook-signature"))
	if !contains(services, "sha256="+hex.EncodeToString(service.Sum(nil))) ||
		!contains(standards, "v1,"+base64.StdEncoding.EncodeToString(standard.Sum(nil))) {
		return ErrSignature
	}
	return nil
}

// contains compares in constant time.
func contains(signatures []string, wanted string) bool {
	return slices.ContainsFunc(signatures, func(signature string) bool { return hmac.Equal([]byte(signature), []byte(wanted)) })
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
