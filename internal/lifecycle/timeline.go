package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// The kinds of timeline entries beside the triggers of the state machine.
const (
	CommandQueued    job.Trigger = "command_queued"     // data: commandId, command
	JobChanged       job.Trigger = "job_changed"        // data: by, changed (names of fields), joinAt if it changed
	InviteTimePassed job.Trigger = "invite_time_passed" // data: joinAt, lateMs (when the invite arrived)
	RecordingDeleted job.Trigger = "recording_deleted"  // data: by
	BotLaunched      job.Trigger = "bot_launched"       // data: node, lateMs (after joinAt; of a first attempt)
	MediaStored      job.Trigger = "media_stored"       // data: bytesDone, bytesTotal; while a recording is uploaded or finalized

	TranscriptAttached job.Trigger = "transcript_attached" // data: segments, audioMs, partial
	TranscriptFailed   job.Trigger = "transcript_failed"   // data: detail
)

// Who changes a job beside its bot and the dispatcher, as the timeline names
// them.
const (
	byConsumer  = "consumer"
	byInvite    = "calendar invite"
	byRetention = "retention"
)

// MediaStored records how much of a recording is in storage.
func (c *Change) MediaStored(ctx context.Context, done, total int64) error {
	return c.addEntry(ctx, MediaStored, map[string]int64{"bytesDone": done, "bytesTotal": total})
}

// addEntry adds a timeline entry that is not an event of the state machine.
func (c *Change) addEntry(ctx context.Context, kind job.Trigger, data any) error {
	encoded, err := encodeData(data)
	if err != nil {
		return err
	}
	result := job.Result{Applied: true, From: c.Status, To: c.Status}
	return c.addEventEntry(ctx, job.Event{Trigger: kind}, result, job.SourceService, c.Now, encoded)
}

// addEventEntry adds the timeline entry of an event.
func (c *Change) addEventEntry(ctx context.Context, e job.Event, result job.Result, source job.Source, emittedAt time.Time, data json.RawMessage) error {
	attempt := e.Attempt
	switch source {
	case job.SourceService:
		attempt = c.Attempt // after the event
	case job.SourceBot:
		c.BotEvents++
		c.BotEventBytes += int64(len(data))
	}
	return c.tx.InsertEntry(ctx, job.TimelineEntry{
		ID:         uuid.Must(uuid.NewV7()),
		JobID:      c.ID,
		Attempt:    attempt,
		Source:     source,
		Kind:       e.Trigger,
		EmittedAt:  emittedAt,
		ReceivedAt: c.Now,
		Applied:    result.Applied,
		Reason:     result.Reason,
		From:       result.From,
		To:         result.To,
		Data:       data,
	})
}

// encodeData encodes the data of a timeline entry, or the arguments of a
// command; nil is none.
func encodeData(data any) (json.RawMessage, error) {
	if data == nil {
		return nil, nil
	}
	encoded, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("encode data: %w", err)
	}
	return encoded, nil
}
