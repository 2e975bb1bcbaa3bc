package serviceclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"standin/internal/ingest"
	"standin/internal/job"
)

// Bounds of the time between heartbeats, whatever the service asks for.
const (
	minBeat = time.Second
	maxBeat = time.Minute
)

// heartbeatAnswer is the wire's answer, and the reason that the service may
// give when the attempt is stale.
type heartbeatAnswer struct {
	ingest.HeartbeatResponse
	Reason job.Reason `json:"reason"`
}

// beat sends heartbeats, one at a time. As a rule one is on its way and held
// by the service, so that a command reaches the bot at once; an
// acknowledgement cuts the holding short.
func (c *Client) beat(ctx context.Context) error {
	patience := c.patience()
	hold := time.Duration(0) // the first one is answered at once: it tells when to beat
	for ctx.Err() == nil {
		ids, urgent := c.acks.list()
		if urgent {
			hold = 0
		}
		if c.handingIn.Load() {
			hold = min(hold, minBeat)
		}
		began := time.Now()
		answer, err := c.sendHeartbeat(ctx, ids, hold)
		refusal, refused := errors.AsType[*RefusedError](err)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errInterrupted):
			continue
		case refused && (refusal.forGood() || refusal.Status == http.StatusConflict):
			return c.refuse(refusal)
		case err != nil:
			pause := patience.failed(err)
			if patience.failures == 1 {
				c.log.Warn("heartbeats do not reach the service", "error", err)
			}
			if refused { // not to be said again; acknowledgements that the service knows nothing of, perhaps
				c.acks.told(ids)
			}
			if !sleep(ctx, pause) {
				return nil
			}
			continue
		}
		if failures := patience.succeeded(); failures > 0 {
			c.log.Info("heartbeats reach the service again", "failures", failures)
		}
		next := min(max(time.Duration(answer.NextSeconds)*time.Second, minBeat), maxBeat)
		c.pace(ctx, hold > 0 || len(answer.Commands) > 0, began, next)
		hold = min(c.settings.MaxWait, next)
	}
	return nil
}

var errInterrupted = errors.New("an acknowledgement is to be told")

// sendHeartbeat sends one heartbeat and takes in the answer. The service may
// hold its answer for as long as hold.
func (c *Client) sendHeartbeat(ctx context.Context, acked []string, hold time.Duration) (heartbeatAnswer, error) {
	var answer heartbeatAnswer
	query := ""
	request := ctx
	if hold > 0 {
		query = fmt.Sprintf("wait=%d", int(hold.Seconds()))
		held, done := c.acks.interruptible(ctx)
		defer done()
		request = held
	}
	request, cancel := context.WithTimeout(request, hold+c.settings.Timeout)
	defer cancel()
	stats := c.Stats()
	err := c.post(request, ingest.HeartbeatPath, query, ingest.Heartbeat{
		JobID:   c.settings.JobID,
		Attempt: c.settings.Attempt,
		Acked:   acked,
		Stats:   &stats,
	}, &answer)
	switch {
	case err != nil && errors.Is(request.Err(), context.Canceled):
		return answer, errInterrupted // or the end, which the caller sees for itself
	case err != nil:
		return answer, err
	case !answer.OK:
		return answer, &awayError{err: errors.New("the answer to a heartbeat does not say ok")}
	}
	c.acks.told(acked)
	c.judge(answer.Reason, answer.Status)
	c.hear(answer.Commands)
	return answer, nil
}

// pace keeps heartbeats apart when the service did not hold the last one: it
// has no mind to, or a command is still being carried out and would be
// answered at once again. An acknowledgement cuts the pause short.
func (c *Client) pace(ctx context.Context, couldHold bool, began time.Time, next time.Duration) {
	if !couldHold || time.Since(began) >= minBeat {
		return
	}
	pause, done := c.acks.interruptible(ctx)
	defer done()
	sleep(pause, time.Until(began.Add(next)))
}
