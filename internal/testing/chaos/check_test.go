package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"standin/internal/job"
	"standin/internal/store"
	"standin/internal/webhook"
)

// settleTime is how long the nodes have after the last fault. A try of a webhook
// that was lost with its node is repeated when its lease is over.
const settleTime = 2 * time.Minute

// checker reads the whole history, and holds it against what was promised.
type checker struct {
	store    *store.Store
	receiver *receiver
	promises []*promise

	retries, hooks int // what was seen
}

// untilSettled waits until every promised job has ended and been let go, and
// every webhook was delivered.
func (c *checker) untilSettled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for i := 0; i < len(c.promises); {
		open, err := c.open(ctx, c.promises[i])
		if err == nil && open == "" {
			i++
			continue
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("job %s did not settle within %s: %s (%w)", c.promises[i].id, settleTime, open, errors.Join(err, ctx.Err()))
		}
	}
	return nil
}

// open is what is still to be done about a job; empty when nothing is.
func (c *checker) open(ctx context.Context, p *promise) (string, error) {
	r, err := c.store.Job(ctx, p.id)
	if err != nil {
		return "it cannot be read", err
	}
	if !r.WakeAt.IsZero() {
		return fmt.Sprintf("it is %s since %s, attempt %d of node %s, heard at %s, to be looked at at %s by %q",
			r.Status, r.StatusSince, r.Attempt, r.Node, r.HeartbeatAt, r.WakeAt, r.Lease), nil
	}
	deliveries, _, err := c.store.ListDeliveries(ctx, p.id, webhook.DeliveryCursor{}, 1000)
	if err != nil {
		return "its webhooks cannot be read", err
	}
	for _, d := range deliveries {
		if d.State == webhook.DeliveryWaiting {
			return fmt.Sprintf("webhook %d (%s) waits since %s, after %d tries, until %s", d.Sequence, d.Event, d.EmittedAt, d.Attempt, d.DueAt), nil
		}
	}
	return "", nil
}

// check returns all violations of what was promised.
func (c *checker) check(ctx context.Context) []error {
	var all []error
	for _, p := range c.promises {
		r, err := c.store.Job(ctx, p.id)
		if err != nil {
			all = append(all, fmt.Errorf("job %s was accepted and is not there: %w", p.id, err))
			continue
		}
		entries, err := c.store.Timeline(ctx, p.id)
		if err != nil {
			all = append(all, fmt.Errorf("the timeline of job %s: %w", p.id, err))
			continue
		}
		c.retries += max(0, r.Attempts-1)
		for what, err := range map[string]error{
			"a write was lost":     checkWrites(p, r, entries),
			"a wrong end":          checkEnd(p, r, entries),
			"a broken timeline":    checkTimeline(r, entries),
			"an attempt ran twice": checkAttempts(r, entries),
			"a webhook is missing": c.checkHooks(ctx, r, entries),
		} {
			if err != nil {
				all = append(all, fmt.Errorf("job %s: %s: %w\n%s", p.id, what, err, story(entries)))
			}
		}
	}
	return all
}

// checkWrites holds what was acknowledged against what is kept.
func checkWrites(p *promise, r job.Record, entries []job.TimelineEntry) error {
	if r.ExternalID != p.externalID {
		return fmt.Errorf("it has the externalId %s, not %s", r.ExternalID, p.externalID)
	}
	if p.name != "" && r.DisplayName != p.name {
		return fmt.Errorf("it has the displayName %s, not %s", r.DisplayName, p.name)
	}
	for _, name := range p.told {
		kept := slices.ContainsFunc(entries, func(e job.TimelineEntry) bool {
			var data struct{ DetectedBotName string }
			return e.Kind == job.BotCompetingDetected && e.Applied && json.Unmarshal(e.Data, &data) == nil && data.DetectedBotName == name
		})
		if !kept {
			return fmt.Errorf("the bot's event about %s is not on the timeline", name)
		}
	}
	return nil
}

// checkEnd holds a job's end against what its bot was to do, and what was asked
// meanwhile.
func checkEnd(p *promise, r job.Record, entries []job.TimelineEntry) error {
	if r.Status == job.Cancelled {
		if !p.cancelling {
			return errors.New("it is cancelled, and nobody asked for that")
		}
		return nil
	}
	if unsaved(r, entries) {
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

// unsaved reports whether the job's bot was lost after it had stopped recording
// and before it had uploaded anything. A simulated bot uploads only then (a real
// one while it records), so nothing is left to finalize, and another bot comes
// too late: failed is the right end (contract, State machine).
func unsaved(r job.Record, entries []job.TimelineEntry) bool {
	return r.Status == job.Failed && (r.FailureCode == job.InternalError || r.FailureCode == job.NetworkLoss) &&
		slices.ContainsFunc(entries, func(e job.TimelineEntry) bool {
			return e.Kind == job.GivenUp && e.Applied && (e.From == job.RecordingStopped || e.From.Teardown())
		})
}

// checkTimeline follows the states from the first to the last.
func checkTimeline(r job.Record, entries []job.TimelineEntry) error {
	at := job.Scheduled
	for _, e := range inOrder(entries) {
		if e.From != at {
			return fmt.Errorf("%s goes on from %s, and the job was %s", e.Kind, e.From, at)
		}
		at = e.To
	}
	if at != r.Status {
		return fmt.Errorf("the timeline ends in %s, and the job is %s", at, r.Status)
	}
	return nil
}

// inOrder are the entries that changed the status, put into the order in which
// they follow from each other: nodes write at one time and their clocks' order
// within a millisecond is not that of the commits.
func inOrder(entries []job.TimelineEntry) []job.TimelineEntry {
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

// checkAttempts finds attempts that were begun twice, or whose bots were two:
// each says once that it joins, and says when.
func checkAttempts(r job.Record, entries []job.TimelineEntry) error {
	begun, joined := map[int]int{}, map[int]map[time.Time]bool{}
	for _, e := range entries {
		switch {
		case e.Kind == job.AttemptStarted && e.Applied:
			begun[e.Attempt]++
		case e.Kind == job.BotJoined:
			if joined[e.Attempt] == nil {
				joined[e.Attempt] = map[time.Time]bool{}
			}
			joined[e.Attempt][e.EmittedAt] = true
		}
	}
	for attempt := range r.Attempts {
		if begun[attempt] != 1 {
			return fmt.Errorf("attempt %d was begun %d times", attempt, begun[attempt])
		}
		if len(joined[attempt]) > 1 {
			return fmt.Errorf("%d bots joined for attempt %d", len(joined[attempt]), attempt)
		}
	}
	return nil
}

// checkHooks holds what the receiver got against what the timeline entails and
// the outbox kept.
func (c *checker) checkHooks(ctx context.Context, r job.Record, entries []job.TimelineEntry) error {
	got := c.receiver.of(r.ID)
	deliveries, _, err := c.store.ListDeliveries(ctx, r.ID, webhook.DeliveryCursor{}, 1000)
	if err != nil {
		return err
	}
	numbers := map[int64]bool{}
	for _, d := range deliveries {
		one, came := got[d.ID]
		if !came || d.State != webhook.DeliveryDelivered {
			return fmt.Errorf("webhook %d (%s) is %s and came %d times", d.Sequence, d.Event, d.State, one.times)
		}
		numbers[one.Sequence] = true
		c.hooks++
	}
	if int64(len(numbers)) != r.Sequence {
		return fmt.Errorf("there were %d events, and webhooks of %d", r.Sequence, len(numbers))
	}
	changes := 0
	for _, e := range entries {
		if e.Applied && e.From != e.To {
			changes++
		}
	}
	told := 0
	for _, one := range got {
		if one.Event == "job.status_changed" {
			told++
		}
	}
	if told != changes {
		return fmt.Errorf("the status changed %d times, and that was told %d times", changes, told)
	}
	return nil
}

// story is a timeline for people.
func story(entries []job.TimelineEntry) string {
	var text []byte
	for _, e := range entries {
		text = fmt.Appendf(text, "\t%s %d %s %s→%s %s %s\n", e.ReceivedAt.Format("15:04:05.000"), e.Attempt, e.Kind, e.From, e.To, e.Reason, e.Data)
	}
	return string(text)
}
