package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
	"standin/internal/recording/storage"
	"standin/internal/store"
)

// settleTime is how long the nodes may take to recover after the last fault. A
// delivery that was lost with its node is repeated when its lease expires. On a busy
// machine, tries exceed the short timeout of the nodes, so that the URL is dead: the
// next probe of it may be five minutes away.
const settleTime = 10 * time.Minute

// checker compares the whole history with the acknowledged requests.
type checker struct {
	store      *store.Store
	recordings *storage.Recordings
	receiver   *receiver
	promises   []*promise

	retries, hooks, live, stopped int // counted
}

// awaitSettled waits until every accepted job has ended and every webhook is
// delivered.
func (c *checker) awaitSettled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	last := ""
	for i := 0; i < len(c.promises); {
		open, err := c.open(ctx, c.promises[i])
		if err == nil && open == "" {
			i++
			continue
		}
		if err == nil {
			last = open
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("job %s did not settle within %s: %s (%w)", c.promises[i].id, settleTime, last, errors.Join(err, ctx.Err()))
		}
	}
	return nil
}

// open describes the remaining work for a job; it returns "" if there is none.
func (c *checker) open(ctx context.Context, p *promise) (string, error) {
	r, err := c.store.Job(ctx, p.id)
	if err != nil {
		return "it cannot be read", err
	}
	if !r.WakeAt.IsZero() {
		return fmt.Sprintf("status %s since %s, attempt %d of node %s, last heartbeat %s, next check %s, lease %q",
			r.Status, r.StatusSince, r.Attempt, r.Node, r.HeartbeatAt, r.WakeAt, r.Lease), nil
	}
	deliveries, _, err := c.store.ListDeliveries(ctx, p.id, webhook.DeliveryCursor{}, 1000, time.Now())
	if err != nil {
		return "its webhooks cannot be read", err
	}
	for _, d := range deliveries {
		if d.State == webhook.DeliveryWaiting {
			return fmt.Sprintf("webhook %d (%s) is pending since %s, after %d attempts, until %s", d.Sequence, d.Event, d.EmittedAt, d.Attempt,
				d.NextTryAt), nil
		}
	}
	return "", nil
}

// check returns all violations.
func (c *checker) check(ctx context.Context) []error {
	var all []error
	for _, p := range c.promises {
		r, err := c.store.Job(ctx, p.id)
		if err != nil {
			all = append(all, fmt.Errorf("job %s was accepted and is missing: %w", p.id, err))
			continue
		}
		entries, err := c.store.Timeline(ctx, p.id)
		if err != nil {
			all = append(all, fmt.Errorf("the timeline of job %s: %w", p.id, err))
			continue
		}
		c.retries += max(0, r.Attempts-1)
		for what, err := range map[string]error{
			"lost write":        checkWrites(p, r, entries),
			"wrong end":         checkEnd(p, r, entries),
			"broken timeline":   checkTimeline(r, entries),
			"duplicate attempt": checkAttempts(r, entries),
			"missing webhook":   c.checkWebhooks(ctx, r, entries),
			"early bot":         c.checkPrelaunch(ctx, r, entries),
			"missing recording": c.checkRecording(ctx, r),
		} {
			if err != nil {
				all = append(all, fmt.Errorf("job %s: %s: %w\n%s", p.id, what, err, timelineText(entries)))
			}
		}
	}
	return all
}

// checkWrites checks that acknowledged writes are stored.
func checkWrites(p *promise, r job.Record, entries []job.TimelineEntry) error {
	if r.ExternalID != p.externalID {
		return fmt.Errorf("it has the externalId %s, not %s", r.ExternalID, p.externalID)
	}
	if p.name != "" && r.DisplayName != p.name {
		return fmt.Errorf("it has the displayName %s, not %s", r.DisplayName, p.name)
	}
	for _, name := range p.acknowledged {
		stored := slices.ContainsFunc(entries, func(e job.TimelineEntry) bool {
			var data struct{ DetectedBotName string }
			return e.Kind == job.BotCompetingDetected && e.Applied && json.Unmarshal(e.Data, &data) == nil && data.DetectedBotName == name
		})
		if !stored {
			return fmt.Errorf("the bot's event about %s is not on the timeline", name)
		}
	}
	return nil
}

// checkEnd compares a job's end with the outcome of its bot and with cancel
// requests.
func checkEnd(p *promise, r job.Record, entries []job.TimelineEntry) error {
	if r.Status == job.Cancelled {
		if !p.cancelling {
			return errors.New("it is cancelled without a request")
		}
		return nil
	}
	if lostBeforeUpload(r, entries) {
		return nil
	}
	if r.Status != p.want || r.FailureCode != p.code {
		return fmt.Errorf("it is %s %s (%s), not %s %s", r.Status, r.FailureCode, r.FailureDetail, p.want, p.code)
	}
	if p.cancelled.IsZero() {
		return nil
	}
	for _, e := range entries {
		if e.Applied && e.To.Terminal() && !e.From.Terminal() && e.ReceivedAt.After(p.cancelled) {
			return fmt.Errorf("it was cancelled at %s and %s after that", p.cancelled, r.Status)
		}
	}
	return nil
}

// lostBeforeUpload reports whether the job's bot was lost after it had stopped
// recording and before it had uploaded anything. A simulated bot uploads only after
// the recording (a real one while it records), so there is nothing to finalize, and
// a new attempt would be too late. The right end is failed.
func lostBeforeUpload(r job.Record, entries []job.TimelineEntry) bool {
	return r.Status == job.Failed && (r.FailureCode == job.InternalError || r.FailureCode == job.NetworkLoss) &&
		slices.ContainsFunc(entries, func(e job.TimelineEntry) bool {
			return e.Kind == job.GivenUp && e.Applied && (e.From == job.RecordingStopped || e.From.Teardown())
		})
}

// checkTimeline checks that every transition starts where the one before ended.
func checkTimeline(r job.Record, entries []job.TimelineEntry) error {
	at := job.Scheduled
	for _, e := range causalOrder(entries) {
		if e.From != at {
			return fmt.Errorf("%s starts at %s, but the job was %s", e.Kind, e.From, at)
		}
		at = e.To
	}
	if at != r.Status {
		return fmt.Errorf("the timeline ends in %s, but the job is %s", at, r.Status)
	}
	return nil
}

// causalOrder returns the entries that changed the status, in causal order. Within a
// millisecond the order of the nodes' clocks can differ from the order of commits.
func causalOrder(entries []job.TimelineEntry) []job.TimelineEntry {
	changes := slices.DeleteFunc(slices.Clone(entries), func(e job.TimelineEntry) bool { return !e.Applied || e.From == e.To })
	at := job.Scheduled
	for i := range changes {
		next := slices.IndexFunc(changes[i:], func(e job.TimelineEntry) bool { return e.From == at })
		if next > 0 {
			moved := changes[i+next]
			copy(changes[i+1:i+next+1], changes[i:i+next])
			changes[i] = moved
		}
		at = changes[i].To
	}
	return changes
}

// checkAttempts finds attempts that were started twice and attempts with two bots. A
// bot reports once that it joins, with the time.
func checkAttempts(r job.Record, entries []job.TimelineEntry) error {
	started, joined := map[int]int{}, map[int]map[time.Time]bool{}
	for _, e := range entries {
		switch {
		case e.Kind == job.AttemptStarted && e.Applied:
			started[e.Attempt]++
		case e.Kind == job.BotJoined:
			if joined[e.Attempt] == nil {
				joined[e.Attempt] = map[time.Time]bool{}
			}
			joined[e.Attempt][e.EmittedAt] = true
		}
	}
	if len(started) != r.Attempts { // the numbers of stopped prelaunched bots are skipped
		return fmt.Errorf("%d attempts were started, not %d", len(started), r.Attempts)
	}
	for attempt, times := range started {
		if times != 1 {
			return fmt.Errorf("attempt %d was started %d times", attempt, times)
		}
		if len(joined[attempt]) > 1 {
			return fmt.Errorf("%d bots joined for attempt %d", len(joined[attempt]), attempt)
		}
	}
	return nil
}

// checkRecording checks that the files of a job's recording are in storage, with their
// sizes.
func (c *checker) checkRecording(ctx context.Context, r job.Record) error {
	if r.ManifestURI == "" {
		return nil
	}
	problems, err := c.recordings.MissingFiles(ctx, r.ID)
	if err == nil && len(problems) > 0 {
		err = errors.New(strings.Join(problems, "; "))
	}
	return err
}

// checkPrelaunch checks that nothing showed the bot of a live job before joinAt, and
// that no bot joined that was launched for other values than the job's last.
func (c *checker) checkPrelaunch(ctx context.Context, r job.Record, entries []job.TimelineEntry) error {
	if r.Mode != job.Live {
		return nil
	}
	c.live++
	if r.Attempt >= max(1, r.Attempts) {
		c.stopped++
	}
	for _, e := range entries {
		byConsumer := e.Kind == lifecycle.JobChanged || e.Kind == lifecycle.CommandQueued || e.Kind == lifecycle.CommandFailed ||
			e.Kind == job.CancelRequested
		if e.ReceivedAt.Before(r.JoinAt) && !byConsumer {
			return fmt.Errorf("%s is on the timeline before joinAt %s", e.Kind, r.JoinAt)
		}
		var data botData
		if e.Kind != job.BotJoined || !e.Applied {
			continue
		}
		if err := json.Unmarshal(e.Data, &data); err != nil || data.Name != r.DisplayName || !data.JoinAt.Equal(r.JoinAt) {
			return fmt.Errorf("a bot joined with %s instead of %s at %s (%w)", e.Data, r.DisplayName, r.JoinAt, err)
		}
	}
	deliveries, _, err := c.store.ListDeliveries(ctx, r.ID, webhook.DeliveryCursor{}, 1000, time.Now())
	if err != nil {
		return err
	}
	for _, d := range deliveries {
		if d.EmittedAt.Before(r.JoinAt) && r.Status != job.Cancelled {
			return fmt.Errorf("the webhook %s was emitted before joinAt %s", d.Event, r.JoinAt)
		}
	}
	if r.Prelaunch != job.NotPrelaunched && r.Status != job.Cancelled {
		return fmt.Errorf("its prelaunch is %s", r.Prelaunch)
	}
	return nil
}

// checkWebhooks compares the received webhooks with the timeline and the outbox.
func (c *checker) checkWebhooks(ctx context.Context, r job.Record, entries []job.TimelineEntry) error {
	got := c.receiver.of(r.ID)
	deliveries, _, err := c.store.ListDeliveries(ctx, r.ID, webhook.DeliveryCursor{}, 1000, time.Now())
	if err != nil {
		return err
	}
	numbers := map[int64]bool{}
	for _, d := range deliveries {
		one, came := got[d.ID]
		if !came || d.State != webhook.DeliveryDelivered {
			return fmt.Errorf("webhook %d (%s) is %s and was received %d times", d.Sequence, d.Event, d.State, one.times)
		}
		numbers[one.Sequence] = true
		c.hooks++
	}
	if int64(len(numbers)) != r.Sequence {
		return fmt.Errorf("there were %d events, but webhooks for %d", r.Sequence, len(numbers))
	}
	changes := 0
	for _, e := range entries {
		if e.Applied && e.From != e.To {
			changes++
		}
	}
	reported := 0
	for _, one := range got {
		if one.Event == "job.status_changed" {
			reported++
		}
	}
	if reported != changes {
		return fmt.Errorf("the status changed %d times, but %d webhooks reported it", changes, reported)
	}
	return nil
}

// timelineText formats a timeline.
func timelineText(entries []job.TimelineEntry) string {
	var text []byte
	for _, e := range entries {
		text = fmt.Appendf(text, "\t%s %d %s %s→%s %s %s\n", e.ReceivedAt.Format("15:04:05.000"), e.Attempt, e.Kind, e.From, e.To, e.Reason,
			e.Data)
	}
	return string(text)
}
