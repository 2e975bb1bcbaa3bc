package store

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// checkpointDelay is how long after a commit a checkpoint starts. Pages that
	// change again meanwhile are copied once.
	checkpointDelay = 250 * time.Millisecond
	// maxLogPages is the number of pages in the -wal file, of 4 KiB each, from which
	// the writer copies the last pages itself, so that SQLite can overwrite the file:
	// writes that run beside a checkpoint leave pages to the next one.
	maxLogPages = 4000
	// autoCheckpointPages is the number of pages from which a commit waits for a
	// complete checkpoint, in case the checkpoints beside the writes fail.
	autoCheckpointPages = 5 * maxLogPages
)

// checkpointQuery copies pages without waiting for reads or writes.
const checkpointQuery = `PRAGMA wal_checkpoint(PASSIVE)`

// checkpoints copies the pages of the -wal file into the database file beside the
// writes, which would otherwise wait for each checkpoint.
type checkpoints struct {
	db      *sql.DB
	waiting chan struct{} // has an element after a commit
	full    atomic.Bool   // the -wal file has maxLogPages
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
			var busy, pages, copied int
			// A failure leaves the pages to a later checkpoint.
			_ = c.db.QueryRowContext(context.Background(), checkpointQuery).Scan(&busy, &pages, &copied)
			c.full.Store(pages >= maxLogPages)
		case <-c.closing:
			return
		}
	}
}
