package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store/sqldb"
)

// BotJob is what the response to a heartbeat depends on.
type BotJob struct {
	ID          uuid.UUID
	Status      job.Status
	StatusSince time.Time
	Attempt     int // the current one: bots of earlier ones are to leave
	Prelaunch   job.Prelaunch
	Commands    bool      // there are commands that are not acknowledged
	Watched     time.Time // pictures of the page are wanted until then
	LiveEvents  bool      // an endpoint takes events of participants
}

// BotJobOf returns the BotJob of a job that may have commands and that nobody watches.
func BotJobOf(r job.Record) BotJob {
	return BotJob{ID: r.ID, Status: r.Status, StatusSince: r.StatusSince, Attempt: r.Attempt, Prelaunch: r.Prelaunch, Commands: true}
}

const saveHeartbeat = `UPDATE jobs SET heartbeat_at = $2, stats = CASE WHEN $3 = '' THEN stats ELSE $3 END WHERE id = $1`

// SaveHeartbeat stores the time of a bot's heartbeat and its statistics unless they
// are empty.
func (tx *Tx) SaveHeartbeat(ctx context.Context, id uuid.UUID, now time.Time, stats json.RawMessage) error {
	if _, err := tx.exec(ctx, saveHeartbeat, id, millis(now), string(stats)); err != nil {
		return fmt.Errorf("save the heartbeat of job %s: %w", id, err)
	}
	return nil
}

// hasCommands is the condition that a job has commands that are not acknowledged.
const hasCommands = `EXISTS (SELECT 1 FROM commands WHERE job_id = jobs.id AND acked_at IS NULL)`

// BotJob returns the BotJob of a job, or a *job.Error with NotFound.
func (db *Reader) BotJob(ctx context.Context, id uuid.UUID) (BotJob, error) {
	return one(db.queryRow(ctx, botJobQuery+`id = $1`, id), scanBotJob, "job")
}

// LockFreeBotJobs returns those of some jobs that exist and that no other
// transaction has locked, by ID. It locks them until the transaction ends.
func (tx *Tx) LockFreeBotJobs(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]BotJob, error) {
	found, err := tx.botJobs(ctx, ids, tx.dialect.SkipLocked)
	jobs := make(map[uuid.UUID]BotJob, len(found))
	for _, j := range found {
		jobs[j.ID] = j
	}
	return jobs, err
}

// JobsToAnswer returns the jobs whose open heartbeats may have to be answered: jobs
// with commands, with more than one attempt, and failed ones. It uses the index
// commands_waiting.
func (db *Reader) JobsToAnswer(ctx context.Context, ids []uuid.UUID) ([]BotJob, error) {
	return db.botJobs(ctx, ids, ` AND (attempt > 0 OR status = 'failed' OR `+hasCommands+`)`)
}

// botJobQuery ends with WHERE.
const botJobQuery = `SELECT id, status, status_since, attempt, prelaunch, CASE WHEN ` + hasCommands + ` THEN 1 ELSE 0 END,
	(SELECT watched_until FROM screenshots WHERE job_id = jobs.id),
	CASE WHEN EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.consumer_id = jobs.consumer_id AND e.mode = jobs.mode AND e.mode <> '' AND e.enabled = 1 AND e.live = 1)
		THEN 1 ELSE 0 END FROM jobs WHERE `

// botJobs returns some jobs. rest is the end of the query.
func (db *Reader) botJobs(ctx context.Context, ids []uuid.UUID, rest string) ([]BotJob, error) {
	jobs, err := list(ctx, db, scanBotJob, botJobQuery+`id `+db.dialect.In(1)+rest, jsonArray(ids))
	if err != nil {
		return nil, fmt.Errorf("read what the bots of %d jobs are to do: %w", len(ids), err)
	}
	return jobs, nil
}

func scanBotJob(row sqldb.Row) (j BotJob, err error) {
	err = row.Scan(&j.ID, &j.Status, timeColumn{&j.StatusSince}, &j.Attempt, &j.Prelaunch, &j.Commands, timeColumn{&j.Watched}, &j.LiveEvents)
	return j, err
}
