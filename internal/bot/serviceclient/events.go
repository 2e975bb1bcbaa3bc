package serviceclient

import (
	"context"
	"errors"

	"standin/internal/bot/spool"
	"standin/internal/ingest"
	"standin/internal/job"
)

// sendEvents tells the service the spool's events, one at a time in their
// order, each until it is answered.
func (c *Client) sendEvents(ctx context.Context) error {
	patience := c.patience()
	for {
		event, ok := c.awaitEvent(ctx)
		if !ok {
			return nil
		}
		err := c.sendEvent(ctx, event)
		if ctx.Err() != nil {
			return nil
		}
		refusal, refused := errors.AsType[*RefusedError](err)
		switch {
		case err == nil:
			if failures := patience.succeeded(); failures > 0 {
				c.log.Info("events are sent again", "failures", failures, "waiting", c.spool.WaitingEvents())
			}
		case refused && refusal.forGood():
			return c.refuse(refusal)
		case refused:
			c.log.Error("the service refuses an event; it is set aside", "kind", string(event.Kind), "number", event.Number, "error", err)
			if err := c.spool.RejectEvent(event.Number, err.Error()); err != nil {
				c.log.Error("an event set aside may be sent again after a restart", "number", event.Number, "error", err)
			}
		default:
			pause := patience.failed(err)
			if patience.failures == 1 {
				c.log.Warn("events cannot be sent; they wait in the spool", "kind", string(event.Kind), "number", event.Number, "error", err)
			}
			if !sleep(ctx, pause) {
				return nil
			}
		}
	}
}

// awaitEvent returns the next event when it may be sent; ok is false when ctx
// ended first. manifest.finalized waits for the media that it speaks of.
func (c *Client) awaitEvent(ctx context.Context) (event spool.Event, ok bool) {
	for {
		changed := c.spool.Changed()
		event, ok := c.spool.NextEvent()
		if ok && (event.Kind != job.ManifestFinalized || c.spool.PendingFiles() == 0) {
			return event, ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return spool.Event{}, false
		}
	}
}

// sendEvent sends one event and takes in the answer. Applied or not, an event
// that was answered is done with: the service has it on the job's timeline.
func (c *Client) sendEvent(ctx context.Context, event spool.Event) error {
	ctx, cancel := context.WithTimeout(ctx, c.settings.Timeout)
	defer cancel()
	var answer ingest.EventResponse
	err := c.post(ctx, ingest.EventPath, "", ingest.Event{
		Kind:      event.Kind,
		JobID:     c.settings.JobID,
		Attempt:   c.settings.Attempt,
		EmittedAt: event.EmittedAt,
		Data:      event.Data,
	}, &answer)
	if err != nil {
		return err
	}
	if !answer.OK {
		return &awayError{err: errors.New("the answer to an event does not say ok")}
	}
	if !answer.Applied {
		c.log.Info("an event was not applied", "kind", string(event.Kind), "number", event.Number, "reason", string(answer.Reason), "status", string(answer.Status))
	}
	if answer.Reason == job.StaleAttempt || answer.Reason == job.Terminal {
		c.judge(answer.Reason, answer.Status)
	}
	c.hear(answer.Commands)
	if err := c.spool.AckEvent(event.Number); err != nil {
		c.log.Error("an event may be sent again after a restart", "number", event.Number, "error", err)
	}
	return nil
}
