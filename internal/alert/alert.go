// Package alert tells the operators of a service by webhook and mail that something is
// wrong, for services that no monitoring system watches.
package alert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"standin/internal/retry"
	"standin/internal/webhook"
)

// Options are the settings that operators choose.
type Options struct {
	Webhook       string        `env:"STANDIN_ALERT_WEBHOOK" placeholder:"https://…" help:"URL that alerts are posted to. Default: none."`
	WebhookSecret string        `env:"STANDIN_ALERT_WEBHOOK_SECRET" help:"Secret that signs alerts, as webhooks are signed. Prefer the environment variable."`
	Mail          []string      `env:"STANDIN_ALERT_MAIL" placeholder:"ops@example.com,…" help:"Addresses that alerts are mailed to, with the mail host and the sender of STANDIN_MAIL_REPLY_URL and STANDIN_MAIL_REPLY_FROM. Default: none."`
	Cooldown      time.Duration `env:"STANDIN_ALERT_COOLDOWN" default:"1h" help:"Shortest time between two alerts of a rule."`
	FailureRate   int           `env:"STANDIN_ALERT_FAILURE_RATE" default:"10" placeholder:"PERCENT" help:"Alert when more than this percentage of the jobs that ended within an hour, and at least 3, failed for reasons other than their meetings; 0 is never."`
	Endpoint      time.Duration `env:"STANDIN_ALERT_ENDPOINT" default:"15m" help:"Alert when a webhook endpoint with waiting webhooks has failed for this long; 0 is never."`
	Capacity      time.Duration `env:"STANDIN_ALERT_CAPACITY" default:"5m" help:"Alert when jobs have waited for a bot for this long, or bots could not be started; 0 is never."`
	Disk          int           `env:"STANDIN_ALERT_DISK" default:"90" placeholder:"PERCENT" help:"Alert when this percentage of the disk of the data directory is used; 0 is never."`
}

// Enabled reports whether alerts are sent anywhere.
func (o Options) Enabled() bool { return o.Webhook != "" || len(o.Mail) > 0 }

// Check returns an error for settings that cannot work. canMail reports whether there is a
// host for outgoing mail.
func (o Options) Check(canMail bool) error {
	if o.Webhook != "" {
		if address, err := url.Parse(o.Webhook); err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http" {
			return errors.New("STANDIN_ALERT_WEBHOOK must be an https or http URL") // it may contain a password
		}
		if o.WebhookSecret == "" {
			return errors.New("STANDIN_ALERT_WEBHOOK needs a secret in STANDIN_ALERT_WEBHOOK_SECRET")
		}
	}
	if len(o.Mail) > 0 && !canMail {
		return errors.New("STANDIN_ALERT_MAIL needs STANDIN_MAIL_REPLY_URL, with a password and not with OAuth, and STANDIN_MAIL_REPLY_FROM")
	}
	for _, address := range o.Mail {
		if _, err := mail.ParseAddress(address); err != nil {
			return fmt.Errorf("STANDIN_ALERT_MAIL: %q is no mail address", address)
		}
	}
	if o.FailureRate < 0 || o.FailureRate > 100 || o.Disk < 0 || o.Disk > 100 {
		return errors.New("STANDIN_ALERT_FAILURE_RATE and STANDIN_ALERT_DISK must be percentages")
	}
	return nil
}

// Rule is something that can be wrong.
type Rule struct {
	Name    string        // such as no_capacity
	Node    string        // the node that it is about; empty for the whole service
	When    string        // when it alerts, for people
	Setting string        // the environment variable of its threshold
	Off     bool          // it is not checked
	For     time.Duration // how long it must be wrong before there is an alert
	Check   func(ctx context.Context) (detail string, err error)
}

// Sent is the last alert of a rule.
type Sent struct {
	Rule, Node string
	Firing     bool // nothing said since that all is well again
	At         time.Time
}

// Status is the state of a rule.
type Status struct {
	Rule
	Wrong time.Time // since when this node finds it wrong; zero while all is well
	Sent  []Sent    // by any node, the latest first
}

// Firing reports whether an alert of the rule was sent and not that all is well again.
func (s Status) Firing() bool {
	return slices.ContainsFunc(s.Sent, func(sent Sent) bool { return sent.Firing })
}

// Store remembers the alerts of all nodes, so that each is sent once.
type Store interface {
	// ClaimAlert reports whether this node is to send an alert: none of that name was sent
	// within the cooldown.
	ClaimAlert(ctx context.Context, name string, now time.Time, cooldown time.Duration) (bool, error)
	// ResolveAlert reports whether this node is to say that all is well again: an alert was
	// sent since the last time.
	ResolveAlert(ctx context.Context, name string) (bool, error)
	// Alerts returns the last alert of each rule and node, the latest first.
	Alerts(ctx context.Context) ([]Sent, error)
}

// Settings configure a Watcher.
type Settings struct {
	Options
	Rules  []Rule
	Store  Store
	Poster interface {
		Post(ctx context.Context, delivery webhook.Delivery) webhook.Try
	}
	SendMail func(ctx context.Context, to []string, subject, body string) error // needed for Options.Mail
	BaseURL  string                                                             // names the service
	Now      func() time.Time
	Log      *slog.Logger
}

const (
	interval     = time.Minute
	checkTimeout = 20 * time.Second
	sendTries    = 4
	firstPause   = 2 * time.Second // before the second try
	maxPause     = time.Minute
)

// Watcher checks rules and sends alerts.
type Watcher struct {
	settings Settings

	mu    sync.Mutex
	since map[string]time.Time // when a rule began to be wrong, by its key
}

// NewWatcher returns a Watcher.
func NewWatcher(settings Settings) *Watcher {
	return &Watcher{settings: settings, since: make(map[string]time.Time)}
}

// Run checks the rules every minute until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	for {
		w.Check(ctx)
		if retry.Sleep(ctx, interval) != nil {
			return
		}
	}
}

// Check checks each rule once.
func (w *Watcher) Check(ctx context.Context) {
	for _, rule := range w.settings.Rules {
		if rule.Off {
			continue
		}
		if err := w.check(ctx, rule); err != nil && ctx.Err() == nil {
			w.settings.Log.Error("cannot check alert rule", "rule", rule.Name, "error", err)
		}
	}
}

func (w *Watcher) check(ctx context.Context, rule Rule) error {
	checking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	detail, err := rule.Check(checking)
	if err != nil {
		return err
	}
	key, now := rule.Name+" "+rule.Node, w.settings.Now()
	wrong := w.wrongSince(key, detail != "", now)
	if detail == "" {
		resolved, err := w.settings.Store.ResolveAlert(checking, key)
		if err == nil && resolved {
			w.send(ctx, rule, "resolved", "")
		}
		return err
	}
	if now.Sub(wrong) < rule.For {
		return nil
	}
	claimed, err := w.settings.Store.ClaimAlert(checking, key, now, w.settings.Cooldown)
	if err == nil && claimed {
		w.send(ctx, rule, "firing", detail)
	}
	return err
}

// wrongSince records whether a rule is wrong, and returns since when it is.
func (w *Watcher) wrongSince(key string, wrong bool, now time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !wrong:
		delete(w.since, key)
	case w.since[key].IsZero():
		w.since[key] = now
	}
	return w.since[key]
}

// Options returns the settings that operators chose, with the secret.
func (w *Watcher) Options() Options { return w.settings.Options }

// Status returns the state of each rule.
func (w *Watcher) Status(ctx context.Context) ([]Status, error) {
	sent, err := w.settings.Store.Alerts(ctx)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []Status
	for _, rule := range w.settings.Rules {
		status := Status{Rule: rule, Wrong: w.since[rule.Name+" "+rule.Node]}
		for _, one := range sent {
			if one.Rule == rule.Name {
				status.Sent = append(status.Sent, one)
			}
		}
		all = append(all, status)
	}
	return all, nil
}

// Test sends a test alert once by all ways, and returns the errors by way: webhook and mail.
func (w *Watcher) Test(ctx context.Context) map[string]error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	results := make(map[string]error)
	if w.settings.Webhook != "" {
		delivery, err := w.delivery("alert.test", Rule{Name: "test"}, "This is a test.")
		if err == nil {
			err = w.post(ctx, &delivery)
		}
		results["webhook"] = err
	}
	if len(w.settings.Mail) > 0 {
		body := "This is a test of the alerts of Standin.\n\n" + w.settings.BaseURL + "/operator/alerts\n"
		results["mail"] = w.settings.SendMail(ctx, w.settings.Mail, "[Standin] test", body)
	}
	return results
}

// send sends an alert by all ways. It logs it too, so that an alert that cannot be sent is
// not lost.
func (w *Watcher) send(ctx context.Context, rule Rule, state, detail string) {
	w.settings.Log.Warn("alert", "rule", rule.Name, "state", state, "node", rule.Node, "detail", detail)
	subject := fmt.Sprintf("[Standin] %s: %s", rule.Name, state)
	body := fmt.Sprintf("Rule: %s\nState: %s\n", rule.Name, state)
	if rule.Node != "" {
		body += "Node: " + rule.Node + "\n"
	}
	if detail != "" {
		body += "\n" + detail + "\n"
	}
	body += "\n" + w.settings.BaseURL + "/operator\n"
	if w.settings.Webhook != "" {
		if err := w.tryPost(ctx, rule, state, detail); err != nil {
			w.settings.Log.Error("cannot deliver alert", "rule", rule.Name, "way", "webhook", "error", err)
		}
	}
	if len(w.settings.Mail) > 0 {
		err := w.repeat(ctx, func() error { return w.settings.SendMail(ctx, w.settings.Mail, subject, body) })
		if err != nil {
			w.settings.Log.Error("cannot deliver alert", "rule", rule.Name, "way", "mail", "error", err)
		}
	}
}

// tryPost posts an alert until it is acknowledged.
func (w *Watcher) tryPost(ctx context.Context, rule Rule, state, detail string) error {
	delivery, err := w.delivery("alert."+state, rule, detail)
	if err != nil {
		return err
	}
	return w.repeat(ctx, func() error { return w.post(ctx, &delivery) })
}

// delivery returns the webhook of an alert.
func (w *Watcher) delivery(event string, rule Rule, detail string) (webhook.Delivery, error) {
	data, err := json.Marshal(map[string]string{"event": event, "rule": rule.Name, "node": rule.Node, "detail": detail})
	return webhook.Delivery{
		ID: webhook.NewDeliveryID(), Event: event, URL: w.settings.Webhook, EmittedAt: w.settings.Now(), Data: data,
		Version: webhook.Version2, Secrets: []webhook.Secret{{Value: w.settings.WebhookSecret}},
	}, err
}

// post posts a webhook once.
func (w *Watcher) post(ctx context.Context, delivery *webhook.Delivery) error {
	delivery.Attempt++
	if try := w.settings.Poster.Post(ctx, *delivery); !try.Acknowledged() {
		return errors.New(strings.TrimSpace(fmt.Sprintf("status %d %s", try.StatusCode, try.Error)))
	}
	return nil
}

// repeat calls send until it succeeds, a few times.
func (w *Watcher) repeat(ctx context.Context, send func() error) error {
	backoff := retry.Backoff{Min: firstPause, Max: maxPause}
	for n := 1; ; n++ {
		err := send()
		if err == nil || n == sendTries {
			return err
		}
		if retry.Sleep(ctx, backoff.Next()) != nil {
			return err
		}
	}
}
