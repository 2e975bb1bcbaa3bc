package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
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
}

// BotJobOf returns the BotJob of a job that nobody watches.
func BotJobOf(r job.Record) BotJob {
	return BotJob{ID: r.ID, Status: r.Status, StatusSince: r.StatusSince, Attempt: r.Attempt, Prelaunch: r.Prelaunch, Commands: r.HasCommands}
}

// SaveHeartbeat stores the time of a bot's heartbeat and its statistics unless they
// are empty.
func (tx *Tx) SaveHeartbeat(ctx context.Context, id uuid.UUID, now time.Time, stats json.RawMessage) error {
	return tx.exec(ctx, "save the heartbeat of a job",
		`UPDATE jobs SET heartbeat_at = $2, stats = CASE WHEN $3 = '' THEN stats ELSE $3 END WHERE id = $1`, id, now, stats)
}

// hasCommands is the condition that a job has commands that are not acknowledged.
const hasCommands = `EXISTS (SELECT 1 FROM commands WHERE job_id = jobs.id AND acked_at IS NULL)`

// BotJob returns the BotJob of a job, or a *job.Error with NotFound.
func (db *Reader) BotJob(ctx context.Context, id uuid.UUID) (BotJob, error) {
	return queryOne(ctx, db, "job", scanBotJob, botJobQuery+`id = $1`, id)
}

// JobsToAnswer returns the jobs whose open heartbeats may have to be answered: jobs
// with commands, with more than one attempt, and failed ones. It uses the index
// commands_waiting.
func (db *Reader) JobsToAnswer(ctx context.Context, ids []uuid.UUID) ([]BotJob, error) {
	return List(ctx, db, "read what the bots of jobs are to do", scanBotJob,
		botJobQuery+`id `+db.dialect.In(1)+` AND (attempt > 0 OR status = 'failed' OR `+hasCommands+`)`, jsonArray(ids))
}

// botJobQuery ends with WHERE.
const botJobQuery = `SELECT id, status, status_since, attempt, prelaunch, ` + hasCommands + `,
	(SELECT watched_until FROM screenshots WHERE job_id = jobs.id)
	FROM jobs WHERE `

func scanBotJob(r row, j *BotJob) error {
	return r.Scan(&j.ID, &j.Status, &j.StatusSince, &j.Attempt, &j.Prelaunch, &j.Commands, &j.Watched)
}

// InsertCommand queues a command until it is acknowledged.
func (tx *Tx) InsertCommand(ctx context.Context, c ingest.QueuedCommand) error {
	return tx.exec(ctx, "queue a command for a job", `INSERT INTO commands (id, job_id, kind, args, created_at) VALUES ($1, $2, $3, $4, $5)`,
		c.ID, c.JobID, c.Kind, c.Args, c.CreatedAt)
}

// AckCommand marks a command of the job as acknowledged, and returns its kind; false
// for an unknown command and for one that was acknowledged before.
func (tx *Tx) AckCommand(ctx context.Context, jobID uuid.UUID, id string, now time.Time) (kind ingest.CommandKind, acked bool, err error) {
	err = tx.queryRow(ctx, "acknowledge a command of a job", `UPDATE commands SET acked_at = $3
		WHERE id = $1 AND job_id = $2 AND acked_at IS NULL RETURNING kind`, id, jobID, now).Scan(&kind)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	return kind, err == nil, err
}

// PendingCommands returns the commands that are not acknowledged, oldest first.
// It uses the index commands_waiting.
func (db *Reader) PendingCommands(ctx context.Context, jobID uuid.UUID) ([]ingest.Command, error) {
	commands, err := List(ctx, db, "read the commands of a job", func(r row, c *ingest.Command) error {
		return r.Scan(&c.ID, &c.Kind, &c.Args)
	}, `SELECT id, kind, args FROM commands WHERE job_id = $1 AND acked_at IS NULL ORDER BY id`, jobID)
	return append([]ingest.Command{}, commands...), err // an empty JSON array, not null
}

// PendingCommand returns the oldest command of a kind that is not acknowledged;
// false when there is none. It uses the index commands_of_kind.
func (db *Reader) PendingCommand(ctx context.Context, jobID uuid.UUID, kind ingest.CommandKind) (uuid.UUID, bool, error) {
	return first(ctx, db, "find a pending command of a job", scanColumn[uuid.UUID],
		`SELECT id FROM commands WHERE job_id = $1 AND acked_at IS NULL AND kind = $2 ORDER BY id LIMIT 1`, jobID, kind)
}

// CommandsOfKind returns all commands of a kind that a job was given, oldest
// first. It uses the index commands_of_kind.
func (db *Reader) CommandsOfKind(ctx context.Context, jobID uuid.UUID, kind ingest.CommandKind) ([]ingest.QueuedCommand, error) {
	return List(ctx, db, "read the commands of a job", func(r row, c *ingest.QueuedCommand) error {
		c.JobID, c.Kind = jobID, kind
		return r.Scan(&c.ID, &c.Args, &c.CreatedAt)
	}, `SELECT id, args, created_at FROM commands WHERE job_id = $1 AND kind = $2 ORDER BY id`, jobID, kind)
}

// SetSoundNode sets the URL of the node to which the bot of a job sends live sound. With an
// empty URL, it removes that of from.
func (s *Store) SetSoundNode(ctx context.Context, jobID uuid.UUID, url, from string) error {
	return s.exec(ctx, "set the node with the sound of a job", `UPDATE jobs SET sound_url = $2
		WHERE id = $1 AND ($2 <> '' OR sound_url = $3)`, jobID, url, from)
}

// SoundNode returns the URL of the node to which the bot of a job sends live sound; empty if
// there is none.
func (db *Reader) SoundNode(ctx context.Context, jobID uuid.UUID) (string, error) {
	url, _, err := first(ctx, db, "find the node with the sound of a job", scanColumn[string], `SELECT sound_url FROM jobs WHERE id = $1`,
		jobID)
	return url, err
}

// WatchScreenshot asks the bot of a job for pictures of its page until a time.
func (s *Store) WatchScreenshot(ctx context.Context, jobID uuid.UUID, until time.Time) error {
	return s.exec(ctx, "watch the page of a job", `INSERT INTO screenshots (job_id, watched_until, image) VALUES ($1, $2, '')
		ON CONFLICT (job_id) DO UPDATE SET watched_until = excluded.watched_until`, jobID, until)
}

// SaveScreenshot replaces the picture of a job's page, if it is watched.
func (tx *Tx) SaveScreenshot(ctx context.Context, jobID uuid.UUID, takenAt time.Time, image []byte) error {
	return tx.exec(ctx, "save a picture of the page of a job", `UPDATE screenshots SET taken_at = $2, image = $3 WHERE job_id = $1`,
		jobID, takenAt, base64.StdEncoding.EncodeToString(image))
}

// Screenshot returns the picture of a job's page; the zero Screenshot if it is not watched.
func (db *Reader) Screenshot(ctx context.Context, jobID uuid.UUID) (job.Screenshot, error) {
	screenshot, _, err := first(ctx, db, "read the picture of the page of a job", func(r row, s *job.Screenshot) error {
		var image string
		err := r.Scan(&s.WatchedUntil, &s.TakenAt, &image)
		if err == nil {
			s.Image, err = base64.StdEncoding.DecodeString(image)
		}
		return err
	}, `SELECT watched_until, taken_at, image FROM screenshots WHERE job_id = $1`, jobID)
	return screenshot, err
}

// dispatchedCondition is the condition of jobs whose bot runs or should run. It
// uses the index jobs_dispatched, whose condition it repeats literally, with a
// range for each status.
func dispatchedCondition() string {
	var statuses []string
	for _, status := range job.Statuses() {
		if status.Dispatched() {
			statuses = append(statuses, "'"+string(status)+"'")
		}
	}
	return `status NOT IN ('scheduled', 'pending', 'completed', 'failed', 'cancelled') AND status IN (` + strings.Join(statuses, ", ") + `)`
}

// prelaunchedCondition is the condition of jobs with a prelaunched bot that runs,
// or may run and is to be stopped. It uses the index jobs_prelaunched, whose
// condition it repeats literally.
const prelaunchedCondition = `prelaunch IN ('launched', 'withdrawn')`

// RunningBots returns running bots, those with the oldest heartbeats first, without
// the first skip of them. It uses the index jobs_dispatched.
func (db *Reader) RunningBots(ctx context.Context, skip, limit int) ([]job.RunningBot, error) {
	return List(ctx, db, "list running bots", func(r row, b *job.RunningBot) error {
		return r.Scan(&b.JobID, &b.Consumer, &b.Mode, &b.Status, &b.Platform, &b.Attempt,
			&b.StatusSince, &b.LaunchedAt, &b.HeartbeatAt, &b.LaunchError)
	}, `SELECT j.id, c.name, j.mode, j.status, j.platform, j.attempt, j.status_since, j.launched_at, j.heartbeat_at, j.launch_error
		FROM jobs j JOIN consumers c ON c.id = j.consumer_id
		WHERE `+dispatchedCondition()+`
		ORDER BY COALESCE(j.heartbeat_at, j.launched_at, j.status_since), j.id LIMIT $1 OFFSET $2`, limit, skip)
}

// BotStats returns the last statistics of the live bots of a node, or of all
// nodes when it is empty. It uses the index jobs_dispatched.
func (db *Reader) BotStats(ctx context.Context, node string) ([]job.BotStats, error) {
	return List(ctx, db, "read the statistics of bots", func(r row, b *job.BotStats) error {
		return r.Scan(&b.JobID, &b.Attempt, &b.Node, &b.HeartbeatAt, &b.Stats)
	}, `SELECT id, attempt, node, heartbeat_at, stats FROM jobs
		WHERE ($1 = '' OR node = $1) AND mode = 'live' AND heartbeat_at IS NOT NULL AND stats <> '' AND `+dispatchedCondition(), node)
}

// OldestHeartbeat returns the time of the last heartbeat of the bot that has
// been silent the longest; false when no bot has sent one.
func (db *Reader) OldestHeartbeat(ctx context.Context) (time.Time, bool, error) {
	oldest, err := queryValue[time.Time](ctx, db, "find the oldest heartbeat", `SELECT MIN(heartbeat_at) FROM jobs WHERE `+
		dispatchedCondition())
	return oldest, !oldest.IsZero(), err
}
