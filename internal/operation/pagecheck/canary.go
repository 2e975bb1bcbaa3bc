package pagecheck

import (
	"cmp"
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
	"sync"
	"time"

	"standin/internal/base/retry"
	"standin/internal/bot/browser"
	"standin/internal/bot/capture"
	"standin/internal/bot/session"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
)

// The events of webhooks.
const (
	EventMismatch = "canary.mismatch" // a page no longer matches the profile, or in another way than before
	EventMatch    = "canary.match"    // all pages match again
)

const (
	maxCaptures     = 20 // in the folder; the oldest are deleted
	companionSuffix = " companion"
)

// CanarySettings configure a Canary.
type CanarySettings struct {
	Bot      session.Settings // the observer; its Dir is a temporary folder of each visit
	Every    time.Duration
	Captures string // folder for captures of pages that do not match; empty: none are kept

	Speech []byte // what the companion says: PCM, as in ingest.OutputPath

	Webhook string                                                // URL; empty: none
	Secret  webhook.Secret                                        // signs webhooks
	Allow   []netip.Prefix                                        // networks that the webhook may reach although they are not public
	Mail    func(ctx context.Context, subject, body string) error // to the operators; nil: none
	Visited func(r *Report)                                       // receives each report; may be nil
	Log     *slog.Logger
}

// Canary visits a meeting with two bots.
type Canary struct {
	CanarySettings
	metrics  *canaryMetrics
	sender   *webhook.Sender
	baseline *Report   // the last visit that matched
	captions bool      // were seen
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
func (c *Canary) Visit(ctx context.Context) (report Report, err error) {
	dir, err := os.MkdirTemp("", "standin-canary-")
	if err != nil {
		return report, err
	}
	defer os.RemoveAll(dir)
	started, met := time.Now(), &encounter{Canary: c}
	first, second := c.Bot, c.Bot
	first.Dir, second.Dir = filepath.Join(dir, "companion"), filepath.Join(dir, "observer")
	second.Recording.Capture = job.CaptureStreams
	first.DisplayName, first.Account, first.Recording.Output = c.Bot.DisplayName+companionSuffix, browser.Account{}, true
	var joining sync.WaitGroup
	var companionErr error
	joining.Go(func() { met.companion, companionErr = session.VisitMeeting(ctx, first) })
	met.observer, err = session.VisitMeeting(ctx, second)
	joining.Wait()
	defer func() { err = errors.Join(err, met.companion.Close(), met.observer.Close()) }()
	if err = cmp.Or(err, companionErr); err != nil {
		c.metrics.visits.WithLabelValues("failed").Inc()
		return report, err
	}
	var captured *capture.Capture
	for _, next := range []func(context.Context){met.run, met.end} { // the first problem is captured before the page is left
		next(ctx)
		if report = newReport(met, c.baseline); !report.Match && c.Captures != "" && captured == nil && met.observer.Page != nil {
			captured = met.observer.Capture(ctx, "the canary found: "+report.Problems[0].String())
		}
	}
	if ctx.Err() != nil {
		return report, ctx.Err()
	}
	report.At, report.Seconds = started.UTC(), time.Since(started).Seconds()
	if captured != nil && !captured.Empty() {
		if report.Capture, err = c.keep(captured, started); err != nil {
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

// keep writes a capture and deletes the oldest captures.
func (c *Canary) keep(captured *capture.Capture, at time.Time) (string, error) {
	data, err := captured.Encode()
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
	if c.Webhook != "" {
		data, err := json.Marshal(map[string]any{"report": report})
		if err != nil {
			c.Log.Error("cannot encode the report", "error", err)
			return
		}
		try := c.sender.Post(ctx, webhook.Delivery{
			ID: webhook.NewDeliveryID(), Event: event, Attempt: 1, URL: c.Webhook, EmittedAt: time.Now(), Data: data,
			Version: webhook.Version2, Secrets: []webhook.Secret{c.Secret},
		})
		if !try.Acknowledged() {
			c.metrics.webhooks.Inc()
			c.Log.Warn("webhook not accepted; trying again after the next visit", "status", try.StatusCode, "error", try.Error)
			return
		}
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
