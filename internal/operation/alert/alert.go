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

	"standin/internal/jobs/runner"
	"standin/internal/jobs/webhook"
)

// Cooldown is the shortest time between two alerts of a rule.
const Cooldown = time.Hour

// Options are the settings that operators choose.
type Options struct {
	Webhook       string        `env:"STANDIN_ALERT_WEBHOOK" placeholder:"https://…" help:"URL that alerts are posted to. Default: none."`
	WebhookSecret string        `env:"STANDIN_ALERT_WEBHOOK_SECRET" help:"Secret that signs alerts, as webhooks are signed. Prefer the environment variable."`
	Mail          []string      `env:"STANDIN_ALERT_MAIL" placeholder:"ops@example.com,…" help:"Addresses that alerts are mailed to, with the mail host and the sender of STANDIN_MAIL_REPLY_URL and STANDIN_MAIL_REPLY_FROM. Default: none."`
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

// Store remembers the alerts of all nodes, so that each is sent once by each channel.
type Store interface {
	// ClaimAlert reports whether this node is to send, before until, that a rule is firing or
	// not anymore: nobody else is sending it, and no alert was sent by that channel since a
	// time, or an alert was sent since the last time that all was well.
	ClaimAlert(ctx context.Context, name, channel string, firing bool, now, until, since time.Time) (bool, error)
	// RecordAlert records that it was sent.
	RecordAlert(ctx context.Context, name, channel string, firing bool, now time.Time) error
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
	interval = time.Minute
	// checkTimeout bounds a check, and the sending of an alert by a channel.
	checkTimeout = 20 * time.Second
)

// Watcher checks rules and sends alerts.
type Watcher struct {
	Settings

	mu    sync.Mutex
	since map[string]time.Time // when a rule began to be wrong, by its key
}

// NewWatcher returns a Watcher.
func NewWatcher(settings Settings) *Watcher {
	return &Watcher{Settings: settings, since: make(map[string]time.Time)}
}

// Tasks returns the work that is to be done all the time: to check each rule for each channel, so
// that a rule that cannot be checked or a channel that is broken delays nothing else.
func (w *Watcher) Tasks() (tasks []runner.Task) {
	for _, rule := range w.Rules {
		for channel := range w.channels() {
			if !rule.Off {
				tasks = append(tasks, runner.Task{
					Name: "alert " + rule.Name + " by " + channel, Every: interval,
					Run: func(ctx context.Context) error { return w.check(ctx, rule, channel) },
				})
			}
		}
	}
	return tasks
}

// check checks a rule, and sends what is to be sent by a channel. An alert counts as sent only
// afterwards: if that fails, it is sent at the next check.
func (w *Watcher) check(ctx context.Context, rule Rule, channel string) error {
	checking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	detail, err := rule.Check(checking)
	if err != nil {
		return err
	}
	key, now, state := rule.Name+" "+rule.Node, w.Now(), "resolved"
	w.mu.Lock()
	if detail == "" {
		delete(w.since, key)
	} else if w.since[key].IsZero() {
		w.since[key] = now
	}
	wrong := w.since[key]
	w.mu.Unlock()
	if detail != "" {
		if state = "firing"; now.Sub(wrong) < rule.For {
			return nil
		}
	}
	claimed, err := w.Store.ClaimAlert(checking, key, channel, detail != "", now, now.Add(checkTimeout), now.Add(-Cooldown))
	if err != nil || !claimed {
		return err
	}
	w.Log.Warn("alert", "rule", rule.Name, "state", state, "node", rule.Node, "detail", detail, "channel", channel)
	sending, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := w.channels()[channel](sending, rule, state, detail); err != nil {
		return err
	}
	return w.Store.RecordAlert(ctx, key, channel, detail != "", now)
}

// Options returns the settings that operators chose, with the secret.
func (w *Watcher) Options() Options { return w.Settings.Options }

// Status returns the state of each rule.
func (w *Watcher) Status(ctx context.Context) ([]Status, error) {
	sent, err := w.Store.Alerts(ctx)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []Status
	for _, rule := range w.Rules {
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

// Test sends a test alert once by all channels, and returns the errors by channel: webhook and mail.
func (w *Watcher) Test(ctx context.Context) map[string]error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	results := make(map[string]error)
	for name, send := range w.channels() {
		results[name] = send(ctx, Rule{Name: "test"}, "test", "This is a test.")
	}
	return results
}

// sender sends an alert, or that all is well again.
type sender func(ctx context.Context, rule Rule, state, detail string) error

// channels returns what sends alerts.
func (w *Watcher) channels() map[string]sender {
	channels := make(map[string]sender)
	if w.Webhook != "" {
		channels["webhook"] = w.post
	}
	if len(w.Mail) > 0 {
		channels["mail"] = w.sendMail
	}
	return channels
}

// post posts the webhook of an alert.
func (w *Watcher) post(ctx context.Context, rule Rule, state, detail string) error {
	event := "alert." + state
	data, _ := json.Marshal(map[string]string{"event": event, "rule": rule.Name, "node": rule.Node, "detail": detail}) // texts always encode
	try := w.Poster.Post(ctx, webhook.Delivery{
		ID: webhook.NewDeliveryID(), Event: event, Attempt: 1, URL: w.Webhook, EmittedAt: w.Now(), Data: data,
		Version: webhook.Version2, Secrets: []webhook.Secret{{Value: w.WebhookSecret}},
	})
	if !try.Acknowledged() {
		return errors.New(strings.TrimSpace(fmt.Sprintf("status %d %s", try.StatusCode, try.Error)))
	}
	return nil
}

// sendMail mails an alert.
func (w *Watcher) sendMail(ctx context.Context, rule Rule, state, detail string) error {
	body := fmt.Sprintf("Rule: %s\nState: %s\n", rule.Name, state)
	if rule.Node != "" {
		body += "Node: " + rule.Node + "\n"
	}
	if detail != "" {
		body += "\n" + detail + "\n"
	}
	return w.SendMail(ctx, w.Mail, fmt.Sprintf("[Standin] %s: %s", rule.Name, state),
		body+"\n"+w.BaseURL+"/operator/alerts\n")
}
