package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
)

// webhooksView is the data of the webhooks page.
type webhooksView struct {
	Consumer account.Consumer
	Secret   string    // only on request
	OldUntil time.Time // end of the period in which the old secret signs too; zero when it is over
	Tested   *webhook.Try
	Problem  string

	Mode      job.Mode
	Endpoints []endpointView
	More      string // URL of the next page of endpoints; empty on the last
}

func (d *Dashboard) webhooksPage(req *pageRequest) error {
	return d.showWebhooks(req, http.StatusOK, webhooksView{})
}

func (d *Dashboard) showWebhooks(req *pageRequest, status int, shown webhooksView) error {
	consumer, err := d.Accounts.Consumer(req.Context(), req.User.ConsumerID)
	if err != nil {
		return err
	}
	if shown.Secret != "" {
		shown.Secret = consumer.WebhookSecret
	}
	address := shown.Consumer.WebhookURL
	shown.Consumer = consumer
	if shown.Problem != "" {
		shown.Consumer.WebhookURL = address // the text of the form
	}
	if consumer.PreviousWebhookSecret != "" && consumer.PreviousSecretExpires.After(d.Now()) {
		shown.OldUntil = consumer.PreviousSecretExpires
	}
	shown.Mode = modeOf(req.URL.Query())
	page := lifecycle.Page{Cursor: req.URL.Query().Get("cursor"), Limit: lifecycle.MaxPage}
	endpoints, next, err := d.Webhooks.Endpoints(req.Context(), req.as(shown.Mode), page)
	if err != nil {
		return err
	}
	for _, e := range endpoints {
		shown.Endpoints = append(shown.Endpoints, viewEndpoint(e))
	}
	if next != "" {
		shown.More = "/webhooks?" + url.Values{"mode": {string(shown.Mode)}, "cursor": {next}}.Encode()
	}
	return req.showStatus(status, "webhooks", "Webhooks", shown)
}

// setEndpoint sets the default webhook URL.
func (d *Dashboard) setEndpoint(req *pageRequest) error {
	const longest = 2000
	address := strings.TrimSpace(req.PostForm.Get("url"))
	if address != "" && (!isHTTPURL(address) || len(address) > longest) {
		form := webhooksView{Problem: "The URL must start with https:// or http:// and include a host."}
		form.Consumer.WebhookURL = address
		return d.showWebhooks(req, http.StatusBadRequest, form)
	}
	err := d.Accounts.ChangeConsumer(req.Context(), req.User.ConsumerID, func(c *account.Consumer) { c.WebhookURL = address })
	return req.redirectAfter(err, "/webhooks?note=endpoint")
}

// setEvents sets which optional events the consumer receives.
func (d *Dashboard) setEvents(req *pageRequest) error {
	err := d.Accounts.ChangeConsumer(req.Context(), req.User.ConsumerID, func(c *account.Consumer) {
		c.TranscriptEvent, c.CommandEvent = req.PostForm.Get("transcript") == "on", req.PostForm.Get("commands") == "on"
	})
	return req.redirectAfter(err, "/webhooks?note=events")
}

// testEndpoint posts a test event to the default endpoint and shows the result.
func (d *Dashboard) testEndpoint(req *pageRequest) error {
	if err := d.throttle(req); err != nil {
		return err
	}
	consumer, err := d.Accounts.Consumer(req.Context(), req.User.ConsumerID)
	if err != nil {
		return err
	}
	if consumer.WebhookURL == "" {
		return d.showWebhooks(req, http.StatusBadRequest, webhooksView{Problem: "Save a default endpoint first."})
	}
	result, err := d.Tester.Test(req.Context(), consumer.ID, consumer.WebhookURL, webhook.JobStatusChanged)
	if err != nil {
		return err
	}
	return d.showWebhooks(req, http.StatusOK, webhooksView{Tested: &result})
}

// revealSecret shows the secret in the response to a form, and nowhere else.
func (d *Dashboard) revealSecret(req *pageRequest) error {
	return d.showWebhooks(req, http.StatusOK, webhooksView{Secret: "requested"})
}

// rotateSecret replaces the secret. The old one also signs for a day.
func (d *Dashboard) rotateSecret(req *pageRequest) error {
	_, _, err := account.RotateSecret(req.Context(), d.Accounts, req.User.ConsumerID, d.Now())
	return req.redirectAfter(err, "/webhooks?note=rotated")
}
