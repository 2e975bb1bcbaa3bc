package conformance_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"standin/client"
	"standin/internal/job"
	"standin/internal/service"
)

// TestFailedWebhooks redelivers a webhook that failed permanently, and lists its
// URL. The consumer receives payloads of version 1.
func TestFailedWebhooks(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := service.Start(t.Context(), service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{DataDir: t.TempDir()}, LauncherSettings: service.LauncherSettings{Launcher: "manual"}, IngestSigningKey: "key", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the service: %v", err)
		}
	})
	live, liveKey, err := s.Keys.Issue(ctx, "ada", "", job.Live)
	if err != nil {
		t.Fatal(err)
	}
	_, testKey, err := s.Keys.Issue(ctx, "ada", "", job.Test)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Store().SetWebhookVersion(ctx, live.ConsumerID, 1); err != nil {
		t.Fatal(err)
	}
	api, err := client.New(s.BaseURL(), liveKey)
	if err != nil {
		t.Fatal(err)
	}
	tests, err := client.New(s.BaseURL(), testKey)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := tests.RotateWebhookSecret(ctx); !client.Is(err, "invalid_state") {
		t.Errorf("rotate with a test key: %v", err)
	}
	secret, until, err := api.RotateWebhookSecret(ctx)
	if err != nil || time.Until(until) < 23*time.Hour || time.Until(until) > 24*time.Hour {
		t.Fatalf("rotate: the old secret signs until %v (%v)", until, err)
	}

	var open atomic.Bool
	received := make(chan map[string]any, 100)
	refused := make(chan struct{}, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := client.VerifyWebhook(r.Header, body, secret, time.Now()); err != nil {
			t.Errorf("verify a webhook: %v", err)
		}
		if !open.Load() {
			w.WriteHeader(http.StatusGone)
			refused <- struct{}{}
			return
		}
		var got map[string]any
		if err := json.Unmarshal(body, &got); err != nil {
			t.Errorf("decode a webhook: %v", err)
		}
		got["header"] = r.Header.Get("x-service-webhook-version")
		received <- got
	}))
	t.Cleanup(receiver.Close)
	created, _, err := api.CreateJob(ctx, client.NewJob{
		ExternalID: "1", MeetingURL: "https://meet.google.com/abc-defg-hij", JoinAt: later(), Webhooks: &client.Webhooks{OnStatusChange: receiver.URL},
	})
	if err == nil {
		err = api.CancelJob(ctx, created.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-refused:
	case <-ctx.Done():
		t.Fatal("no webhook was received")
	}
	open.Store(true)
	for failed := 0; failed == 0; { // the attempt is recorded after its response
		if failed, err = api.RedeliverFailed(ctx, client.FailedDeliveryFilter{JobID: created.ID}); err != nil {
			t.Fatal(err)
		}
	}
	listed := 0
	for endpoint, err := range api.WebhookEndpoints(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		listed++
		if endpoint.URL != receiver.URL {
			t.Errorf("got endpoint %+v, want URL %s", endpoint, receiver.URL)
		}
	}
	if listed != 1 {
		t.Errorf("%d endpoints are listed, want 1", listed)
	}
	select {
	case got := <-received:
		data, _ := got["data"].(map[string]any)
		_, versioned := got["version"]
		_, coded := data["failure_code"]
		if got["event"] != "job.status_changed" || got["attempt"].(float64) < 2 || versioned || coded || got["header"] != "1" {
			t.Errorf("received %v, want a second attempt with a payload of version 1", got)
		}
	case <-ctx.Done():
		t.Fatal("the webhook was not redelivered")
	}
	if _, err := api.RedeliverFailed(ctx, client.FailedDeliveryFilter{}); !client.Is(err, "invalid_input") {
		t.Errorf("redeliver without a filter: %v", err)
	}
	if _, err := api.RedeliverFailed(ctx, client.FailedDeliveryFilter{JobID: "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80"}); !client.Is(err, "not_found") {
		t.Errorf("redeliver for a job that does not exist: %v", err)
	}
}

func webhookEndpoints(t *testing.T, w world) {
	ctx := t.Context()
	endpoint, err := w.CreateWebhookEndpoint(ctx, client.NewWebhookEndpoint{URL: "http://127.0.0.1:1/" + t.Name(), Events: []string{"calendar.state_changed"}})
	if err != nil {
		t.Fatal(err)
	}
	description := "calls"
	changed, err := w.PatchWebhookEndpoint(ctx, endpoint.ID, client.WebhookEndpointPatch{Events: []string{"calendar.event_updated"}, Description: &description})
	if err != nil || !slices.Equal(changed.Events, []string{"calendar.event_updated"}) {
		t.Errorf("changed to %+v (%v)", changed, err)
	}
	if read, err := w.WebhookEndpoint(ctx, endpoint.ID); err != nil || read.Description != description {
		t.Errorf("read %+v (%v)", read, err)
	}
	if result, err := w.TestWebhookEndpoint(ctx, endpoint.ID, ""); err != nil || result.Event != "calendar.event_updated" || result.Acknowledged || result.Error == nil {
		t.Errorf("tested with %+v (%v)", result, err)
	}
	if retried, err := w.RetryWebhookEndpoint(ctx, endpoint.ID); err != nil || retried.ID != endpoint.ID {
		t.Errorf("retried %+v (%v)", retried, err)
	}
	if count, err := w.RedeliverToEndpoint(ctx, endpoint.ID, time.Now()); err != nil || count != 0 {
		t.Errorf("redelivered %d (%v)", count, err)
	}
	for delivery, err := range w.TeamDeliveries(ctx, client.DeliveryFilter{EndpointID: endpoint.ID}) {
		t.Errorf("delivery %+v (%v)", delivery, err)
	}
	if _, err := w.Delivery(ctx, "dlv_unknown"); !client.Is(err, "not_found") {
		t.Errorf("read an unknown delivery: %v", err)
	}
	if _, err := w.RedeliverDelivery(ctx, "dlv_unknown"); !client.Is(err, "not_found") {
		t.Errorf("redeliver an unknown delivery: %v", err)
	}
	if err := w.DeleteWebhookEndpoint(ctx, endpoint.ID); err != nil {
		t.Error(err)
	}
	for other, err := range w.WebhookEndpoints(ctx) {
		if err != nil || other.ID == endpoint.ID {
			t.Errorf("listed %+v (%v)", other, err)
		}
	}
}

func keys(t *testing.T, w world) {
	if usage, err := w.Usage(t.Context(), "", ""); err != nil || usage.Total.Jobs < 0 {
		t.Errorf("used %+v (%v)", usage, err)
	}
	key, err := w.CreateKey(t.Context(), client.NewKey{Name: t.Name(), Scope: "read"})
	if err != nil {
		t.Fatal(err)
	}
	listed, err := w.Keys(t.Context())
	if err != nil || !slices.ContainsFunc(listed, func(other client.Key) bool { return other.Name == t.Name() }) {
		t.Errorf("listed %+v (%v)", listed, err)
	}
	reading, err := client.New(w.BaseURL(), key.Secret)
	if err != nil {
		t.Fatal(err)
	}
	if me, err := reading.Me(t.Context()); err != nil || me.Key.ID != key.ID {
		t.Errorf("the key is %+v (%v)", me, err)
	}
	if err := w.RevokeKey(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := reading.Me(t.Context()); !client.Is(err, "unauthorized") {
		t.Errorf("use the revoked key: %v", err)
	}
}

func calendars(t *testing.T, w world) {
	if listed, err := w.Calendars(t.Context()); err != nil || len(listed) > 0 {
		t.Errorf("listed %+v (%v)", listed, err)
	}
	if _, err := w.ConnectCalendar(t.Context(), client.NewCalendar{Name: "Ada", ICSURL: "https://example.com/a.ics"}); !client.Is(err, "invalid_state") {
		t.Errorf("connect with a test key: %v", err)
	}
	if _, err := w.Calendar(t.Context(), "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80"); !client.Is(err, "not_found") {
		t.Errorf("read an unknown calendar: %v", err)
	}
}

// later returns a time after the end of the test.
func later() *time.Time {
	at := time.Now().Add(time.Hour)
	return &at
}
