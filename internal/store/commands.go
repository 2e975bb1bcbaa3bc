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
	"standin/internal/store/sqldb"
)

// InsertCommand queues a command until it is acknowledged.
func (tx *Tx) InsertCommand(ctx context.Context, c ingest.QueuedCommand) error {
	_, err := tx.exec(ctx, `INSERT INTO commands (id, job_id, kind, args, created_at) VALUES ($1, $2, $3, $4, $5)`,
		c.ID, c.JobID, c.Kind, string(c.Args), millis(c.CreatedAt))
	if err != nil {
		return fmt.Errorf("queue a command for job %s: %w", c.JobID, err)
	}
	return nil
}

// AckCommand marks a command of the job as acknowledged, and returns its kind; false
// for an unknown command and for one that was acknowledged before.
func (tx *Tx) AckCommand(ctx context.Context, jobID uuid.UUID, id string, now time.Time) (kind ingest.CommandKind, acked bool, err error) {
	err = tx.queryRow(ctx, `UPDATE commands SET acked_at = $3 WHERE id = $1 AND job_id = $2 AND acked_at IS NULL RETURNING kind`, id, jobID, millis(now)).Scan(&kind)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("acknowledge a command of job %s: %w", jobID, err)
	}
	return kind, true, nil
}

const pendingCommands = `SELECT id, kind, args FROM commands WHERE job_id = $1 AND acked_at IS NULL ORDER BY id`

// PendingCommands returns the commands that are not acknowledged, oldest first.
// It uses the index commands_waiting.
func (db *Reader) PendingCommands(ctx context.Context, jobID uuid.UUID) ([]ingest.Command, error) {
	commands := []ingest.Command{} // an empty JSON array, not null
	err := db.forEach(ctx, func(row sqldb.Row) error {
		var c ingest.Command
		var args string
		err := row.Scan(&c.ID, &c.Kind, &args)
		c.Args = argsOf(args)
		commands = append(commands, c)
		return err
	}, pendingCommands, jobID)
	if err != nil {
		return nil, fmt.Errorf("read the commands of job %s: %w", jobID, err)
	}
	return commands, nil
}

// PendingCommand returns the oldest command of a kind that is not acknowledged;
// false when there is none. It uses the index commands_of_kind.
func (db *Reader) PendingCommand(ctx context.Context, jobID uuid.UUID, kind ingest.CommandKind) (uuid.UUID, bool, error) {
	var id uuid.UUID
	err := db.queryRow(ctx, `SELECT id FROM commands WHERE job_id = $1 AND acked_at IS NULL AND kind = $2 ORDER BY id LIMIT 1`,
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
func (db *Reader) CommandsOfKind(ctx context.Context, jobID uuid.UUID, kind ingest.CommandKind) ([]ingest.QueuedCommand, error) {
	commands, err := list(ctx, db, func(row sqldb.Row) (ingest.QueuedCommand, error) {
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
