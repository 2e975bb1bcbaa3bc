package spool

import (
	"fmt"
	"sync"

	"standin/internal/base/text"
)

const (
	maxEntry       = 256 << 10 // the service accepts bodies of at most 1 MiB
	maxRefusalText = 1000
)

// Entry is an entry of a Queue: an Event or Texts.
type Entry interface {
	fmt.Stringer     // names the entry in logs
	sequence() int64 // 1, 2, … in the order of the queue
}

// Queue holds the entries that the service has not acknowledged, in order. It is safe for
// concurrent use.
type Queue[T Entry] struct {
	spool  *Spool
	record func(*queueChange[T]) record // wraps a change for the journal
	limit  int64                        // size of the journal above which no entry is added

	mutex   sync.Mutex
	last    T // the newest entry, acknowledged or not
	waiting []T
}

// queueChange is a change of a queue in the journal.
type queueChange[T Entry] struct {
	Added   *T     `json:"added,omitempty"`
	Ended   int64  `json:"ended,omitempty"`   // the entries up to this one are acknowledged or rejected
	Refusal string `json:"refusal,omitempty"` // why the service rejected the entry Ended
}

// add adds the entry that next returns, with an encoding of that many bytes, and syncs it to the disk.
func (q *Queue[T]) add(size int, next func(last T) T) (added T, err error) {
	if size > maxEntry {
		return added, fmt.Errorf("it has %d bytes, more than %d", size, maxEntry)
	}
	// What is acknowledged is left out of the journal. Until that works, the journal is only longer.
	event, texts := q.spool.Events.first(), q.spool.Texts.first()
	_ = q.spool.journal.compact(q.spool.writeScratch, func(r record) bool { return r.Events.counts(event) && r.Texts.counts(texts) })
	if used := q.spool.journal.length(); used > q.limit {
		return added, &FullError{Limit: q.limit, Used: used, Wanted: int64(size)}
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	added = next(q.last)
	if err := q.spool.journal.append(q.record(&queueChange[T]{Added: &added})); err != nil {
		return added, err
	}
	q.keep(added)
	q.spool.changes.Announce()
	return added, nil
}

// Next returns the oldest entry; ok is false if there is none.
func (q *Queue[T]) Next() (next T, ok bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.waiting) == 0 {
		return next, false
	}
	return q.waiting[0], true
}

// Waiting returns the number of entries.
func (q *Queue[T]) Waiting() int {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return len(q.waiting)
}

// End removes the entry that Next returned: the service has it or, with a reason, refuses it. If
// it returns an error, the entry is removed too, but is sent again after a restart; the service
// ignores duplicates.
func (q *Queue[T]) End(entry T, refusal string) error {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.waiting) == 0 || q.waiting[0].sequence() != entry.sequence() {
		return fmt.Errorf("acknowledge %s: it is not the next one", entry)
	}
	q.waiting = q.waiting[1:]
	q.spool.changes.Announce()
	change := &queueChange[T]{Ended: entry.sequence(), Refusal: text.Cut(refusal, maxRefusalText)}
	return q.spool.journal.append(q.record(change))
}

// first returns the number of the oldest entry that waits, or of the newest if none does.
func (q *Queue[T]) first() int64 {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.waiting) > 0 {
		return q.waiting[0].sequence()
	}
	return q.last.sequence()
}

// counts reports whether a change is needed to restore a queue whose first entry has a number.
func (c *queueChange[T]) counts(first int64) bool {
	return c == nil || c.Ended >= first || c.Added != nil && (*c.Added).sequence() >= first
}

func (q *Queue[T]) keep(added T) {
	q.last = added
	q.waiting = append(q.waiting, added)
}

func (q *Queue[T]) replay(change *queueChange[T]) {
	if change == nil {
		return
	}
	if change.Added != nil && (*change.Added).sequence() > q.last.sequence() {
		q.keep(*change.Added)
	}
	for len(q.waiting) > 0 && q.waiting[0].sequence() <= change.Ended {
		q.waiting = q.waiting[1:]
	}
}
