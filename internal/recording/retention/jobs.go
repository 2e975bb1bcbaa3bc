package retention

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// eraseJobs erases the jobs of a consumer whose retention has passed. A job is erased with its
// timeline, commands and webhook deliveries, once nothing of its recording is stored and no
// webhook is waiting.
func (c *Cleaner) eraseJobs(ctx context.Context, consumer uuid.UUID, period Period) error {
	return errors.Join(
		c.Store.EraseConsumerDeliveries(ctx, consumer, c.Now().Add(-time.Duration(period))),
		c.deleteEnded(ctx, consumer, period, c.Store.ErasableJobs, func(ctx context.Context, id uuid.UUID) error {
			if err := c.Files.DeleteRecording(ctx, id); err != nil { // attempts without a manifest may have left uploads
				return err
			}
			return c.Store.EraseJob(ctx, id, c.Now())
		}))
}

// DeleteConsumer deletes a consumer and everything of it: recordings, jobs,
// users, keys and payments. It returns the number of deleted jobs. The error is
// a *job.Error with InvalidState while jobs of the consumer have not ended. A job
// that cannot be deleted does not stop the deletion of the others, only that of the
// consumer. It may be repeated after an error.
func (c *Cleaner) DeleteConsumer(ctx context.Context, consumer uuid.UUID) (jobs int, failure error) {
	if err := c.Store.RetireConsumer(ctx, consumer, c.Now()); err != nil {
		return 0, err
	}
	for after := uuid.Nil; ; {
		ids, err := c.Store.ConsumerJobs(ctx, consumer, after, batch)
		if err != nil {
			return jobs, err
		}
		for _, after = range ids {
			if err := c.Files.DeleteRecording(ctx, after); err != nil {
				failure = err
			} else if err := c.Store.DeleteJob(ctx, after); err != nil {
				failure = err
			} else {
				jobs++
			}
		}
		switch {
		case len(ids) == batch:
		case failure != nil:
			return jobs, failure
		default:
			return jobs, c.Store.DeleteConsumer(ctx, consumer)
		}
	}
}
