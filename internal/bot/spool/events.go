package spool

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"standin/internal/jobs/job"
)

// Event is a lifecycle event of the bot.
type Event struct {
	Number    int64           `json:"number"` // 1, 2, … in the order of emission
	Kind      job.Trigger     `json:"kind"`
	EmittedAt time.Time       `json:"emittedAt"`      // UTC, whole milliseconds, later than the event before
	Data      json.RawMessage `json:"data,omitempty"` // a JSON object, or empty
}

// String returns the kind and the number.
func (e Event) String() string { return fmt.Sprintf("event %s %d", e.Kind, e.Number) }

func (e Event) sequence() int64 { return e.Number }

// AppendEvent adds an event to the queue and syncs it to the disk. data must
// encode to a JSON object, or be nil. The time of the event is the clock's, or
// one millisecond after the previous event if the clock was set back.
func (s *Spool) AppendEvent(kind job.Trigger, data any) (Event, error) {
	if !slices.Contains(job.BotTriggers(), kind) {
		return Event{}, fmt.Errorf("append event: %q is not an event of bots", kind)
	}
	encoded, err := json.Marshal(data)
	switch {
	case err != nil:
		return Event{}, fmt.Errorf("append event %s: encode the data: %w", kind, err)
	case string(encoded) == "null":
		encoded = nil
	case encoded[0] != '{':
		return Event{}, fmt.Errorf("append event %s: the data is not a JSON object", kind)
	}
	event, err := s.Events.add(len(encoded), func(last Event) Event {
		at := time.UnixMilli(max(s.now().UnixMilli(), last.EmittedAt.UnixMilli()+1)).UTC()
		return Event{Number: last.Number + 1, Kind: kind, EmittedAt: at, Data: encoded}
	})
	if err != nil {
		return Event{}, fmt.Errorf("append event %s: %w", kind, err)
	}
	return event, nil
}
