// Package event announces within the process that something happened to a job.
// Publishers do not know who subscribes, so that the parts of the service can be
// built one after the other.
package event

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
)

// Event is a JobDue, DeliveryDue, CommandQueued, CommandSettled, StreamChanged, StateApplied,
// BotChanged, TextsStored or RecordingTaskDue.
type Event interface{ isEvent() }

// marker makes the types that embed it events.
type marker struct{}

func (marker) isEvent() {}

// JobDue reports that a job may have become due.
type JobDue struct {
	marker
	At      time.Time // zero when unknown
	Waiting bool      // the job has no bot, which may be launched before At
	Remote  bool      // on another node
}

// DeliveryDue reports that a webhook delivery was created or is to be retried.
type DeliveryDue struct {
	marker
	Remote bool // on another node
}

// CommandQueued reports that a job's bot has a new command.
type CommandQueued struct {
	marker
	JobID  uuid.UUID
	Remote bool // on another node
}

// CommandSettled reports that a command of a job was executed, or failed.
type CommandSettled struct {
	marker
	JobID uuid.UUID
}

// StreamChanged reports that a stream of a job was connected or lost.
type StreamChanged struct {
	marker
	JobID uuid.UUID
}

// StateApplied reports that a change of a job was committed in which the state
// machine applied a trigger.
type StateApplied struct {
	marker
	Job     job.Record // after the change
	Trigger job.Trigger
	Result  job.Result
	Data    json.RawMessage // of the trigger
	End     *job.AttemptEnd // of an attempt of a live job that it ended
}

// BotChanged reports that a bot of this node has started or ended.
type BotChanged struct {
	marker
	JobID   uuid.UUID
	Attempt int
}

// TextsStored reports that texts of a job were committed by this node. Texts that
// other nodes stored are found by polling.
type TextsStored struct {
	marker
	JobID uuid.UUID
}

// RecordingTaskDue reports that a consumer has requested another transcription, or a picture.
type RecordingTaskDue struct{ marker }

// Publisher passes events to its subscribers. The zero Publisher is ready to
// use, and a nil one drops all events. Its methods may be called from any
// goroutine.
type Publisher struct {
	mu          sync.RWMutex
	subscribers []func(Event)
}

// Subscribe calls handle with each event that is published from now on. It is
// called on the publishing goroutine and must not block.
func (p *Publisher) Subscribe(handle func(Event)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subscribers = append(p.subscribers, handle)
}

// Publish calls all subscribers, in the order of their subscription.
func (p *Publisher) Publish(e Event) {
	if p == nil {
		return
	}
	p.mu.RLock()
	subscribers := p.subscribers
	p.mu.RUnlock()
	for _, handle := range subscribers {
		handle(e)
	}
}
