package dashboard

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/webhook"
)

// testTime bounds a test event, as a webhook's try is bounded.
const testTime = 15 * time.Second

// EndpointTester posts a made-up event, through the guard and with the
// signatures that any webhook has.
type EndpointTester struct {
	Guard webhook.Guard
	Now   func() time.Time
}

// Test posts the event once. It follows no redirect.
func (t *EndpointTester) Test(ctx context.Context, consumer account.Consumer, address string) TestResult {
	ctx, cancel := context.WithTimeout(ctx, testTime)
	defer cancel()
	request, err := t.request(ctx, consumer, address)
	if err != nil {
		return TestResult{Error: err.Error()}
	}
	transport := &http.Transport{
		DialContext: t.Guard.DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true, DisableCompression: true,
	}
	if t.Guard.Proxy != nil {
		if err := t.Guard.CheckProxied(request.URL); err != nil {
			return TestResult{Error: err.Error()}
		}
		transport.Proxy = http.ProxyURL(t.Guard.Proxy)
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	began := time.Now()
	answer, err := client.Do(request)
	result := TestResult{Latency: time.Since(began)}
	if err != nil {
		result.Error = whyNot(err)
		return result
	}
	defer answer.Body.Close()
	beginning, _ := io.ReadAll(io.LimitReader(answer.Body, webhook.MaxResponseBody)) // one that breaks off is shown as far as it came
	result.StatusCode, result.Answer = answer.StatusCode, strings.ToValidUTF8(string(beginning), "\uFFFD")
	if answer.StatusCode >= 300 && answer.StatusCode < 400 {
		result.Error = "Redirects are not followed."
	}
	return result
}

// whyNot says why a post failed, without the address, whose query may hold a
// secret.
func whyNot(err error) string {
	var blocked *webhook.BlockedError
	if errors.As(err, &blocked) {
		return sentence(blocked.Error())
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("There was no answer within %s.", testTime)
	}
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	return sentence(clip(err.Error(), 500))
}

// request composes the event: a job that is scheduled and then sent, which
// there never was. Its metadata say so.
func (t *EndpointTester) request(ctx context.Context, consumer account.Consumer, address string) (*http.Request, error) {
	now := t.Now()
	made := job.Job{
		ID: uuid.Must(uuid.NewV7()), ConsumerID: consumer.ID, Mode: job.Test, ExternalID: "test-event",
		MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet, DisplayName: job.DefaultDisplayName,
		JoinAt: now, CreatedAt: now, Metadata: json.RawMessage(`{"testEvent":true}`), AutoLeave: job.DefaultAutoLeave(),
		State: job.State{Status: job.Dispatching, Attempts: 1},
	}
	data, err := webhook.StatusChanged(made, job.Scheduled, job.Dispatching).Data(1)
	if err != nil {
		return nil, err
	}
	delivery := webhook.Delivery{
		ID: webhook.NewDeliveryID(), JobID: made.ID, Event: webhook.JobStatusChanged, Sequence: 1,
		EmittedAt: now, Data: data, Version: consumer.WebhookVersion, Attempt: 1,
	}
	body, err := webhook.Body(delivery)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "Standin")
	request.Header.Set(webhook.VersionHeader, strconv.Itoa(consumer.WebhookVersion))
	secrets := []webhook.Secret{{Value: consumer.WebhookSecret}}
	if consumer.PreviousWebhookSecret != "" {
		secrets = append(secrets, webhook.Secret{Value: consumer.PreviousWebhookSecret, ExpiresAt: consumer.PreviousSecretExpires})
	}
	return request, webhook.Sign(request.Header, secrets, delivery.ID, now, body)
}
