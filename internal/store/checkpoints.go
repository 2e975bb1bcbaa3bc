package store

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

const (
	// checkpointDelay is how long after a commit a checkpoint starts. Pages that
	// change again meanwhile are copied once.
	checkpointDelay = time.Second
	// maxLogPages is the number of pages in the -wal file, of 4 KiB each, from which
	// a commit waits for a checkpoint itself. SQLite's default is 1000.
	maxLogPages = 8000
)

// checkpoints copies the pages of the -wal file into the database file beside the
// writes, which would otherwise wait for each checkpoint.
type checkpoints struct {
	db      *sql.DB
	waiting chan struct{} // has an element after a commit
	closing chan struct{}
	once    sync.Once
	done    sync.WaitGroup
}

func newCheckpoints(db *sql.DB) *checkpoints {
	c := &checkpoints{db: db, waiting: make(chan struct{}, 1), closing: make(chan struct{})}
	c.done.Go(c.run)
	return c
}

// committed makes a checkpoint follow.
func (c *checkpoints) committed() {
	select {
	case c.waiting <- struct{}{}:
	default:
	}
}

func (c *checkpoints) close() {
	c.once.Do(func() { close(c.closing) })
	c.done.Wait()
}

func (c *checkpoints) run() {
	for {
		select {
		case <-c.waiting:
		case <-c.closing:
			return
		}
		select {
		case <-time.After(checkpointDelay):
			// A failure leaves the pages to a later checkpoint.
			_, _ = c.db.ExecContext(context.Background(), `PRAGMA wal_checkpoint(PASSIVE)`)
		case <-c.closing:
			return
		}
	}
}
