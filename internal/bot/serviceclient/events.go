package serviceclient

import (
	"context"
	"errors"

	"standin/internal/bot/spool"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/retry"
)

// sendEvents sends the spool's events in order, one at a time, each until the
// service responds.
func (c *Client) sendEvents(ctx context.Context) error {
	backoff := c.newBackoff()
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
			if failures := backoff.Reset(); failures > 0 {
				c.log.Info("sending events works again", "failures", failures, "waiting", c.spool.WaitingEvents())
			}
		case refused && refusal.permanent():
			return c.refuse(refusal)
		case refused:
			c.log.Error("event rejected", "kind", string(event.Kind), "number", event.Number, "error", err)
			if err := c.spool.RejectEvent(event.Number, err.Error()); err != nil {
				c.log.Error("cannot store a rejection; the event may be sent again after a restart", "number", event.Number, "error", err)
			}
		default:
			pause := pauseAfter(err, &backoff)
			if backoff.Failures == 1 {
				c.log.Warn("cannot send event; events wait in the spool", "kind", string(event.Kind), "number", event.Number, "error", err)
			}
			if retry.Sleep(ctx, pause) != nil {
				return nil
			}
		}
	}
}

// awaitEvent returns the next event when it may be sent; ok is false if ctx
// ended. manifest.finalized waits for all files and texts.
func (c *Client) awaitEvent(ctx context.Context) (event spool.Event, ok bool) {
	for {
		changed := c.spool.Changed()
		event, ok := c.spool.NextEvent()
		if ok && (event.Kind != job.ManifestFinalized || c.spool.PendingFiles() == 0 && c.spool.WaitingTexts() == 0) {
			return event, ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return spool.Event{}, false
		}
	}
}

// sendEvent sends one event. A response acknowledges it even if it was not
// applied: the service has it on the job's timeline.
func (c *Client) sendEvent(ctx context.Context, event spool.Event) error {
	ctx, cancel := context.WithTimeout(ctx, c.settings.Timeout)
	defer cancel()
	var response ingest.EventResponse
	err := c.post(ctx, ingest.EventPath, "", ingest.Event{
		Kind:      event.Kind,
		JobID:     c.settings.JobID,
		Attempt:   c.settings.Attempt,
		EmittedAt: event.EmittedAt,
		Data:      event.Data,
	}, &response)
	if err != nil {
		return err
	}
	if !response.OK {
		return &unavailableError{err: errors.New("the response to an event is not ok")}
	}
	if !response.Applied {
		c.log.Info("event not applied", "kind", string(event.Kind), "number", event.Number, "reason", string(response.Reason), "status", string(response.Status))
	}
	if response.Reason == job.StaleAttempt || response.Reason == job.Terminal {
		c.checkTermination(response.Reason, response.Status)
	}
	c.receiveCommands(response.Commands)
	if err := c.spool.AckEvent(event.Number); err != nil {
		c.log.Error("cannot store an acknowledgment; the event may be sent again after a restart", "number", event.Number, "error", err)
	}
	return nil
}
