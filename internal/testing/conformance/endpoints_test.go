package conformance_test

import (
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/client"
	"standin/internal/jobs/job"
)

// failedWebhooks redelivers a webhook that failed permanently, with a new secret.
func failedWebhooks(t *testing.T, w world) {
	ctx := t.Context()
	other, _ := w.team(t, "webhooks", job.Live)
	if _, _, err := w.RotateWebhookSecret(ctx); !client.Is(err, "invalid_state") {
		t.Errorf("rotate with a test key: %v", err)
	}
	secret, until, err := other.RotateWebhookSecret(ctx)
	if err != nil || time.Until(until) < 23*time.Hour || time.Until(until) > 24*time.Hour {
		t.Fatalf("rotate: the old secret signs until %v (%v)", until, err)
	}
	attempts := make(chan client.Webhook, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		got, err := client.ReceiveWebhook(r, secret)
		if err != nil {
			t.Errorf("receive a webhook: %v", err)
		}
		if got.Attempt == 1 {
			answer.WriteHeader(http.StatusGone)
		}
		attempts <- got
	}))
	t.Cleanup(receiver.Close)
	created, _, err := other.CreateJob(ctx, client.NewJob{
		ExternalID: "1", MeetingURL: meetURL, JoinAt: later(), Webhooks: &client.Webhooks{OnStatusChange: receiver.URL},
	})
	if err == nil {
		err = other.CancelJob(ctx, created.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	<-attempts
	for failed := 0; failed == 0; { // the attempt is recorded after its response
		if failed, err = other.RedeliverFailed(ctx, client.FailedDeliveryFilter{JobID: created.ID}); err != nil {
			t.Fatal(err)
		}
	}
	if again := <-attempts; again.Event != "job.status_changed" || again.Attempt < 2 {
		t.Errorf("received %+v, want a second attempt", again)
	}
	for delivery, err := range other.Deliveries(ctx, created.ID) {
		for sent := (client.Delivery{}); err == nil && sent.DeliveryID == ""; { // until the attempt is recorded
			if sent, err = other.Redeliver(ctx, created.ID, delivery.DeliveryID); client.Is(err, "invalid_state") {
				err = nil
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	<-attempts
	for endpoint, err := range other.WebhookEndpoints(ctx) {
		if err != nil || endpoint.URL != receiver.URL {
			t.Errorf("listed %+v (%v)", endpoint, err)
		}
	}
}

func webhookEndpoints(t *testing.T, w world) {
	ctx := t.Context()
	endpoint, err := w.CreateWebhookEndpoint(ctx, client.NewWebhookEndpoint{
		URL: "http://127.0.0.1:1/" + t.Name(), Events: []string{"calendar.state_changed"},
	})
	if err != nil {
		t.Fatal(err)
	}
	description := "calls"
	changed, err := w.PatchWebhookEndpoint(ctx, endpoint.ID, client.WebhookEndpointPatch{
		Events: []string{"calendar.event_updated"}, Description: &description,
	})
	if err != nil || !slices.Equal(changed.Events, []string{"calendar.event_updated"}) {
		t.Errorf("changed to %+v (%v)", changed, err)
	}
	if read, err := w.WebhookEndpoint(ctx, endpoint.ID); err != nil || read.Description != description {
		t.Errorf("read %+v (%v)", read, err)
	}
	if result, err := w.TestWebhookEndpoint(ctx, endpoint.ID, ""); err != nil || result.Event != "calendar.event_updated" ||
		result.Acknowledged || result.Error == nil {
		t.Errorf("tested with %+v (%v)", result, err)
	}
	if retried, err := w.RetryWebhookEndpoint(ctx, endpoint.ID); err != nil || retried.ID != endpoint.ID {
		t.Errorf("retried %+v (%v)", retried, err)
	}
	if count, err := w.RedeliverFailed(ctx, client.FailedDeliveryFilter{EndpointID: endpoint.ID}); err != nil || count != 0 {
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
	if err := find(w.Keys(t.Context()), func(other client.Key) bool { return other.Name == t.Name() }); err != nil {
		t.Error(err)
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
	if _, err := w.ConnectCalendar(t.Context(), client.NewCalendar{
		Name: "Ada", ICSURL: "https://example.com/a.ics",
	}); !client.Is(err, "invalid_state") {
		t.Errorf("connect with a test key: %v", err)
	}
	connected, err := w.live.ConnectCalendar(t.Context(), client.NewCalendar{Name: "Ada", ICSURL: "https://calendar.example.com/secret.ics"})
	if err != nil || strings.Contains(connected.Address, "secret") {
		t.Fatalf("connected %+v (%v)", connected, err)
	}
	name, rules := "Ada Lovelace", client.CalendarRules{Record: []string{"none"}}
	changed, err := w.live.PatchCalendar(t.Context(), connected.ID, client.CalendarPatch{Name: &name, Rules: &rules})
	if err != nil || changed.Name != name || !slices.Equal(changed.Rules.Record, []string{"none"}) ||
		changed.PollSeconds != connected.PollSeconds {
		t.Errorf("changed to %+v (%v)", changed, err)
	}
	if err := find(w.live.Calendars(t.Context()), func(listed client.Calendar) bool { return listed.Name == name }); err != nil {
		t.Error(err)
	}
	if err := w.live.DisconnectCalendar(t.Context(), connected.ID); err != nil {
		t.Error(err)
	}
	if _, err := w.live.Calendar(t.Context(), connected.ID); !client.Is(err, "not_found") {
		t.Errorf("after the disconnection: %v", err)
	}
}

// login completes a device flow with the request that the page would send.
func login(t *testing.T, w world) {
	started, err := w.StartLogin(t.Context())
	if err != nil || !strings.HasPrefix(started.VerifyURL, w.base+"/cli?nonce=") {
		t.Fatalf("start: %+v (%v)", started, err)
	}
	body := `{"nonce":"` + started.Nonce + `","apiKey":"standin_test_minted","email":"ada@example.com"}`
	answer, err := http.Post(w.base+"/api/v1/cli-auth/complete", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	grant, err := w.AwaitLogin(t.Context(), started, 0)
	if err != nil || grant.APIKey != "standin_test_minted" || grant.Email != "ada@example.com" {
		t.Errorf("grant %+v (%v)", grant, err)
	}
	started.Nonce = "never-opened"
	if _, err := w.AwaitLogin(t.Context(), started, 0); !errors.Is(err, client.ErrLoginExpired) {
		t.Errorf("a flow that does not exist: %v", err)
	}
}

// find returns an error if a list does not have an entry, or cannot be read.
func find[T any](list iter.Seq2[T, error], wanted func(T) bool) error {
	for entry, err := range list {
		if err != nil || wanted(entry) {
			return err
		}
	}
	return errors.New("the list does not have the entry")
}
