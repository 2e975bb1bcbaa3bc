package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/webhook"
)

// dueDelivery is a delivery that is looked at for a claim.
type dueDelivery struct {
	webhook.Delivery
	behind bool // waits for an earlier one
}

// ClaimDeliveries implements webhook.Outbox.
func (s *Store) ClaimDeliveries(ctx context.Context, claim webhook.Claim) (taken []webhook.Delivery, more bool, err error) {
	err = s.Write(ctx, func(q *Queries) error {
		due, err := q.dueDeliveries(ctx, claim)
		if err != nil {
			return err
		}
		more = len(due) == claim.Limit
		var later map[time.Duration][]string
		taken, later = judge(due, claim, more)
		if err := q.putOff(ctx, claim.Now, later); err != nil {
			return err
		}
		if err := q.lease(ctx, claim, taken); err != nil {
			return err
		}
		return q.fillSecrets(ctx, taken)
	})
	if err != nil {
		return nil, false, err
	}
	return taken, more, nil
}

// dueDeliveries returns what is due, longest due first. It uses the index
// deliveries_due, and deliveries_ahead for each row.
func (q *Queries) dueDeliveries(ctx context.Context, claim webhook.Claim) ([]dueDelivery, error) {
	due := make([]dueDelivery, 0, claim.Limit)
	err := q.collect(ctx, func(rows *sql.Rows) error {
		var behind bool
		d, err := scanDelivery(withMore{rows, &behind})
		due = append(due, dueDelivery{Delivery: d, behind: behind})
		return err
	}, `
		SELECT `+deliveryColumns+`, EXISTS (
			SELECT 1 FROM deliveries ahead
			WHERE ahead.endpoint = d.endpoint AND ahead.job_id = d.job_id AND ahead.sequence < d.sequence
				AND ahead.state = 'waiting' AND ahead.failures < $2)
		FROM deliveries d WHERE d.due_at <= $1 ORDER BY d.due_at LIMIT $3`+q.skip,
		millis(claim.Now), webhook.ReorderAfterFailures, claim.Limit)
	if err != nil {
		return nil, fmt.Errorf("find due deliveries: %w", err)
	}
	return due, nil
}

// withMore scans one more column behind those of another scan.
type withMore struct {
	rows *sql.Rows
	more any
}

func (w withMore) Scan(columns ...any) error { return w.rows.Scan(append(columns, w.more)...) }

// waitSteps is how exact the due times are of what is put off: few different
// ones make few statements.
const waitSteps = 250 * time.Millisecond

// judge tells what a claim takes, and by how much it puts off the rest.
func judge(due []dueDelivery, claim webhook.Claim, more bool) (taken []webhook.Delivery, later map[time.Duration][]string) {
	admit := func(webhook.Delivery) (bool, time.Duration) { return true, 0 }
	if claim.Admit != nil {
		admit = claim.Admit()
	}
	lease, until := uuid.NewString(), claim.Now.Add(claim.Lease)
	later = make(map[time.Duration][]string)
	for _, d := range due {
		admitted, wait := false, time.Duration(0)
		if !d.behind {
			admitted, wait = admit(d.Delivery)
		}
		if admitted {
			d.Lease, d.LeasedTo = lease, until
			d.Attempt++
			taken = append(taken, d.Delivery)
		} else if by := webhook.DeferFor(wait, more); by > 0 {
			by = (by + waitSteps - 1).Truncate(waitSteps)
			later[by] = append(later[by], d.ID)
		}
	}
	return taken, later
}

// putOff moves due times.
func (q *Queries) putOff(ctx context.Context, now time.Time, later map[time.Duration][]string) error {
	for by, ids := range later {
		err := q.update(ctx, ids, []any{millis(now.Add(by))}, func(places string) string {
			return `UPDATE deliveries SET due_at = $1 WHERE id IN (` + places + `)`
		})
		if err != nil {
			return fmt.Errorf("put deliveries off: %w", err)
		}
	}
	return nil
}

// lease marks deliveries as taken.
func (q *Queries) lease(ctx context.Context, claim webhook.Claim, taken []webhook.Delivery) error {
	if len(taken) == 0 {
		return nil
	}
	ids := make([]string, len(taken))
	for i, d := range taken {
		ids[i] = d.ID
	}
	err := q.update(ctx, ids, []any{taken[0].Lease, millis(claim.Now.Add(claim.Lease))}, func(places string) string {
		return `UPDATE deliveries SET lease = $1, attempt = attempt + 1, due_at = $2 WHERE id IN (` + places + `)`
	})
	if err != nil {
		return fmt.Errorf("lease deliveries: %w", err)
	}
	return nil
}

// groupSizes are how many rows one statement is about: few sizes, so that the
// databases know the statements again, and none large, because SQLite looks each
// placeholder up among all others of its statement.
var groupSizes = [...]int{32, 8, 1}

// nextGroup returns how many of n rows the next statement is about.
func nextGroup(n int) int {
	for _, size := range groupSizes {
		if n >= size {
			return size
		}
	}
	return 0
}

// inGroups runs a statement for groups of ids, whose placeholders follow those
// of args.
func (q *Queries) inGroups(ctx context.Context, ids []string, args []any, run func(ctx context.Context, places string, args []any) error) error {
	for size := nextGroup(len(ids)); size > 0; size = nextGroup(len(ids)) {
		all := append(make([]any, 0, len(args)+size), args...)
		var places strings.Builder
		for i, id := range ids[:size] {
			if i > 0 {
				places.WriteString(", ")
			}
			all = append(all, id)
			fmt.Fprintf(&places, "$%d", len(all))
		}
		if err := run(ctx, places.String(), all); err != nil {
			return err
		}
		ids = ids[size:]
	}
	return nil
}

// update runs an update for groups of ids.
func (q *Queries) update(ctx context.Context, ids []string, args []any, statement func(places string) string) error {
	return q.inGroups(ctx, ids, args, func(ctx context.Context, places string, all []any) error {
		_, err := q.exec(ctx, statement(places), all...)
		return err
	})
}

// fillSecrets gives each delivery its consumer's secrets.
func (q *Queries) fillSecrets(ctx context.Context, deliveries []webhook.Delivery) error {
	known := make(map[uuid.UUID][]webhook.Secret)
	for i, d := range deliveries {
		secrets, ok := known[d.ConsumerID]
		if !ok {
			consumer, err := q.Consumer(ctx, d.ConsumerID)
			if err != nil {
				return fmt.Errorf("find the secrets for delivery %s: %w", d.ID, err)
			}
			secrets = []webhook.Secret{{Value: consumer.WebhookSecret}}
			if consumer.PreviousWebhookSecret != "" {
				secrets = append(secrets, webhook.Secret{Value: consumer.PreviousWebhookSecret, ExpiresAt: consumer.PreviousSecretExpires})
			}
			known[d.ConsumerID] = secrets
		}
		deliveries[i].Secrets = secrets
	}
	return nil
}

// ReleaseDeliveries implements webhook.Outbox.
func (s *Store) ReleaseDeliveries(ctx context.Context, deliveries []webhook.Delivery) error {
	ofLease := make(map[string][]string)
	for _, d := range deliveries {
		ofLease[d.Lease] = append(ofLease[d.Lease], d.ID)
	}
	return s.Write(ctx, func(q *Queries) error {
		for lease, ids := range ofLease {
			err := q.update(ctx, ids, []any{lease}, func(places string) string {
				return `UPDATE deliveries SET lease = '', attempt = attempt - 1, due_at = emitted_at WHERE lease = $1 AND id IN (` + places + `)`
			})
			if err != nil {
				return fmt.Errorf("release deliveries: %w", err)
			}
		}
		return nil
	})
}
