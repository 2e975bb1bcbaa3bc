package serviceclient

import (
	"context"
	"errors"

	"standin/internal/bot/spool"
	"standin/internal/ingest"
	"standin/internal/retry"
)

// sendTexts sends the spool's texts in order, one batch at a time, each until the
// service responds.
func (c *Client) sendTexts(ctx context.Context) error {
	backoff := c.newBackoff()
	for {
		batch, ok := c.awaitTexts(ctx)
		if !ok {
			return nil
		}
		err := c.sendBatch(ctx, batch)
		if ctx.Err() != nil {
			return nil
		}
		refusal, refused := errors.AsType[*RefusedError](err)
		switch {
		case err == nil:
			backoff.Reset()
			c.endTexts(batch, "")
		case refused && refusal.permanent():
			return c.refuse(refusal)
		case refused:
			c.log.Error("texts rejected", "number", batch.Number, "error", err)
			c.endTexts(batch, err.Error())
		default:
			pause := pauseAfter(err, &backoff)
			if backoff.Failures == 1 {
				c.log.Warn("cannot send texts; they wait in the spool", "number", batch.Number, "error", err)
			}
			if retry.Sleep(ctx, pause) != nil {
				return nil
			}
		}
	}
}

// awaitTexts returns the next batch; ok is false if ctx ended.
func (c *Client) awaitTexts(ctx context.Context) (batch spool.Texts, ok bool) {
	for {
		changed := c.spool.Changed()
		if batch, ok := c.spool.NextTexts(); ok {
			return batch, ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return spool.Texts{}, false
		}
	}
}

// sendBatch sends one batch. A response acknowledges it even if nothing was
// stored.
func (c *Client) sendBatch(ctx context.Context, batch spool.Texts) error {
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
		c.log.Info("texts not stored", "number", batch.Number, "reason", string(response.Reason))
	}
	return nil
}

func (c *Client) endTexts(batch spool.Texts, refusal string) {
	if err := c.spool.EndTexts(batch.Number, refusal); err != nil {
		c.log.Error("cannot store an acknowledgment; the texts may be sent again after a restart", "number", batch.Number, "error", err)
	}
}

// ReportTexts writes a batch of chat messages and captions to the spool. If it
// returns nil the batch will be sent, even if this process ends.
func (c *Client) ReportTexts(batch []ingest.Text) error { return c.spool.AppendTexts(batch) }
