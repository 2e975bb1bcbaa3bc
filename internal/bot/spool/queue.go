package spool

import (
	"fmt"
	"sync"

	"standin/internal/text"
)

const (
	maxEntry       = 256 << 10 // the service accepts bodies of at most 1 MiB
	maxRefusalText = 1000
	// fewWaiting is below how many waiting entries the journal may be compacted.
	fewWaiting = 100
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

	mutex sync.Mutex
	entries[T]
}

// entries are those of a queue.
type entries[T Entry] struct {
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
	q.spool.changes.notify()
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
	q.spool.changes.notify()
	if err := q.spool.journal.append(q.record(&queueChange[T]{
		Ended: entry.sequence(), Refusal: text.Cut(refusal, maxRefusalText),
	})); err != nil {
		return fmt.Errorf("acknowledge %s: %w", entry, err)
	}
	if len(q.waiting) < fewWaiting {
		if err := q.spool.journal.compact(q.spool.ScratchDir()); err != nil {
			return fmt.Errorf("compact the journal: %w", err)
		}
	}
	return nil
}

func (q *entries[T]) keep(added T) {
	q.last = added
	q.waiting = append(q.waiting, added)
}

func (q *entries[T]) replay(change *queueChange[T]) {
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

// changes returns the fewest changes that replay to the entries.
func (q *entries[T]) changes() (changes []*queueChange[T]) {
	if last := q.last.sequence(); last > 0 && len(q.waiting) == 0 {
		return []*queueChange[T]{{Added: &q.last, Ended: last}}
	}
	for i := range q.waiting {
		changes = append(changes, &queueChange[T]{Added: &q.waiting[i]})
	}
	return changes
}
