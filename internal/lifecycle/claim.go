package lifecycle

import (
	"context"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/store"
)

// Claim leases due jobs as store.Queries.ClaimJobs does, and calls start for each
// admitted one in the same transaction. start may be called again for a job if the
// transaction is repeated.
func (s *Service) Claim(ctx context.Context, claim job.Claim, start func(*Change) error) (claimed job.Claimed, err error) {
	var changes []*Change
	err = s.Store.Write(ctx, func(q *store.Queries) (err error) {
		changes = changes[:0]
		consumers := make(map[uuid.UUID]account.Consumer)
		claimed, err = q.ClaimJobs(ctx, claim, func(r *job.Record) error {
			c := &Change{Record: *r, before: *r, Now: s.Now(), q: q, attempt: r.Attempt, transcribe: s.Transcribe, sender: s.Sender, consumers: consumers}
			changes = append(changes, c)
			err := start(c)
			*r = c.Record
			return err
		})
		return err
	})
	if err != nil {
		return job.Claimed{}, err
	}
	for _, c := range changes {
		if len(c.applied) > 0 {
			s.publish(*c)
		}
	}
	return claimed, nil
}
