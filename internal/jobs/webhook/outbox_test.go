package webhook_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// outbox is that of a database. Its operations can fail, and its retries can be due at once.
type outbox struct {
	*store.Store
	hurry bool                         // a retry is due at once, whenever the verdict says
	fail  func(operation string) error // nil: nothing fails

	mu   sync.Mutex
	rows map[string]outboxRow // by delivery ID
}

// outboxRow is what was recorded of a delivery.
type outboxRow struct {
	tries    []webhook.Try
	verdicts []webhook.Verdict
}

func (r outboxRow) final() bool {
	return len(r.verdicts) > 0 && r.verdicts[len(r.verdicts)-1].Outcome != webhook.Retry
}

func newOutbox(t *testing.T) *outbox {
	t.Helper()
	return &outbox{Store: storetest.Open(t, storetest.FreshSQLite(t)), rows: make(map[string]outboxRow)}
}

// put inserts waiting deliveries with their jobs and teams.
func put(t *testing.T, o *outbox, deliveries ...webhook.Delivery) {
	t.Helper()
	for _, d := range deliveries {
		if _, err := o.EnsureConsumer(t.Context(), account.Consumer{
			ID: d.ConsumerID, Name: d.ConsumerID.String(), WebhookSecret: whsec, WebhookVersion: d.Version, CreatedAt: created,
		}); err != nil {
			t.Fatal(err)
		}
		err := o.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			r := job.Record{Job: meeting(), StatusSince: created, WakeAt: created}
			r.ID, r.ConsumerID, r.Mode, r.ExternalID = d.JobID, d.ConsumerID, d.Mode, d.JobID.String()
			if _, err := tx.InsertJob(ctx, r); err != nil {
				return err
			}
			return tx.InsertDelivery(ctx, d)
		})
		if err != nil {
			t.Fatal(err)
		}
		o.mu.Lock()
		o.rows[d.ID] = outboxRow{}
		o.mu.Unlock()
	}
}

// failing returns the error of an operation that fails.
func (o *outbox) failing(operation string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fail == nil {
		return nil
	}
	return o.fail(operation)
}

func (o *outbox) WriteClaim(ctx context.Context, fn func(context.Context, webhook.ClaimTx) error) error {
	if err := o.failing("claim"); err != nil {
		return err
	}
	return o.Store.WriteClaim(ctx, fn)
}

func (o *outbox) RecordTry(ctx context.Context, r webhook.Result) (bool, error) {
	if err := o.failing("record"); err != nil {
		return false, err
	}
	recorded := r
	if o.hurry && r.Verdict.Outcome == webhook.Retry {
		recorded.Verdict.RetryAt = r.Delivery.EmittedAt
	}
	lost, err := o.Store.RecordTry(ctx, recorded)
	o.mu.Lock()
	defer o.mu.Unlock()
	if row := o.rows[r.Delivery.ID]; err == nil && !lost {
		o.rows[r.Delivery.ID] = outboxRow{append(row.tries, r.Try), append(row.verdicts, r.Verdict)}
	}
	return lost, err
}

func (o *outbox) NextDelivery(ctx context.Context, after time.Time) (time.Time, bool, error) {
	if err := o.failing("next"); err != nil {
		return time.Time{}, false, err
	}
	return o.Store.NextDelivery(ctx, after)
}

func (o *outbox) Backlog(ctx context.Context) (int64, time.Time, error) {
	if err := o.failing("backlog"); err != nil {
		return 0, time.Time{}, err
	}
	return o.Store.Backlog(ctx)
}

// attempts returns how many tries of a delivery were started.
func (o *outbox) attempts(t *testing.T, d webhook.Delivery) int {
	t.Helper()
	stored, err := o.Delivery(t.Context(), d.JobID, d.ID, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return stored.Attempt
}

// row returns what was recorded of a delivery.
func (o *outbox) row(id string) outboxRow {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.rows[id]
}

// final reports whether all deliveries are delivered or given up.
func (o *outbox) final() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, row := range o.rows {
		if !row.final() {
			return false
		}
	}
	return true
}
