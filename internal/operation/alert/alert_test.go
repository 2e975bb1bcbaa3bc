package alert_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/client"
	"standin/internal/jobs/webhook"
	"standin/internal/operation/alert"
	"standin/internal/testing/storetest"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// TestWatcher checks when alerts are sent: after a rule was wrong for long enough, once in a
// cooldown for all nodes and by each channel, and when all is well again. One that could not be
// sent is sent at the next check, by that channel only.
func TestWatcher(t *testing.T) {
	t.Parallel()
	database := storetest.Open(t, storetest.FreshSQLite(t))
	var mu sync.Mutex
	var got []string
	down := false // the receiver of webhooks
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := client.VerifyWebhook(r.Header, body, secret, time.Now()); err != nil {
			t.Errorf("verify an alert: %v", err)
		}
		var posted struct {
			Event string
			Data  struct{ Rule, Detail string }
		}
		if err := json.Unmarshal(body, &posted); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		got = append(got, strings.TrimSpace(posted.Event+" "+posted.Data.Rule+" "+posted.Data.Detail))
	}))
	t.Cleanup(server.Close)
	now, detail := time.Now(), "" // of the rule
	watcher := func() *alert.Watcher {
		return alert.NewWatcher(alert.Settings{
			Options: alert.Options{Webhook: server.URL, WebhookSecret: secret, Mail: []string{"ops@example.com"}},
			Rules: []alert.Rule{
				{Name: "broken", Check: func(context.Context) (string, error) { return "", errors.New("cannot check") }},
				{Name: "disk", For: 5 * time.Minute, Check: func(context.Context) (string, error) { return detail, nil }},
			},
			Store: database,
			Poster: webhook.NewSender(nil, webhook.Settings{
				Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Log: slog.New(slog.DiscardHandler),
			}),
			SendMail: func(_ context.Context, to []string, subject, body string) error {
				mu.Lock()
				defer mu.Unlock()
				if !slices.Equal(to, []string{"ops@example.com"}) || !strings.Contains(body, "https://standin.test/operator") {
					t.Errorf("mail to %v: %s", to, body)
				}
				got = append(got, subject)
				return nil
			},
			BaseURL: "https://standin.test", Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
		})
	}
	one, other := watcher(), watcher()
	firing := []string{"[Standin] disk: firing", "alert.firing disk 95 %"}
	resolved := []string{"[Standin] disk: resolved", "alert.resolved disk"}
	for _, step := range []struct {
		after  time.Duration
		detail string
		want   []string
		down   bool
	}{
		{0, "", nil, false}, {0, "95 %", nil, false}, {4 * time.Minute, "95 %", nil, false}, {time.Minute, "95 %", firing, false},
		{time.Minute, "95 %", nil, false},
		{time.Minute, "", resolved, false},
		{time.Minute, "", nil, false}, {time.Minute, "95 %", nil, false}, {10 * time.Minute, "95 %", nil, false},
		{time.Hour, "95 %", firing[:1], true}, {time.Minute, "95 %", nil, true}, {time.Minute, "95 %", firing[1:], false},
		{time.Minute, "", resolved[:1], true}, {time.Minute, "", resolved[1:], false}, {time.Hour, "95 %", nil, false},
		{5 * time.Minute, "95 %", firing, false},
	} {
		mu.Lock()
		now, detail, down = now.Add(step.after), step.detail, step.down
		mu.Unlock()
		for _, task := range slices.Concat(one.Tasks(), other.Tasks()) {
			_ = task.Run(t.Context()) // the broken rule cannot be checked, and the receiver may be down
		}
		mu.Lock()
		slices.Sort(got)
		if !slices.Equal(got, step.want) {
			t.Errorf("after %v with %q: got %v, want %v", step.after, step.detail, got, step.want)
		}
		got = nil
		mu.Unlock()
	}
	status, err := one.Status(t.Context())
	if err != nil || len(status) != 2 || len(status[0].Sent) != 0 || status[1].Wrong.IsZero() || len(status[1].Sent) != 1 ||
		!status[1].Sent[0].Firing || !status[1].Sent[0].At.Equal(now.Truncate(time.Millisecond)) {
		t.Errorf("status %+v, %v", status, err)
	}
	for channel, err := range one.Test(t.Context()) {
		if err != nil {
			t.Errorf("a test by %s: %v", channel, err)
		}
	}
	slices.Sort(got)
	if want := []string{"[Standin] test: test", "alert.test test This is a test."}; !slices.Equal(got, want) {
		t.Errorf("the test sent %v, want %v", got, want)
	}
}

// TestOptions checks which settings are refused.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, wrong := range []alert.Options{
		{Webhook: "ops.example.com", WebhookSecret: secret}, {
			Webhook: "https://ops.example.com",
		}, {Mail: []string{"ops"}}, {FailureRate: 101}, {Disk: -1},
	} {
		if err := wrong.Check(true); err == nil {
			t.Errorf("%+v is accepted", wrong)
		}
	}
	if err := (alert.Options{Mail: []string{"ops@example.com"}}).Check(false); err == nil {
		t.Error("mail without a mail host is accepted")
	}
	if err := (alert.Options{
		Mail: []string{"ops@example.com"}, Webhook: "https://ops.example.com", WebhookSecret: secret, Disk: 90,
	}).Check(true); err != nil {
		t.Error(err)
	}
}
