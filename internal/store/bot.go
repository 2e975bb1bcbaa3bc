package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// BotJob is what the response to a heartbeat depends on.
type BotJob struct {
	ID          uuid.UUID
	Status      job.Status
	StatusSince time.Time
	Attempt     int // the current one: bots of earlier ones are to leave
	Prelaunch   job.Prelaunch
	Commands    bool // there are commands that are not acknowledged
}

// BotJobOf returns the BotJob of a job. commands reports whether it may have
// commands that are not acknowledged.
func BotJobOf(r job.Record, commands bool) BotJob {
	return BotJob{r.ID, r.Status, r.StatusSince, r.Attempt, r.Prelaunch, commands}
}

// hasCommands is the condition that a job has commands that are not acknowledged.
const hasCommands = `EXISTS (SELECT 1 FROM commands WHERE job_id = jobs.id AND acked_at IS NULL)`

// BotJob returns the BotJob of a job, or a *job.Error with NotFound.
func (q *Queries) BotJob(ctx context.Context, id uuid.UUID) (BotJob, error) {
	return one(q.queryRow(ctx, botJobQuery+`id = $1`, id), scanBotJob, "job")
}

// LockFreeBotJobs returns those of some jobs that exist and that no other
// transaction has locked, by ID. It locks them until the transaction ends.
func (q *Queries) LockFreeBotJobs(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]BotJob, error) {
	found, err := q.botJobs(ctx, ids, q.skip)
	jobs := make(map[uuid.UUID]BotJob, len(found))
	for _, j := range found {
		jobs[j.ID] = j
	}
	return jobs, err
}

// BotsToAnswer returns those of some jobs for which an open heartbeat may have to
// be answered: jobs with commands, with more than one attempt, and failed ones. It
// uses an index of commands on the job.
func (q *Queries) BotsToAnswer(ctx context.Context, ids []uuid.UUID) ([]BotJob, error) {
	return q.botJobs(ctx, ids, ` AND (attempt > 0 OR status = 'failed' OR `+hasCommands+`)`)
}

// botJobQuery ends with WHERE.
const botJobQuery = `SELECT id, status, status_since, attempt, prelaunch, CASE WHEN ` + hasCommands + ` THEN 1 ELSE 0 END FROM jobs WHERE `

// botJobs returns some jobs. rest is the end of the query.
func (q *Queries) botJobs(ctx context.Context, ids []uuid.UUID, rest string) ([]BotJob, error) {
	jobs, err := list(ctx, q, scanBotJob, botJobQuery+`id `+q.in+rest, joinIDs(ids))
	if err != nil {
		return nil, fmt.Errorf("read what the bots of %d jobs are to do: %w", len(ids), err)
	}
	return jobs, nil
}

func scanBotJob(row scanner) (j BotJob, err error) {
	err = row.Scan(&j.ID, textColumn[job.Status]{&j.Status}, timeColumn{&j.StatusSince}, &j.Attempt, textColumn[job.Prelaunch]{&j.Prelaunch}, &j.Commands)
	return j, err
}
