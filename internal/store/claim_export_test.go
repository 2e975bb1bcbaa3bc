package store

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"standin/internal/job"
)

// DueWithoutAdmission selects the jobs that ClaimJobs leases beside admitted ones.
func (q *Queries) DueWithoutAdmission(ctx context.Context, claim job.Claim) ([]uuid.UUID, error) {
	where, args := dueCondition(claim)
	return list(ctx, q, scanColumn[uuid.UUID], `SELECT id FROM jobs WHERE `+needsNoAdmission+where+` LIMIT $1 + 0`,
		slices.Concat([]any{claim.Limit}, args)...)
}
