package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/ingest"
)

// InsertCommand queues a command until it is acknowledged.
func (q *Queries) InsertCommand(ctx context.Context, c ingest.QueuedCommand) error {
	return q.execLater(ctx, doing("queue a command for job %s", c.JobID), `INSERT INTO commands (id, job_id, kind, args, created_at) VALUES ($1, $2, $3, $4, $5)`,
		c.ID, c.JobID, c.Kind, string(c.Args), millis(c.CreatedAt))
}

// AckCommand marks a command of the job as acknowledged. It ignores unknown
// commands.
func (q *Queries) AckCommand(ctx context.Context, jobID uuid.UUID, id string, now time.Time) error {
	return q.execLater(ctx, doing("acknowledge a command of job %s", jobID), `UPDATE commands SET acked_at = $3 WHERE id = $1 AND job_id = $2 AND acked_at IS NULL`, id, jobID, millis(now))
}

// WithdrawCommands withdraws the commands of a job that are not acknowledged. It
// uses the index commands_waiting.
func (q *Queries) WithdrawCommands(ctx context.Context, jobID uuid.UUID, now time.Time) error {
	return q.execLater(ctx, doing("withdraw the commands of job %s", jobID), `UPDATE commands SET acked_at = $2 WHERE job_id = $1 AND acked_at IS NULL`, jobID, millis(now))
}

// PendingCommands returns the commands that are not acknowledged, oldest first.
// It uses the index commands_waiting.
func (q *Queries) PendingCommands(ctx context.Context, jobID uuid.UUID) ([]ingest.Command, error) {
	var commands []ingest.Command
	err := q.ReadPendingCommands(ctx, jobID, &commands)
	if err == nil {
		err = q.Flush(ctx)
	}
	if err != nil {
		return nil, err
	}
	return commands, nil
}

// ReadPendingCommands is like PendingCommands and stores the commands in into. In
// a transaction it does so by the end of the next Flush or of the commit.
func (q *Queries) ReadPendingCommands(ctx context.Context, jobID uuid.UUID, into *[]ingest.Command) error {
	*into = []ingest.Command{} // an empty JSON array, not null
	return q.forEachLater(ctx, func(row scanner) error {
		var c ingest.Command
		var args string
		err := row.Scan(&c.ID, &c.Kind, &args)
		c.Args = argsOf(args)
		*into = append(*into, c)
		return err
	}, doing("read the commands of job %s", jobID), `SELECT id, kind, args FROM commands WHERE job_id = $1 AND acked_at IS NULL ORDER BY id`, jobID)
}

var pendingCommands = newLookup("commands", "job_id text", "acked_at IS NULL")

// FindPendingCommands sets found to true if a job has commands that are not
// acknowledged. In a transaction it does so by the end of the next Flush. It uses
// the index commands_waiting.
func (q *Queries) FindPendingCommands(ctx context.Context, jobID uuid.UUID, found *bool) error {
	return q.findLater(ctx, pendingCommands, func() { *found = true }, jobID.String())
}

// PendingCommand returns the oldest command of a kind that is not acknowledged;
// false when there is none. It uses the index commands_of_kind.
func (q *Queries) PendingCommand(ctx context.Context, jobID uuid.UUID, kind ingest.CommandKind) (uuid.UUID, bool, error) {
	var id uuid.UUID
	err := q.queryRow(ctx, `SELECT id FROM commands WHERE job_id = $1 AND acked_at IS NULL AND kind = $2 ORDER BY id LIMIT 1`,
		jobID, kind).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return uuid.Nil, false, nil
	}
	if err != nil {
		return uuid.Nil, false, fmt.Errorf("find a pending command of job %s: %w", jobID, err)
	}
	return id, true, nil
}

// CommandsOfKind returns all commands of a kind that a job was given, oldest
// first. It uses the index commands_of_kind.
func (q *Queries) CommandsOfKind(ctx context.Context, jobID uuid.UUID, kind ingest.CommandKind) ([]ingest.QueuedCommand, error) {
	commands, err := list(ctx, q, func(row scanner) (ingest.QueuedCommand, error) {
		c := ingest.QueuedCommand{JobID: jobID, Kind: kind}
		var args string
		err := row.Scan(&c.ID, &args, timeColumn{&c.CreatedAt})
		c.Args = argsOf(args)
		return c, err
	}, `SELECT id, args, created_at FROM commands WHERE job_id = $1 AND kind = $2 ORDER BY id`, jobID, kind)
	if err != nil {
		return nil, fmt.Errorf("read the commands of job %s: %w", jobID, err)
	}
	return commands, nil
}

// argsOf returns the arguments of a command, nil for none.
func argsOf(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}
