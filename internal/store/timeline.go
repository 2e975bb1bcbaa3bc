package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

var intoTimeline = newInsertion("timeline", `id text, job_id text, attempt bigint, source text, kind text, emitted_at bigint, received_at bigint,
	applied bigint, reason text, status_from text, status_to text, data text`)

// InsertEntry adds an entry to a timeline.
func (q *Queries) InsertEntry(ctx context.Context, e job.TimelineEntry) error {
	return q.insertLater(ctx, intoTimeline, e.ID.String(), e.JobID.String(), e.Attempt, string(e.Source), string(e.Kind),
		millis(e.EmittedAt), millis(e.ReceivedAt), flag(e.Applied), string(e.Reason), string(e.From), string(e.To), string(e.Data))
}

var botEvents = newLookup("timeline", "job_id text, attempt bigint, kind text, emitted_at bigint", "source = 'bot'")

// FindEvent sets seen to true if a bot's event is already on the timeline. In a
// transaction it does so by the end of the next Flush. It uses the index
// timeline_identity.
func (q *Queries) FindEvent(ctx context.Context, jobID uuid.UUID, attempt int, kind job.Trigger, emittedAt time.Time, seen *bool) error {
	return q.findLater(ctx, botEvents, func() { *seen = true }, jobID.String(), attempt, string(kind), millis(emittedAt))
}

// Timeline returns all entries of a job in the order of their arrival. It
// uses the index timeline_order.
func (q *Queries) Timeline(ctx context.Context, jobID uuid.UUID) ([]job.TimelineEntry, error) {
	entries, err := list(ctx, q, scanEntry, `SELECT `+entryColumns+` FROM timeline WHERE job_id = $1 ORDER BY id`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read the timeline of job %s: %w", jobID, err)
	}
	return entries, nil
}

// ListTimeline returns up to limit entries of a job's timeline after one of
// them, in the order of their arrival, and whether there are more. Start with
// uuid.Nil. It uses the index timeline_order.
func (q *Queries) ListTimeline(ctx context.Context, jobID, after uuid.UUID, limit int) (entries []job.TimelineEntry, more bool, err error) {
	entries, more, err = page(ctx, q.read, limit, scanEntry, func(e job.TimelineEntry) int { return len(e.Data) },
		`SELECT `+entryColumns+` FROM timeline WHERE job_id = $1 AND id > $2 ORDER BY id LIMIT $3 + 0`, jobID, after, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("list the timeline of job %s: %w", jobID, err)
	}
	return entries, more, nil
}

const entryColumns = `id, job_id, attempt, source, kind, emitted_at, received_at, applied, reason, status_from, status_to, data`

func scanEntry(row scanner) (e job.TimelineEntry, err error) {
	err = row.Scan(&e.ID, &e.JobID, &e.Attempt, &e.Source, &e.Kind, timeColumn{&e.EmittedAt}, timeColumn{&e.ReceivedAt},
		&e.Applied, &e.Reason, &e.From, &e.To, (*[]byte)(&e.Data))
	return e, err
}
