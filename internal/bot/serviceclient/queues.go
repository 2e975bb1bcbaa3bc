package serviceclient

import (
	"context"
	"errors"

	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
)

// sendQueue sends the entries of a queue of the spool in order, one at a time and when they are
// ready, each until the service responds.
func sendQueue[T spool.Entry](ctx context.Context, c *Client, queue *spool.Queue[T], ready func(T) bool,
	send func(context.Context, T) error) error {
	backoff := c.newBackoff()
	for {
		entry, ok := awaitNext(ctx, c.spool, queue, ready)
		if !ok {
			return nil
		}
		err := send(ctx, entry)
		refusal, refused := errors.AsType[*RefusedError](err)
		reason := "" // why the service refuses the entry
		switch {
		case err == nil:
			if failures := backoff.Reset(); failures > 0 {
				c.log.Info("sending works again", "entry", entry.String(), "failures", failures, "waiting", queue.Waiting())
			}
		case ctx.Err() != nil:
			return nil
		case refused && refusal.permanent():
			return c.refuse(refusal)
		case refused:
			c.log.Error("entry of the spool rejected", "entry", entry.String(), "error", err)
			reason = err.Error()
		default:
			pause := pauseAfter(err, &backoff)
			if backoff.Failures == 1 {
				c.log.Warn("cannot send an entry of the spool, where it waits", "entry", entry.String(), "error", err)
			}
			if retry.Sleep(ctx, pause) != nil {
				return nil
			}
			continue
		}
		if err := queue.End(entry, reason); err != nil {
			c.log.Error("cannot store an acknowledgment; the entry may be sent again after a restart", "entry", entry.String(), "error", err)
		}
	}
}

// awaitNext returns the next entry of a queue when it is ready; ok is false if ctx ended.
func awaitNext[T spool.Entry](ctx context.Context, from *spool.Spool, queue *spool.Queue[T], ready func(T) bool) (entry T, ok bool) {
	for {
		changed := from.Changed()
		if entry, ok := queue.Next(); ok && ready(entry) {
			return entry, ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return entry, false
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
		c.log.Info("event not applied", "kind", event.Kind, "number", event.Number, "reason", response.Reason, "status",
			response.Status)
	}
	if response.Reason == job.StaleAttempt || response.Reason == job.Terminal {
		c.checkTermination(response.Reason, response.Status)
	}
	c.receiveCommands(response.Commands)
	return nil
}

// sendTexts sends one batch. A response acknowledges it even if nothing was
// stored.
func (c *Client) sendTexts(ctx context.Context, batch spool.Texts) error {
	ctx, cancel := context.WithTimeout(ctx, c.settings.Timeout)
	defer cancel()
	var response ingest.TextsResponse
	err := c.post(ctx, ingest.TextPath, "", ingest.Texts{JobID: c.settings.JobID, Attempt: c.settings.Attempt, Texts: batch.Texts}, &response)
	if err != nil {
		return err
	}
	if !response.OK {
		return &unavailableError{err: errors.New("the response to texts is not ok")}
	}
	if response.Reason != "" {
		c.log.Info("texts not stored", "number", batch.Number, "reason", response.Reason)
	}
	return nil
}

// ReportTexts writes a batch of chat messages and captions to the spool. If it
// returns nil the batch will be sent, even if this process ends.
func (c *Client) ReportTexts(batch []ingest.Text) error { return c.spool.AppendTexts(batch) }
