package dashboard

import (
	"net/http"
	"strings"
	"time"

	"standin/internal/account"
)

// TestResult is what came of posting a test event.
type TestResult struct {
	StatusCode int // 0 when there was no answer
	Latency    time.Duration
	Error      string // why it failed, when the status alone does not say
	Answer     string // its beginning
}

// OK reports whether the receiver acknowledged.
func (t TestResult) OK() bool { return t.StatusCode >= 200 && t.StatusCode < 300 }

// webhooksView is what the page of webhooks shows.
type webhooksView struct {
	Consumer account.Consumer
	Secret   string    // only when it was asked for
	OldUntil time.Time // until when the old secret signs too; zero when it does not
	Tested   *TestResult
	Problem  string
}

func (d *Dashboard) webhooksPage(x *exchange, session account.Session) error {
	return d.showWebhooks(x, session, http.StatusOK, webhooksView{})
}

func (d *Dashboard) showWebhooks(x *exchange, session account.Session, status int, shown webhooksView) error {
	consumer, err := d.settings.Records.Consumer(x.r.Context(), session.User.ConsumerID)
	if err != nil {
		return err
	}
	if shown.Secret != "" {
		shown.Secret = consumer.WebhookSecret
	}
	address := shown.Consumer.WebhookURL
	shown.Consumer = consumer
	if shown.Problem != "" {
		shown.Consumer.WebhookURL = address // what was typed
	}
	if consumer.PreviousWebhookSecret != "" && consumer.PreviousSecretExpires.After(d.settings.Now()) {
		shown.OldUntil = consumer.PreviousSecretExpires
	}
	return x.showStatus(status, "webhooks", "Webhooks", shown)
}

// setEndpoint sets where events go of jobs that name no address.
func (d *Dashboard) setEndpoint(x *exchange, session account.Session) error {
	const longest = 2000
	address := strings.TrimSpace(x.r.PostForm.Get("url"))
	if address != "" && (!isAddress(address) || len(address) > longest) {
		wrong := webhooksView{Problem: "The address must begin with https:// or http:// and name a host."}
		wrong.Consumer.WebhookURL = address
		return d.showWebhooks(x, session, http.StatusBadRequest, wrong)
	}
	if err := d.settings.Records.SetWebhookURL(x.r.Context(), session.User.ConsumerID, address); err != nil {
		return err
	}
	return x.redirect("/webhooks?note=endpoint")
}

// testEndpoint posts a test event to the default endpoint and tells what came
// of it.
func (d *Dashboard) testEndpoint(x *exchange, session account.Session) error {
	if err := d.throttle(x.r); err != nil {
		return err
	}
	consumer, err := d.settings.Records.Consumer(x.r.Context(), session.User.ConsumerID)
	if err != nil {
		return err
	}
	if consumer.WebhookURL == "" {
		return d.showWebhooks(x, session, http.StatusBadRequest, webhooksView{Problem: "Save a default endpoint first."})
	}
	result := d.settings.Tester.Test(x.r.Context(), consumer, consumer.WebhookURL)
	return d.showWebhooks(x, session, http.StatusOK, webhooksView{Tested: &result})
}

// revealSecret shows the secret, in the answer to a form and nowhere else.
func (d *Dashboard) revealSecret(x *exchange, session account.Session) error {
	return d.showWebhooks(x, session, http.StatusOK, webhooksView{Secret: "asked for"})
}

// rotateSecret makes another secret. For a day the old one signs too.
func (d *Dashboard) rotateSecret(x *exchange, session account.Session) error {
	_, _, err := account.RotateSecret(x.r.Context(), d.settings.Records, session.User.ConsumerID, d.settings.Now())
	if err != nil {
		return err
	}
	return x.redirect("/webhooks?note=rotated")
}
