package webhook_test

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"standin/internal/testing/outboxtest"
	"standin/internal/webhook"
)

// memoryOutbox is an outbox in memory whose operations can fail and whose
// retries can be shortened. It passes the same suite as the store.
type memoryOutbox struct {
	hurry bool // a retry is due at once, whenever the verdict says

	mu        sync.Mutex
	rows      []*outboxRow
	released  int
	endpoints map[string]int               // failures in a row
	fail      func(operation string) error // nil: nothing fails
}

type outboxRow struct {
	delivery  webhook.Delivery
	dueAt     time.Time
	notBefore time.Time
	final     bool
	tries     []webhook.Try
	verdicts  []webhook.Verdict
}

func TestMemoryOutboxKeepsThePromises(t *testing.T) {
	t.Parallel()
	outboxtest.Run(t, func(*testing.T) outboxtest.Outbox { return &memoryOutbox{} })
}

func (o *memoryOutbox) failing(operation string) error {
	if o.fail == nil {
		return nil
	}
	return o.fail(operation)
}

func (o *memoryOutbox) Put(_ context.Context, deliveries ...webhook.Delivery) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, delivery := range deliveries {
		o.rows = append(o.rows, &outboxRow{delivery: delivery, dueAt: delivery.EmittedAt})
	}
	return nil
}

func (o *memoryOutbox) WriteClaim(ctx context.Context, fn func(context.Context, webhook.ClaimTx) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.failing("claim"); err != nil {
		return err
	}
	return fn(ctx, memoryClaim{o})
}

// memoryClaim implements webhook.ClaimTx.
type memoryClaim struct{ *memoryOutbox }

func (o memoryClaim) DueDeliveries(_ context.Context, now time.Time, limit int) ([]webhook.DueDelivery, error) {
	var due []webhook.DueDelivery
	for _, row := range o.rows {
		if !row.final && !row.dueAt.After(now) {
			d := row.delivery
			d.DueAt = row.dueAt
			due = append(due, webhook.DueDelivery{Delivery: d, Blocked: o.behind(row, now), Dead: o.dead(row)})
		}
	}
	slices.SortStableFunc(due, func(a, b webhook.DueDelivery) int {
		return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.Sequence, b.Sequence))
	})
	return due[:min(len(due), limit)], nil
}

func (o memoryClaim) OldestWaiting(_ context.Context, d webhook.Delivery, now time.Time) (webhook.Delivery, bool, error) {
	row := o.oldest(d, now)
	if row == nil || row.delivery.Lease != "" {
		return webhook.Delivery{}, false, nil
	}
	oldest := row.delivery
	oldest.DueAt = row.dueAt
	return oldest, true, nil
}

func (o memoryClaim) ExpireDeliveries(_ context.Context, ids []string, _ time.Time) error {
	for _, row := range o.rows {
		if slices.Contains(ids, row.delivery.ID) {
			row.final = true
			row.verdicts = append(row.verdicts, webhook.Verdict{Outcome: webhook.PermanentFailure, Reason: webhook.ReasonExpired})
		}
	}
	return nil
}

func (o memoryClaim) SaveClaim(_ context.Context, taken []webhook.Delivery, deferred []webhook.Deferral) ([]webhook.Delivery, error) {
	for _, row := range o.rows {
		for _, d := range deferred {
			if d.ID == row.delivery.ID {
				row.dueAt = d.DueAt
			}
		}
		for _, d := range taken {
			if d.ID == row.delivery.ID {
				row.delivery, row.dueAt = d, d.LeasedTo
			}
		}
	}
	return taken, nil
}

// dead reports whether the endpoint of the row is dead.
func (o *memoryOutbox) dead(row *outboxRow) bool {
	return o.endpoints[webhook.EndpointKey(row.delivery.ConsumerID, row.delivery.URL)] >= webhook.DeadAfterFailures
}

// oldest returns the oldest row that waits for the endpoint of a delivery.
func (o *memoryOutbox) oldest(of webhook.Delivery, now time.Time) (oldest *outboxRow) {
	for _, row := range o.rows {
		if row.final || row.notBefore.After(now) || row.delivery.ConsumerID != of.ConsumerID || row.delivery.URL != of.URL {
			continue
		}
		if oldest == nil || cmp.Or(row.delivery.EmittedAt.Compare(oldest.delivery.EmittedAt), cmp.Compare(row.delivery.Sequence, oldest.delivery.Sequence)) < 0 {
			oldest = row
		}
	}
	return oldest
}

// behind reports whether the row waits for an earlier one.
func (o *memoryOutbox) behind(row *outboxRow, now time.Time) bool {
	return slices.ContainsFunc(o.rows, func(earlier *outboxRow) bool {
		return !earlier.final &&
			earlier.delivery.JobID == row.delivery.JobID &&
			earlier.delivery.URL == row.delivery.URL &&
			earlier.delivery.Sequence < row.delivery.Sequence &&
			(earlier.delivery.Lease != "" || !earlier.dueAt.After(now.Add(webhook.BlocksWithin)))
	})
}

func (o *memoryOutbox) claimed(delivery webhook.Delivery) *outboxRow {
	for _, row := range o.rows {
		if row.delivery.ID == delivery.ID && row.delivery.Lease == delivery.Lease && delivery.Lease != "" {
			return row
		}
	}
	return nil
}

func (o *memoryOutbox) ReleaseDeliveries(_ context.Context, deliveries []webhook.Delivery) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.failing("release"); err != nil {
		return err
	}
	for _, delivery := range deliveries {
		if row := o.claimed(delivery); row != nil {
			row.delivery.Lease = ""
			row.delivery.Attempt--
			row.dueAt = row.delivery.EmittedAt
			o.released++
		}
	}
	return nil
}

func (o *memoryOutbox) RecordTries(_ context.Context, results []webhook.Result) (lost []string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.failing("record"); err != nil {
		return nil, err
	}
	for _, result := range results {
		row := o.claimed(result.Delivery)
		if row == nil {
			lost = append(lost, result.Delivery.ID)
			continue
		}
		row.delivery.Lease = ""
		row.tries = append(row.tries, result.Try)
		row.verdicts = append(row.verdicts, result.Verdict)
		o.note(row, result)
		row.final = result.Verdict.Outcome != webhook.Retry
		row.dueAt, row.notBefore = result.Verdict.RetryAt, result.Verdict.NotBefore
		if o.hurry {
			row.dueAt = row.delivery.EmittedAt
		}
	}
	return lost, nil
}

// note counts the failures of a delivery and its endpoint, and goes on with an
// endpoint that is back.
func (o *memoryOutbox) note(row *outboxRow, result webhook.Result) {
	if o.endpoints == nil {
		o.endpoints = make(map[string]int)
	}
	key := webhook.EndpointKey(row.delivery.ConsumerID, row.delivery.URL)
	if result.Resume {
		o.resume(key, 0)
	}
	if result.Verdict.Outcome != webhook.Delivered {
		if !result.Verdict.Uncounted {
			row.delivery.Failures++
		}
		o.endpoints[key]++
		return
	}
	if o.endpoints[key] >= webhook.DeadAfterFailures {
		o.resume(key, math.MaxInt)
	}
	o.endpoints[key] = 0
}

// resume makes the deliveries of an endpoint due that failed at most the given number
// of times.
func (o *memoryOutbox) resume(key string, failures int) {
	for _, row := range o.rows {
		if row.final || row.delivery.Lease != "" || row.delivery.Failures > failures ||
			webhook.EndpointKey(row.delivery.ConsumerID, row.delivery.URL) != key {
			continue
		}
		row.dueAt = row.delivery.EmittedAt
		if row.notBefore.After(row.dueAt) {
			row.dueAt = row.notBefore
		}
	}
}

func (o *memoryOutbox) Backlog(context.Context) (waiting int64, oldest time.Time, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.failing("backlog"); err != nil {
		return 0, time.Time{}, err
	}
	for _, row := range o.rows {
		if row.final {
			continue
		}
		waiting++
		if oldest.IsZero() || row.delivery.EmittedAt.Before(oldest) {
			oldest = row.delivery.EmittedAt
		}
	}
	return waiting, oldest, nil
}

func (o *memoryOutbox) NextDelivery(_ context.Context, after time.Time) (time.Time, bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.failing("next"); err != nil {
		return time.Time{}, false, err
	}
	var next time.Time
	for _, row := range o.rows {
		if !row.final && row.dueAt.After(after) && (next.IsZero() || row.dueAt.Before(next)) {
			next = row.dueAt
		}
	}
	return next, !next.IsZero(), nil
}

func (o *memoryOutbox) Tries(_ context.Context, deliveryID string) ([]webhook.Try, error) {
	return o.row(deliveryID).tries, nil
}

// row returns a copy of what is stored of a delivery.
func (o *memoryOutbox) row(deliveryID string) outboxRow {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, row := range o.rows {
		if row.delivery.ID == deliveryID {
			return *row
		}
	}
	return outboxRow{}
}

// final reports whether all deliveries are delivered or given up.
func (o *memoryOutbox) final() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !slices.ContainsFunc(o.rows, func(row *outboxRow) bool { return !row.final })
}
