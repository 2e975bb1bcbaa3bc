package webhook_test

import (
	"cmp"
	"context"
	"fmt"
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
	leases    int
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

func (o *memoryOutbox) ClaimDeliveries(_ context.Context, claim webhook.Claim) ([]webhook.Delivery, bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.failing("claim"); err != nil {
		return nil, false, err
	}
	var due []*outboxRow
	for _, row := range o.rows {
		if !row.final && !row.dueAt.After(claim.Now) {
			due = append(due, row)
		}
	}
	slices.SortStableFunc(due, func(a, b *outboxRow) int {
		return cmp.Or(a.dueAt.Compare(b.dueAt), cmp.Compare(a.delivery.Sequence, b.delivery.Sequence))
	})
	more := len(due) >= claim.Limit
	if more {
		due = due[:claim.Limit]
	}
	admit := func(webhook.Delivery) (bool, time.Duration) { return true, 0 }
	if claim.Admit != nil {
		admit = claim.Admit()
	}
	o.leases++
	var claimed []webhook.Delivery
	for _, row := range due {
		if o.dead(row) && claim.MaxAge > 0 && row.delivery.EmittedAt.Before(claim.Now.Add(-claim.MaxAge)) {
			row.final = true
			row.verdicts = append(row.verdicts, webhook.Verdict{Outcome: webhook.GaveUp, Reason: webhook.ReasonExpired})
			continue
		}
		due, probe := row, o.dead(row)
		if probe {
			row = o.oldest(row, claim.Now)
		}
		admitted, wait := false, time.Duration(0)
		switch {
		case row == nil || probe && row.delivery.Lease != "":
			wait = webhook.MinDefer
		case probe || !o.behind(row, claim.Now):
			admitted, wait = admit(row.delivery)
		}
		if !admitted || row != due {
			if by := webhook.DeferFor(wait, more); by > 0 {
				due.dueAt = claim.Now.Add(by)
			}
		}
		if !admitted {
			continue
		}
		row.delivery.DueAt = row.dueAt
		row.delivery.Lease = fmt.Sprint("lease ", o.leases)
		row.delivery.LeasedTo = claim.Now.Add(claim.Lease)
		row.delivery.Attempt++
		row.dueAt = row.delivery.LeasedTo
		claimed = append(claimed, row.delivery)
	}
	return claimed, more, nil
}

// dead reports whether the endpoint of the row is dead.
func (o *memoryOutbox) dead(row *outboxRow) bool {
	return o.endpoints[webhook.EndpointKey(row.delivery.ConsumerID, row.delivery.URL)] >= webhook.DeadAfterFailures
}

// oldest returns the oldest row that waits for the endpoint of another one.
func (o *memoryOutbox) oldest(of *outboxRow, now time.Time) (oldest *outboxRow) {
	for _, row := range o.rows {
		if row.final || row.notBefore.After(now) || row.delivery.ConsumerID != of.delivery.ConsumerID || row.delivery.URL != of.delivery.URL {
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
