package pagecheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"standin/internal/base/retry"
	"standin/internal/bot/session"
	"standin/internal/jobs/webhook"
)

// The events of webhooks.
const (
	EventMismatch = "canary.mismatch" // a page no longer matches the profile, or in another way than before
	EventMatch    = "canary.match"    // all pages match again
)

const (
	maxCaptures  = 20 // in the folder; the oldest are deleted
	webhookTries = 4
	firstPause   = 2 * time.Second // before the second try
	maxPause     = time.Minute
)

// CanarySettings configure a Canary.
type CanarySettings struct {
	Bot      session.Settings // the visits; its Dir is a temporary folder of each visit
	Every    time.Duration
	Captures string // folder for captures of pages that do not match; empty: none are kept

	Webhook string                                                // URL; empty: none
	Secret  webhook.Secret                                        // signs webhooks
	Allow   []netip.Prefix                                        // networks that the webhook may reach although they are not public
	Mail    func(ctx context.Context, subject, body string) error // to the operators; nil: none
	Visited func(r *Report)                                       // receives each report; may be nil
	Log     *slog.Logger
}

// Canary visits a meeting.
type Canary struct {
	CanarySettings
	metrics  *canaryMetrics
	sender   *webhook.Sender
	baseline *Report   // the last visit that matched
	reported []Problem // what the last webhook reported
}

// NewCanary returns a Canary.
func NewCanary(settings CanarySettings) *Canary {
	return &Canary{
		CanarySettings: settings, metrics: newCanaryMetrics(),
		sender: webhook.NewSender(nil, webhook.Settings{Allow: settings.Allow, Log: settings.Log}),
	}
}

// Run visits the meeting at intervals until ctx ends.
func (c *Canary) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		started := time.Now()
		if _, err := c.Visit(ctx); err != nil && ctx.Err() == nil {
			c.Log.Error("visit failed", "error", err)
		}
		_ = retry.Sleep(ctx, c.Every-time.Since(started)) // the end of ctx stops the canary
	}
	return nil
}

// Visit visits the meeting once, and reports the result. An error is of this
// machine, not of the pages.
func (c *Canary) Visit(ctx context.Context) (_ Report, err error) {
	settings := c.Bot
	if settings.Dir, err = os.MkdirTemp("", "standin-canary-"); err != nil {
		return Report{}, fmt.Errorf("create the canary's folder: %w", err)
	}
	defer os.RemoveAll(settings.Dir)
	started := time.Now()
	visit, err := session.VisitMeeting(ctx, settings, func(visit session.Visit) string {
		report := newReport(visit, c.baseline)
		if report.Match || c.Captures == "" {
			return ""
		}
		return "the canary found: " + report.Problems[0].String()
	})
	if err != nil {
		c.metrics.visits.WithLabelValues("failed").Inc()
		return Report{}, err
	}
	report := newReport(visit, c.baseline)
	report.At, report.Seconds = started.UTC(), time.Since(started).Seconds()
	if visit.Capture != nil && !visit.Capture.Empty() {
		if report.Capture, err = c.keep(visit, started); err != nil {
			c.Log.Error("cannot keep a capture", "error", err)
		}
	}
	c.metrics.visited(report)
	if report.Match {
		c.baseline = &report
	}
	if c.Visited != nil {
		c.Visited(&report)
	}
	c.notify(ctx, report)
	return report, nil
}

// keep writes the capture of a visit and deletes the oldest captures.
func (c *Canary) keep(visit session.Visit, at time.Time) (string, error) {
	data, err := visit.Capture.Encode()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(c.Captures, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(c.Captures, fmt.Sprintf("canary-%s.zip", at.UTC().Format("20060102T150405.000Z")))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return "", err
	}
	kept, err := filepath.Glob(filepath.Join(c.Captures, "canary-*.zip"))
	if err != nil {
		return path, err
	}
	slices.Sort(kept) // by time
	for _, old := range kept[:max(0, len(kept)-maxCaptures)] {
		err = errors.Join(err, os.Remove(old))
	}
	return path, err
}

// notify sends a webhook and a mail when the problems are others than those that the last
// ones reported.
func (c *Canary) notify(ctx context.Context, report Report) {
	if c.Webhook == "" && c.Mail == nil || slices.Equal(report.Problems, c.reported) {
		return
	}
	event, subject := EventMismatch, "[Standin] The pages do not match"
	if report.Match {
		event, subject = EventMatch, "[Standin] The pages match again"
	}
	if c.Webhook != "" && !c.post(ctx, event, report) {
		c.metrics.webhooks.Inc()
		return
	}
	if c.Mail != nil {
		var text strings.Builder
		_ = report.WriteText(&text) // never returns an error
		if err := c.Mail(ctx, subject, text.String()); err != nil {
			c.Log.Error("cannot send mail", "error", err)
			return
		}
	}
	c.reported = report.Problems
}

// post posts a report, and says whether it was acknowledged.
func (c *Canary) post(ctx context.Context, event string, report Report) bool {
	data, err := json.Marshal(map[string]any{"report": report})
	if err != nil {
		c.Log.Error("cannot encode the report", "error", err)
		return false
	}
	delivery := webhook.Delivery{
		ID: webhook.NewDeliveryID(), Event: event, URL: c.Webhook, EmittedAt: time.Now(), Data: data,
		Version: webhook.Version2, Secrets: []webhook.Secret{c.Secret},
	}
	backoff := retry.Backoff{Min: firstPause, Max: maxPause}
	for delivery.Attempt = 1; delivery.Attempt <= webhookTries; delivery.Attempt++ {
		try := c.sender.Post(ctx, delivery)
		if try.Acknowledged() {
			return true
		}
		c.Log.Warn("webhook not accepted", "attempt", delivery.Attempt, "status", try.StatusCode, "error", try.Error)
		if delivery.Attempt < webhookTries && retry.Sleep(ctx, backoff.Next()) != nil {
			return false
		}
	}
	return false
}
