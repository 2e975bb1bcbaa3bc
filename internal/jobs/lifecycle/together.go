package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/batch"
	"standin/internal/jobs/job"
	"standin/internal/store"
)

// call is a call of Service.Change, which may share its transaction with others.
type call struct {
	id     uuid.UUID
	fn     func(context.Context, *Change) error
	alone  bool // it must have its own transaction
	change *Change
	err    error
}

const (
	maxTogether     = 256 // calls of Change that share a transaction
	togetherTimeout = 5 * time.Second
)

// Change locks the job and calls fn. It saves the job as fn leaves it, unless fn
// returns an error, and after the commit wakes whoever has to act. fn may be called
// more than once. Calls that arrive at the same time share a transaction: many jobs are due, and
// many bots report something, at the same moment.
func (s *Service) Change(ctx context.Context, id uuid.UUID, fn func(context.Context, *Change) error) (job.Record, error) {
	c := &call{id: id, fn: fn}
	err := s.changes.Do(ctx, c)
	if errors.Is(err, batch.ErrFailed) || c.alone {
		return s.changeAlone(ctx, id, fn)
	}
	return s.finish(ctx, c.change, cmp.Or(err, c.err))
}

// changeAlone is Change in a transaction of its own. It is for a fn that takes long.
func (s *Service) changeAlone(ctx context.Context, id uuid.UUID, fn func(context.Context, *Change) error) (job.Record, error) {
	var c *Change
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.LockJob(ctx, id)
		if err != nil {
			return err
		}
		c = s.newChange(tx, r)
		if err := fn(ctx, c); err != nil {
			return err
		}
		return c.save(ctx)
	})
	return s.finish(ctx, c, err)
}

func (s *Service) finish(ctx context.Context, c *Change, err error) (job.Record, error) {
	if err != nil {
		return job.Record{}, err
	}
	s.publish(ctx, c)
	return c.Record, nil
}

// changeTogether runs calls in one transaction. Those of jobs that another transaction has locked do
// not share it.
func (s *Service) changeTogether(ctx context.Context, calls []*call) error {
	var ids []uuid.UUID
	for _, c := range calls {
		c.alone = slices.Contains(ids, c.id) // the other one is first
		if !c.alone {
			ids = append(ids, c.id)
		}
	}
	complete := false
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		complete = false // of a repeated transaction
		jobs, err := tx.LockFreeJobs(ctx, ids)
		if err != nil {
			return err
		}
		var changed []store.JobChange
		teams := &teams{}
		for _, r := range jobs {
			teams.ids = append(teams.ids, r.ConsumerID)
		}
		for _, c := range calls {
			r, found := jobs[c.id]
			if c.alone = c.alone || !found; c.alone {
				continue
			}
			c.change = s.newChange(tx, r)
			c.change.teams = teams
			written := tx.Written()
			if c.err = c.fn(ctx, c.change); c.err == nil {
				changed = append(changed, c.change.JobChange)
			} else if tx.Written() > written {
				return c.err // so that it is rolled back
			}
		}
		err = tx.SaveJobs(ctx, changed...)
		complete = err == nil
		return err
	})
	if !complete {
		return err
	}
	for _, c := range calls { // of a commit that may have succeeded, nothing is repeated
		c.err = cmp.Or(c.err, err)
	}
	return nil
}
