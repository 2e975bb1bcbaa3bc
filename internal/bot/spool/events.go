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

// Bounds of what the journal takes. Acknowledgements are not bounded by them:
// there is at most one for each thing accepted.
const (
	maxEventData   = 256 << 10 // the service reads bodies of at most 1 MiB (contract, Errors and limits)
	maxJournal     = 64 << 20
	maxCommandID   = 200
	maxRefusalText = 1000
)

// Event is one thing that happened to the bot, as it will be told.
type Event struct {
	Number    int64 // 1, 2, …, in the order of emission
	Kind      job.Trigger
	EmittedAt time.Time       // UTC, whole milliseconds, later than the event before
	Data      json.RawMessage // a JSON object, or nothing
}

// events is the queue of events that the service has not answered yet.
type events struct {
	mutex   sync.Mutex
	owner   string
	number  int64 // of the last event
	at      int64 // its time, Unix milliseconds
	waiting []Event
}

// AppendEvent adds an event at the end of the queue; it will be sent, whatever
// happens to this process. data is anything that encodes to a JSON object, or
// nil. The time of the event is the clock's, or a millisecond after the event
// before when the clock has not moved on or was set back.
func (s *Spool) AppendEvent(kind job.Trigger, data any) (Event, error) {
	if !slices.Contains(job.BotTriggers(), kind) {
		return Event{}, fmt.Errorf("append event: bots do not report %q", kind)
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
	s.changes.tell()
	return event, nil
}

// NextEvent returns the oldest event that was not acknowledged; ok is false
// when there is none.
func (s *Spool) NextEvent() (event Event, ok bool) {
	s.events.mutex.Lock()
	defer s.events.mutex.Unlock()
	if len(s.events.waiting) == 0 {
		return Event{}, false
	}
	return s.events.waiting[0], true
}

// WaitingEvents is how many events were not acknowledged.
func (s *Spool) WaitingEvents() int {
	s.events.mutex.Lock()
	defer s.events.mutex.Unlock()
	return len(s.events.waiting)
}

// AckEvent takes the event that NextEvent returned off the queue: the service
// has it. If that cannot be written down the event is off the queue all the
// same, and the error says so: after a restart it would be sent once more,
// which the service recognises.
func (s *Spool) AckEvent(number int64) error { return s.endEvent(number, "") }

// SetEventAside takes the event off the queue although the service refused it,
// so that those behind it can go on. The journal keeps the reason.
func (s *Spool) RejectEvent(number int64, reason string) error {
	return s.endEvent(number, truncate(reason, maxRefusalText))
}

func (s *Spool) endEvent(number int64, refusal string) error {
	q := &s.events
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.waiting) == 0 || q.waiting[0].Number != number {
		return fmt.Errorf("acknowledge event %d: it is not the next", number)
	}
	q.waiting = q.waiting[1:]
	s.changes.tell()
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
		return errors.New("bind spool: the owner has no name")
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

// encodeObject encodes data, which must come out as an object (specification,
// IngestEvent) or as nothing.
func encodeObject(data any) (json.RawMessage, error) {
	if data == nil {
		return nil, nil
	}
	encoded, err := json.Marshal(data)
	switch {
	case err != nil:
		return nil, fmt.Errorf("encode its data: %w", err)
	case string(encoded) == "null":
		return nil, nil
	case encoded[0] != '{':
		return nil, errors.New("its data is no JSON object")
	case len(encoded) > maxEventData:
		return nil, fmt.Errorf("its data has %d bytes, more than %d", len(encoded), maxEventData)
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
