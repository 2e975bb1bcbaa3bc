package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/webhook"
)

// FindDue runs the query of a claim.
func (q *Queries) FindDue(ctx context.Context, claim webhook.Claim) error {
	_, err := q.dueDeliveries(ctx, claim)
	return err
}

// FindFailed runs the query of RedeliverFailed.
func (q *Queries) FindFailed(ctx context.Context, consumer uuid.UUID, filter webhook.FailedFilter, now time.Time) error {
	_, err := q.failedDeliveries(ctx, consumer, job.Live, filter, now)
	return err
}

// Tries returns the tries of a delivery, oldest first.
func (q *Queries) Tries(ctx context.Context, id string) ([]webhook.Try, error) {
	return list(ctx, q, scanTry, selectTries+`= $1 ORDER BY number`, id)
}
