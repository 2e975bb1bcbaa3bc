package retention

import (
	"context"
	"time"

	"github.com/google/uuid"

	"standin/internal/store"
)

// eraseJobs erases the jobs whose retention has passed, and returns the time until
// it is to run again. A job is erased with its timeline, commands and webhook deliveries, once
// nothing of its recording is stored and no webhook is waiting.
func (c *Cleaner) eraseJobs(ctx context.Context) time.Duration {
	wait := maxSleep
	consumers, err := c.Store.ConsumerRetentions(ctx)
	if err != nil {
		c.logError(ctx, uuid.Nil, "cannot read the retention of jobs", err)
		return retryDelay
	}
	for _, consumer := range consumers {
		period := c.JobRetention
		if consumer.JobRetention != nil {
			period = Period(*consumer.JobRetention)
		}
		until := c.Now().Add(-time.Duration(period))
		if period == Forever {
			continue
		}
		if err := c.Store.EraseConsumerDeliveries(ctx, consumer.ConsumerID, until); err != nil {
			c.logError(ctx, uuid.Nil, "cannot erase old webhooks; retrying", err)
			wait = retryDelay
		}
		if consumer.OldestJob.IsZero() || consumer.OldestJob.After(until) {
			continue
		}
		if err := c.eraseJobsOf(ctx, consumer.ConsumerID, until); err != nil {
			c.logError(ctx, uuid.Nil, "cannot erase old jobs; retrying", err)
			wait = retryDelay
		}
	}
	return wait
}

// eraseJobsOf erases the jobs of a consumer that ended by a time.
func (c *Cleaner) eraseJobsOf(ctx context.Context, consumer uuid.UUID, until time.Time) error {
	erased := 0
	var after store.EndedJob
	for {
		jobs, err := c.Store.ErasableJobs(ctx, consumer, until, after, batch)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			after = job
			// Attempts without a manifest may have left uploads.
			if err := c.Files.DeleteRecording(ctx, job.JobID); err != nil {
				return err
			}
			if err := c.Store.EraseJob(ctx, job.JobID, c.Now()); err != nil {
				return err
			}
			erased++
		}
		if len(jobs) < batch {
			break
		}
	}
	if erased > 0 {
		c.Log.Info("old jobs erased", "consumer", consumer, "jobs", erased)
	}
	return nil
}

// DeleteConsumer deletes a consumer and everything of it: recordings, jobs,
// users, keys and payments. It returns the number of deleted jobs. The error is
// a *job.Error with InvalidState while jobs of the consumer have not ended. It
// may be repeated after an error.
func (c *Cleaner) DeleteConsumer(ctx context.Context, consumer uuid.UUID) (jobs int, err error) {
	if err := c.Store.RetireConsumer(ctx, consumer, c.Now()); err != nil {
		return 0, err
	}
	for {
		ids, err := c.Store.ConsumerJobs(ctx, consumer, batch)
		if err != nil {
			return jobs, err
		}
		for _, id := range ids {
			if err := c.Files.DeleteRecording(ctx, id); err != nil {
				return jobs, err
			}
			if err := c.Store.DeleteJob(ctx, id); err != nil {
				return jobs, err
			}
			jobs++
		}
		if len(ids) < batch {
			return jobs, c.Store.DeleteConsumer(ctx, consumer)
		}
	}
}
