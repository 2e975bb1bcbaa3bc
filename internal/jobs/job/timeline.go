package job

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Source is the origin of a timeline entry.
type Source string

// The sources of timeline entries.
const (
	SourceBot     Source = "bot"
	SourceService Source = "service"
)

// TimelineEntry is an event in the history of a job, whether it changed the
// job or not.
type TimelineEntry struct {
	ID         uuid.UUID
	JobID      uuid.UUID
	Attempt    int
	Source     Source
	Kind       Trigger
	EmittedAt  time.Time
	ReceivedAt time.Time
	Applied    bool
	Reason     Reason
	From, To   Status
	Data       json.RawMessage // an object, or empty
}
