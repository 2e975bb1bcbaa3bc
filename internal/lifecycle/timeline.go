package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"standin/internal/job"
)

// What a timeline tells of a job beside the triggers that may move it.
const (
	CommandQueued    job.Trigger = "command queued"    // data: commandId, command
	JobChanged       job.Trigger = "job changed"       // data: by, changed (names of fields), joinAt when it is among them
	RecordingDeleted job.Trigger = "recording deleted" // data: by
	BotLaunched      job.Trigger = "bot launched"      // data: node, lateMs (after joinAt; of a first attempt)
	MediaStored      job.Trigger = "media stored"      // data: bytesDone, bytesTotal; while a recording is handed in, or put together by the service
)

// Who changes a job beside its bot and the dispatcher, as the timeline names
// them.
const (
	byConsumer  = "consumer"
	byInvite    = "calendar invite"
	byRetention = "retention"
)

// Launched notes that the bot of the current attempt was started, on which
// node, and how late.
func (c *Change) Launched(ctx context.Context, node string) error {
	data := map[string]any{"node": node}
	if c.Attempt == 0 && !c.JoinAt.Before(c.CreatedAt) {
		data["lateMs"] = max(0, c.Now.Sub(c.JoinAt).Milliseconds())
	}
	return c.addEntry(ctx, BotLaunched, data)
}

// MediaStored notes how much of a recording is in storage: of one that the
// service puts together, or of a bot's files that are on their way.
func (c *Change) MediaStored(ctx context.Context, done, total int64) error {
	return c.addEntry(ctx, MediaStored, map[string]int64{"bytesDone": done, "bytesTotal": total})
}

// remark writes a line on the timeline that tells of no event of the machine.
func (c *Change) addEntry(ctx context.Context, kind job.Trigger, data any) error {
	var encoded json.RawMessage
	if data != nil {
		var err error
		if encoded, err = json.Marshal(data); err != nil {
			return fmt.Errorf("encode the timeline's data: %w", err)
		}
	}
	return c.q.InsertEntry(ctx, job.TimelineEntry{
		ID:         uuid.Must(uuid.NewV7()),
		JobID:      c.ID,
		Attempt:    c.Attempt,
		Source:     job.SourceService,
		Kind:       kind,
		EmittedAt:  c.Now,
		ReceivedAt: c.Now,
		Applied:    true,
		From:       c.Status,
		To:         c.Status,
		Data:       encoded,
	})
}
