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
	Mode      job.Mode
	Endpoints []endpointView
	Plots     []plot
	More      string // URL of the next page of endpoints; empty on the last
}

func (d *Dashboard) webhooksPage(req *pageRequest) error {
	shown := webhooksView{Mode: modeOf(req.URL.Query())}
	page := lifecycle.Page{Cursor: req.URL.Query().Get("cursor"), Limit: lifecycle.MaxPage}
	endpoints, next, err := d.Jobs.Endpoints(req.Context(), req.as(shown.Mode), page)
	if err != nil {
		return err
	}
	for _, e := range endpoints {
		shown.Endpoints = append(shown.Endpoints, viewEndpoint(e))
	}
	if next != "" {
		shown.More = "/webhooks?" + url.Values{"mode": {string(shown.Mode)}, "cursor": {next}}.Encode()
	}
	shown.Plots, err = d.plotTries(req, req.as(shown.Mode), "")
	return req.showAfter(err, "webhooks", "Webhooks", shown)
}

// webhookSettings is the data of the page of the settings of webhooks.
type webhookSettings struct {
	account.Consumer
	Secret   string    // only on request
	OldUntil time.Time // end of the period in which the old secret signs too; zero when it is over
	Tested   *webhook.Try
	Problem  string
}

func (d *Dashboard) showWebhookSettings(req *pageRequest, status int, shown webhookSettings) error {
	consumer, err := d.Jobs.Store.Consumer(req.Context(), req.User.ConsumerID)
	if err != nil {
		return err
	}
	if shown.Secret != "" {
		shown.Secret = consumer.WebhookSecret
	}
	if shown.Problem != "" {
		consumer.WebhookURL = shown.WebhookURL // the text of the form
	}
	shown.Consumer = consumer
	if consumer.PreviousWebhookSecret != "" && consumer.PreviousSecretExpires.After(d.Now()) {
		shown.OldUntil = consumer.PreviousSecretExpires
	}
	return req.showStatus(status, "webhook-settings", "Webhook settings", shown)
}

// setEndpoint sets the default webhook URL, and the optional events that it and the URLs of jobs receive.
func (d *Dashboard) setEndpoint(req *pageRequest) error {
	const longest = 2000
	address := strings.TrimSpace(req.PostForm.Get("url"))
	if address != "" && (!isHTTPURL(address) || len(address) > longest) {
		form := webhookSettings{Problem: "The URL must start with https:// or http:// and include a host."}
		form.WebhookURL = address
		return d.showWebhookSettings(req, http.StatusBadRequest, form)
	}
	err := d.Jobs.Store.ChangeConsumer(req.Context(), req.User.ConsumerID, func(c *account.Consumer) {
		c.WebhookURL, c.TranscriptEvent, c.CommandEvent = address, req.PostForm.Get("transcript") == "on", req.PostForm.Get("commands") == "on"
	})
	return req.redirectAfter(err, "/webhooks/settings?note=endpoint")
}

// testEndpoint posts a test event to the default endpoint and shows the result.
func (d *Dashboard) testEndpoint(req *pageRequest) error {
	consumer, err := d.Jobs.Store.Consumer(req.Context(), req.User.ConsumerID)
	if err != nil {
		return err
	}
	if consumer.WebhookURL == "" {
		return d.showWebhookSettings(req, http.StatusBadRequest, webhookSettings{Problem: "Save a default endpoint first."})
	}
	result, err := d.Tester.Test(req.Context(), consumer.ID, consumer.WebhookURL, webhook.JobStatusChanged)
	if err != nil {
		return err
	}
	return d.showWebhookSettings(req, http.StatusOK, webhookSettings{Tested: &result})
}

// revealSecret shows the secret in the response to a form, and nowhere else.
func (d *Dashboard) revealSecret(req *pageRequest) error {
	return d.showWebhookSettings(req, http.StatusOK, webhookSettings{Secret: "requested"})
}

// rotateSecret replaces the secret. The old one also signs for a day.
func (d *Dashboard) rotateSecret(req *pageRequest) error {
	_, _, err := account.RotateSecret(req.Context(), d.Jobs.Store, req.User.ConsumerID, d.Now())
	return req.redirectAfter(err, "/webhooks/settings?note=rotated")
}
