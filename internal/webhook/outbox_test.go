package webhook_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"standin/internal/webhook"
	"standin/internal/webhook/outboxtest"
)

// memoryOutbox is the fixture of the sender's own tests: an outbox whose
// database can be made to fail and whose retries can be hurried. That the real
// one, in SQL, keeps the same promises is proven by running the same suite
// over the store.
type memoryOutbox struct {
	hurry bool // a retry is due at once, whenever the verdict says

	mu       sync.Mutex
	rows     []*outboxRow
	leases   int
	released int
	fail     func(operation string) error // nil: nothing fails
}

type outboxRow struct {
	delivery webhook.Delivery
	dueAt    time.Time
	final    bool
	tries    []webhook.Try
	verdicts []webhook.Verdict
}

func TestMemoryOutboxKeepsThePromises(t *testing.T) {
	t.Parallel()
	outboxtest.Run(t, func(*testing.T) outboxtest.Subject { return &memoryOutbox{} })
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

func (o *memoryOutbox) ClaimDeliveries(_ context.Context, claim webhook.Claim) ([]webhook.Delivery, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.failing("claim"); err != nil {
		return nil, err
	}
	var due []*outboxRow
	for _, row := range o.rows {
		if !row.final && !row.dueAt.After(claim.Now) && !o.behind(row) &&
			!slices.Contains(claim.Busy, webhook.HostOf(row.delivery.URL)) {
			due = append(due, row)
		}
	}
	slices.SortStableFunc(due, func(a, b *outboxRow) int {
		return cmp.Or(a.dueAt.Compare(b.dueAt), cmp.Compare(a.delivery.Sequence, b.delivery.Sequence))
	})
	var claimed []webhook.Delivery
	ofHost := map[string]int{}
	for _, row := range due {
		host := webhook.HostOf(row.delivery.URL)
		if ofHost[host] == claim.PerHost || len(claimed) == claim.Limit {
			continue
		}
		ofHost[host]++
		o.leases++
		row.delivery.Lease = fmt.Sprint("lease ", o.leases)
		row.delivery.Attempt++
		row.dueAt = claim.Now.Add(claim.Lease)
		claimed = append(claimed, row.delivery)
	}
	return claimed, nil
}

// behind reports whether the row waits for an earlier one.
func (o *memoryOutbox) behind(row *outboxRow) bool {
	return slices.ContainsFunc(o.rows, func(earlier *outboxRow) bool {
		return !earlier.final &&
			earlier.delivery.JobID == row.delivery.JobID &&
			earlier.delivery.URL == row.delivery.URL &&
			earlier.delivery.Sequence < row.delivery.Sequence &&
			earlier.delivery.Failures < webhook.FailuresBeforeOvertaking
	})
}

func (o *memoryOutbox) leased(delivery webhook.Delivery) *outboxRow {
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
		if row := o.leased(delivery); row != nil {
			row.delivery.Lease = ""
			row.delivery.Attempt--
			row.dueAt = row.delivery.EmittedAt
			o.released++
		}
	}
	return nil
}

func (o *memoryOutbox) RecordTry(_ context.Context, delivery webhook.Delivery, try webhook.Try, verdict webhook.Verdict) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.failing("record"); err != nil {
		return err
	}
	row := o.leased(delivery)
	if row == nil {
		return webhook.ErrLeaseLost
	}
	row.delivery.Lease = ""
	row.tries = append(row.tries, try)
	row.verdicts = append(row.verdicts, verdict)
	if verdict.Outcome != webhook.Delivered {
		row.delivery.Failures++
	}
	row.final = verdict.Outcome != webhook.Retry
	row.dueAt = verdict.RetryAt
	if o.hurry {
		row.dueAt = row.delivery.EmittedAt
	}
	return nil
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
