package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"standin/internal/job"
)

// Limits of the journal. Acknowledgments have no limit of their own: there is at
// most one for each event, file and command.
const (
	maxEventData   = 256 << 10 // the service accepts bodies of at most 1 MiB
	maxJournal     = 64 << 20
	maxCommandID   = 200
	maxRefusalText = 1000
)

// Event is a lifecycle event of the bot.
type Event struct {
	Number    int64 // 1, 2, … in the order of emission
	Kind      job.Trigger
	EmittedAt time.Time       // UTC, whole milliseconds, later than the event before
	Data      json.RawMessage // a JSON object, or empty
}

// events is the queue of events that the service has not acknowledged.
type events struct {
	mutex   sync.Mutex
	owner   string
	number  int64 // number of the last event
	at      int64 // time of the last event, Unix milliseconds
	waiting []Event
}

// AppendEvent adds an event to the queue and syncs it to the disk. data must
// encode to a JSON object, or be nil. The time of the event is the clock's, or
// one millisecond after the previous event if the clock was set back.
func (s *Spool) AppendEvent(kind job.Trigger, data any) (Event, error) {
	if !slices.Contains(job.BotTriggers(), kind) {
		return Event{}, fmt.Errorf("append event: %q is not an event of bots", kind)
	}
	encoded, err := encodeObject(data)
	if err != nil {
		return Event{}, fmt.Errorf("append event %s: %w", kind, err)
	}
	if used := s.journal.length(); used > maxJournal {
		return Event{}, &FullError{Limit: maxJournal, Used: used, Wanted: int64(len(encoded))}
	}

	q := &s.events
	q.mutex.Lock()
	defer q.mutex.Unlock()
	r := eventRecord{Number: q.number + 1, Kind: kind, At: max(s.now().UnixMilli(), q.at+1), Data: encoded}
	if err := s.journal.append(record{Event: &r}); err != nil {
		return Event{}, fmt.Errorf("append event %s: %w", kind, err)
	}
	event := q.add(r)
	s.changes.notify()
	return event, nil
}

// NextEvent returns the oldest unacknowledged event; ok is false if there is none.
func (s *Spool) NextEvent() (event Event, ok bool) {
	s.events.mutex.Lock()
	defer s.events.mutex.Unlock()
	if len(s.events.waiting) == 0 {
		return Event{}, false
	}
	return s.events.waiting[0], true
}

// WaitingEvents returns the number of unacknowledged events.
func (s *Spool) WaitingEvents() int {
	s.events.mutex.Lock()
	defer s.events.mutex.Unlock()
	return len(s.events.waiting)
}

// AckEvent removes the event that NextEvent returned: the service has it. If it
// returns an error, the event is removed too, but is sent again after a restart;
// the service ignores duplicates.
func (s *Spool) AckEvent(number int64) error { return s.endEvent(number, "") }

// RejectEvent removes an event that the service refuses, so that later ones can be
// sent. The journal keeps the reason.
func (s *Spool) RejectEvent(number int64, reason string) error {
	return s.endEvent(number, truncate(reason, maxRefusalText))
}

func (s *Spool) endEvent(number int64, refusal string) error {
	q := &s.events
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.waiting) == 0 || q.waiting[0].Number != number {
		return fmt.Errorf("acknowledge event %d: it is not the next event", number)
	}
	q.waiting = q.waiting[1:]
	s.changes.notify()
	if err := s.journal.append(record{Acked: number, Refusal: refusal}); err != nil {
		return fmt.Errorf("acknowledge event %d: %w", number, err)
	}
	return nil
}

func (q *events) add(r eventRecord) Event {
	event := Event{Number: r.Number, Kind: r.Kind, EmittedAt: time.UnixMilli(r.At).UTC(), Data: r.Data}
	q.number, q.at = r.Number, r.At
	q.waiting = append(q.waiting, event)
	return event
}

func (q *events) replay(r record) {
	switch {
	case r.Owner != "":
		q.owner = r.Owner
	case r.Event != nil && r.Event.Number > q.number && r.Event.At > q.at:
		q.add(*r.Event)
	case r.Acked > 0:
		for len(q.waiting) > 0 && q.waiting[0].Number <= r.Acked {
			q.waiting = q.waiting[1:]
		}
	}
}

func (q *events) bind(j *journal, owner string) error {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	switch {
	case owner == "":
		return errors.New("bind spool: the owner is empty")
	case q.owner == owner:
		return nil
	case q.owner != "":
		return fmt.Errorf("bind spool to %s: it belongs to %s", owner, q.owner)
	}
	if err := j.append(record{Owner: owner}); err != nil {
		return fmt.Errorf("bind spool to %s: %w", owner, err)
	}
	q.owner = owner
	return nil
}

// encodeObject encodes data, which must be an object or null.
func encodeObject(data any) (json.RawMessage, error) {
	if data == nil {
		return nil, nil
	}
	encoded, err := json.Marshal(data)
	switch {
	case err != nil:
		return nil, fmt.Errorf("encode the data: %w", err)
	case string(encoded) == "null":
		return nil, nil
	case encoded[0] != '{':
		return nil, errors.New("the data is not a JSON object")
	case len(encoded) > maxEventData:
		return nil, fmt.Errorf("the data has %d bytes, more than %d", len(encoded), maxEventData)
	}
	return encoded, nil
}

// truncate cuts text to at most limit bytes.
func truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return text[:limit]
}
