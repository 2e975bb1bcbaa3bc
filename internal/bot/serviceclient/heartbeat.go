package serviceclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

// Bounds of the time between heartbeats, whatever the service asks for.
const (
	minHeartbeatInterval = time.Second
	maxHeartbeatInterval = time.Minute
)

// heartbeatResponse adds the reason that the service gives for a stale attempt.
type heartbeatResponse struct {
	ingest.HeartbeatResponse
	Reason job.Reason
}

// sendHeartbeats sends heartbeats, one at a time. Usually the service holds one,
// so that a command reaches the bot at once. An acknowledgment interrupts it.
func (c *Client) sendHeartbeats(ctx context.Context) error {
	backoff := c.newBackoff()
	wait := time.Duration(0) // the first response is immediate: it sets the interval
	for ctx.Err() == nil {
		ids, urgent := c.acks.next()
		if urgent {
			wait = 0
		}
		if c.delivering.Load() {
			wait = min(wait, minHeartbeatInterval)
		}
		start := time.Now()
		response, someLeft, err := c.sendHeartbeat(ctx, ids, wait)
		refusal, refused := errors.AsType[*RefusedError](err)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errInterrupted):
			continue
		case refused && (refusal.permanent() || refusal.Status == http.StatusConflict):
			return c.refuse(refusal)
		case err != nil:
			pause := pauseAfter(err, &backoff)
			if backoff.Failures == 1 {
				c.log.Warn("cannot send heartbeat", "error", err)
			}
			if refused {
				c.acks.remove(ids) // they may be the cause
			}
			if retry.Sleep(ctx, pause) != nil {
				return nil
			}
			continue
		}
		if failures := backoff.Reset(); failures > 0 {
			c.log.Info("sending heartbeats works again", "failures", failures)
		}
		interval := min(max(time.Duration(response.NextSeconds)*time.Second, minHeartbeatInterval), maxHeartbeatInterval)
		switch {
		case someLeft: // the service does not hold heartbeats meanwhile, and may send another command
			c.pause(ctx, start, minHeartbeatInterval)
		case wait > 0 && len(response.Commands) == 0:
			c.pause(ctx, start, interval)
		}
		wait = min(maxWait, interval)
	}
	return nil
}

var errInterrupted = errors.New("interrupted by an acknowledgment")

// sendHeartbeat sends one heartbeat. The service may hold the response for as
// long as wait. someLeft reports that the response has commands that were not queued.
func (c *Client) sendHeartbeat(ctx context.Context, acked []string,
	wait time.Duration) (response heartbeatResponse, someLeft bool, err error) {
	query := ""
	request := ctx
	if wait > 0 {
		query = fmt.Sprintf("wait=%d", int(wait.Seconds()))
		var done context.CancelFunc
		request, done = c.acks.interruptible(ctx)
		defer done()
	}
	request, cancel := context.WithTimeout(request, wait+c.settings.Timeout)
	defer cancel()
	recorded, uploaded := c.spool.SegmentBytes()
	stats := ingest.Stats{
		BytesRecorded:  recorded,
		BytesUploaded:  uploaded,
		EventsWaiting:  c.spool.Events.Waiting(),
		RecordedMillis: c.recorded.Load(),
		Roster:         c.roster.Load(),
	}
	if usage := c.usage.Load(); usage != nil {
		stats.CoresUsed, stats.MemoryBytes = usage.Cores, usage.Memory
		stats.CoreSeconds, stats.GiBSeconds = usage.CoreSeconds, usage.GiBSeconds
	}
	if c.delivering.Load() {
		total, sent := c.spool.FinalBytes()
		c.uploads.mutex.Lock()
		for _, bytes := range c.uploads.sent {
			sent += bytes
		}
		c.uploads.mutex.Unlock()
		stats.FinalBytes, stats.FinalBytesSent = total, min(total, sent)
	}
	err = c.post(request, ingest.HeartbeatPath, query, ingest.Heartbeat{
		JobID:     c.settings.JobID,
		Attempt:   c.settings.Attempt,
		Acked:     acked,
		Failed:    c.acks.failed(acked),
		Executing: c.commands.executingIDs(),
		Stats:     &stats,
	}, &response)
	switch {
	case err != nil && errors.Is(request.Err(), context.Canceled):
		return response, false, errInterrupted // the caller checks whether ctx ended
	case err != nil:
		return response, false, err
	case !response.OK:
		return response, false, &unavailableError{err: errors.New("the response to a heartbeat is not ok")}
	}
	c.watched.Store(response.Screenshots)
	c.acks.remove(acked)
	c.checkTermination(response.Reason, response.Status)
	return response, c.receiveCommands(response.Commands), nil
}

// pause separates heartbeats that the service does not hold, because it cannot
// or because a command is still being executed. An acknowledgment interrupts it.
func (c *Client) pause(ctx context.Context, start time.Time, interval time.Duration) {
	if time.Since(start) >= minHeartbeatInterval {
		return
	}
	ctx, done := c.acks.interruptible(ctx)
	defer done()
	_ = retry.Sleep(ctx, time.Until(start.Add(interval)))
}
