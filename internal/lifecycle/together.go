package lifecycle

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/store"
)

const (
	// maxTogether is the maximum number of changes that share a transaction.
	maxTogether = 128
	// maxGroups is how many such transactions run at once.
	maxGroups = 2
	// maxTries is how often a group runs before each of its changes runs alone.
	maxTries = 3
)

// together collects changes of different jobs that share transactions.
type together struct {
	mu      sync.Mutex
	waiting []*sharedChange
	groups  int // that run
}

// sharedChange is a change that shares its transaction.
type sharedChange struct {
	ctx  context.Context
	id   uuid.UUID
	done chan struct{}

	prepare func(*store.Queries) error // nil for none
	fn      func(*Change) error

	alone  bool // it must run in its own transaction
	change Change
	err    error
}

// ChangeTogether is like Change, and shares a transaction with the calls for
// other jobs that are waiting. It is for many changes at once: the database does
// less for each of them. A change that fails does not affect the others, and one
// whose job is locked by another transaction does not delay them: these run in
// their own transactions.
func (s *Service) ChangeTogether(ctx context.Context, id uuid.UUID, fn func(*Change) error) (job.Record, error) {
	return s.changeTogether(ctx, id, nil, fn)
}

// changeTogether is like ChangeTogether. It first calls prepare, which queues the
// queries whose results fn uses; nil for none. Those of all changes in a
// transaction are sent together, after the statement that locks the jobs.
func (s *Service) changeTogether(ctx context.Context, id uuid.UUID, prepare func(*store.Queries) error, fn func(*Change) error) (job.Record, error) {
	c := &sharedChange{ctx: ctx, id: id, prepare: prepare, fn: fn, done: make(chan struct{})}
	s.together.mu.Lock()
	s.together.waiting = append(s.together.waiting, c)
	start := s.together.groups < maxGroups
	if start {
		s.together.groups++
	}
	s.together.mu.Unlock()
	if start {
		go s.runGroups() // ends with the last waiting change
	}
	<-c.done
	switch {
	case c.alone:
		return s.change(ctx, id, prepare, fn)
	case c.err != nil:
		return job.Record{}, c.err
	}
	s.publish(c.change)
	return c.change.Record, nil
}

// runGroups runs groups of the waiting changes until none is left.
func (s *Service) runGroups() {
	for {
		s.together.mu.Lock()
		n := min(len(s.together.waiting), maxTogether)
		group := s.together.waiting[:n:n]
		s.together.waiting = s.together.waiting[n:]
		if n == 0 {
			s.together.waiting = nil
			s.together.groups--
		}
		s.together.mu.Unlock()
		if n == 0 {
			return
		}
		s.changeGroup(group)
		for _, c := range group {
			close(c.done)
		}
	}
}

// changeGroup runs changes in one transaction. If one of them fails, the others
// run again without it.
func (s *Service) changeGroup(group []*sharedChange) {
	ids := make(map[uuid.UUID]bool, len(group))
	var rest []*sharedChange
	for _, c := range group {
		switch {
		case c.ctx.Err() != nil:
			c.err = c.ctx.Err()
		case ids[c.id]:
			c.alone = true
		default:
			ids[c.id] = true
			rest = append(rest, c)
		}
	}
	for tries := 1; len(rest) > 0; tries++ {
		failed, err := s.tryGroup(rest)
		if err == nil {
			return
		}
		for _, c := range rest {
			c.alone = failed == nil || c == failed || tries == maxTries
		}
		rest = withoutAlone(rest)
	}
}

func withoutAlone(group []*sharedChange) (rest []*sharedChange) {
	for _, c := range group {
		if !c.alone {
			rest = append(rest, c)
		}
	}
	return rest
}

// tryGroup runs changes in one transaction. After an error it returns the change
// that caused it; nil when the error is not that of a single change.
func (s *Service) tryGroup(group []*sharedChange) (failed *sharedChange, err error) {
	ids := make([]uuid.UUID, len(group))
	for i, c := range group {
		ids[i] = c.id
	}
	ctx := context.Background() // the changes have different ones; the store bounds the transaction
	err = s.Store.Write(ctx, func(q *store.Queries) error {
		failed = nil
		jobs := make(map[uuid.UUID]job.Record, len(ids))
		if err := q.LockFreeJobs(ctx, ids, jobs); err != nil {
			return err
		}
		for _, c := range group {
			if c.prepare == nil {
				continue
			}
			if err := c.prepare(q); err != nil {
				failed = c
				return err
			}
		}
		if err := q.Flush(ctx); err != nil {
			return err
		}
		now, consumers := s.Now(), make(map[uuid.UUID]account.Consumer)
		for _, c := range group {
			r, found := jobs[c.id]
			if c.alone = !found; c.alone {
				continue // it is locked, or does not exist
			}
			c.change = Change{Record: r, before: r, Now: now, q: q, attempt: r.Attempt, transcribe: s.Transcribe, sender: s.Sender, consumers: consumers}
		}
		changes := make([]store.JobChange, 0, len(group))
		for _, c := range group {
			if c.alone {
				continue
			}
			if err := c.fn(&c.change); err != nil {
				failed = c
				return err
			}
			changes = append(changes, store.JobChange{Before: c.change.before, After: c.change.Record})
		}
		return q.SaveJobChanges(ctx, changes)
	})
	return failed, err
}
