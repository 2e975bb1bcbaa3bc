package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"standin/internal/ingest"
)

// Texts is a batch of chat messages and captions for one request.
type Texts struct {
	Number int64         `json:"number"` // 1, 2, … in the order of AppendTexts
	Texts  []ingest.Text `json:"texts"`
}

// texts is the queue of batches that the service has not acknowledged.
type texts struct {
	mutex   sync.Mutex
	number  int64 // number of the last batch
	waiting []Texts
}

// AppendTexts adds a batch to the queue and syncs it to the disk. A batch has at
// most ingest.MaxTextsPerRequest texts.
func (s *Spool) AppendTexts(batch []ingest.Text) error {
	if len(batch) == 0 || len(batch) > ingest.MaxTextsPerRequest {
		return fmt.Errorf("append texts: %d texts where 1 to %d are allowed", len(batch), ingest.MaxTextsPerRequest)
	}
	encoded, err := json.Marshal(batch)
	switch used := s.journal.length(); {
	case err != nil:
		return fmt.Errorf("append texts: %w", err)
	case len(encoded) > maxEventData:
		return fmt.Errorf("append texts: they have %d bytes, more than %d", len(encoded), maxEventData)
	case used > maxJournal:
		return &FullError{Limit: maxJournal, Used: used, Wanted: int64(len(encoded))}
	}
	q := &s.texts
	q.mutex.Lock()
	defer q.mutex.Unlock()
	r := Texts{Number: q.number + 1, Texts: batch}
	if err := s.journal.append(record{Texts: &r}); err != nil {
		return fmt.Errorf("append texts: %w", err)
	}
	q.add(r)
	s.changes.notify()
	return nil
}

// NextTexts returns the oldest unacknowledged batch; ok is false if there is none.
func (s *Spool) NextTexts() (batch Texts, ok bool) {
	s.texts.mutex.Lock()
	defer s.texts.mutex.Unlock()
	if len(s.texts.waiting) == 0 {
		return Texts{}, false
	}
	return s.texts.waiting[0], true
}

// WaitingTexts returns the number of unacknowledged batches.
func (s *Spool) WaitingTexts() int {
	s.texts.mutex.Lock()
	defer s.texts.mutex.Unlock()
	return len(s.texts.waiting)
}

// EndTexts removes the batch that NextTexts returned: the service has it or, with
// a reason, refuses it. If it returns an error, the batch is removed too, but is
// sent again after a restart, which changes nothing.
func (s *Spool) EndTexts(number int64, refusal string) error {
	q := &s.texts
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.waiting) == 0 || q.waiting[0].Number != number {
		return errors.New("acknowledge texts: it is not the next batch")
	}
	q.waiting = q.waiting[1:]
	s.changes.notify()
	if err := s.journal.append(record{TextsEnded: number, Refusal: truncate(refusal, maxRefusalText)}); err != nil {
		return fmt.Errorf("acknowledge texts: %w", err)
	}
	return nil
}

func (q *texts) add(batch Texts) {
	q.number = batch.Number
	q.waiting = append(q.waiting, batch)
}

func (q *texts) replay(r record) {
	if r.Texts != nil && r.Texts.Number > q.number {
		q.add(*r.Texts)
	}
	for r.TextsEnded > 0 && len(q.waiting) > 0 && q.waiting[0].Number <= r.TextsEnded {
		q.waiting = q.waiting[1:]
	}
}
