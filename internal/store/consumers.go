package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/store/sqldb"
)

const consumerColumns = `id, name, email, webhook_secret, previous_secret, previous_secret_expires,
	webhook_url, webhook_version, created_at, retention_ms, job_retention_ms, transcript_event, command_event, recording, output`

// EnsureConsumer implements account.Store.
func (s *Store) EnsureConsumer(ctx context.Context, c account.Consumer) (account.Consumer, error) {
	var consumer account.Consumer
	err := s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.insertConsumer(ctx, c)
		if err != nil {
			return err
		}
		if consumer, err = tx.ConsumerByName(ctx, c.Name); err != nil {
			return err
		}
		if consumer.Email == "" && c.Email != "" {
			consumer.Email = c.Email
			if _, err = tx.exec(ctx, `UPDATE consumers SET email = $2 WHERE id = $1`, consumer.ID, c.Email); err != nil {
				return fmt.Errorf("set the e-mail of a consumer: %w", err)
			}
		}
		return nil
	})
	return consumer, err
}

// insertConsumer inserts a consumer unless its name is taken, and returns the
// number of inserted rows.
func (tx *Tx) insertConsumer(ctx context.Context, c account.Consumer) (int64, error) {
	n, err := tx.exec(ctx, `
		INSERT INTO consumers (id, name, email, webhook_secret, previous_secret, previous_secret_expires,
			webhook_url, webhook_version, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (name) DO NOTHING`,
		c.ID, c.Name, c.Email, c.WebhookSecret, c.PreviousWebhookSecret, nullMillis(c.PreviousSecretExpires),
		c.WebhookURL, c.WebhookVersion, millis(c.CreatedAt))
	if err != nil {
		return 0, fmt.Errorf("insert consumer: %w", err)
	}
	return n, nil
}

const selectConsumer = `SELECT ` + consumerColumns + ` FROM consumers WHERE id = $1`

// Consumer returns the consumer, or a *job.Error with NotFound.
func (db *Reader) Consumer(ctx context.Context, id uuid.UUID) (account.Consumer, error) {
	return db.oneConsumer(ctx, selectConsumer, id)
}

// ConsumerByName returns the consumer, or a *job.Error with NotFound.
func (db *Reader) ConsumerByName(ctx context.Context, name string) (account.Consumer, error) {
	return db.oneConsumer(ctx, `SELECT `+consumerColumns+` FROM consumers WHERE name = $1`, name)
}

// Consumers returns all consumers, by name.
func (db *Reader) Consumers(ctx context.Context) ([]account.Consumer, error) {
	consumers, err := list(ctx, db, scanConsumer, `SELECT `+consumerColumns+` FROM consumers ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("read consumers: %w", err)
	}
	return consumers, nil
}

func (db *Reader) oneConsumer(ctx context.Context, query string, args ...any) (account.Consumer, error) {
	return one(db.queryRow(ctx, query, args...), scanConsumer, "consumer")
}

func scanConsumer(row sqldb.Row) (c account.Consumer, err error) {
	var recordings, jobs sql.NullInt64
	var recording, output []byte
	err = row.Scan(&c.ID, &c.Name, &c.Email, &c.WebhookSecret, &c.PreviousWebhookSecret, timeColumn{&c.PreviousSecretExpires},
		&c.WebhookURL, &c.WebhookVersion, timeColumn{&c.CreatedAt}, &recordings, &jobs, &c.TranscriptEvent, &c.CommandEvent, &recording, &output)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(recording, &c.Recording); err != nil {
		return c, fmt.Errorf("decode the recording options of a consumer: %w", err)
	}
	if err := json.Unmarshal(output, &c.Output); err != nil {
		return c, fmt.Errorf("decode the output options of a consumer: %w", err)
	}
	c.Retention, c.JobRetention = nullDuration(recordings), nullDuration(jobs)
	return c, nil
}

// SetWebhookURL sets the default endpoint of a consumer's events, which jobs
// without webhook URLs use; empty for none.
func (s *Store) SetWebhookURL(ctx context.Context, consumer uuid.UUID, url string) error {
	return s.changeConsumer(ctx, `UPDATE consumers SET webhook_url = $2 WHERE id = $1`, consumer, url)
}

// SetWebhookVersion sets the payload version of a consumer's future events.
func (s *Store) SetWebhookVersion(ctx context.Context, consumer uuid.UUID, version int) error {
	return s.changeConsumer(ctx, `UPDATE consumers SET webhook_version = $2 WHERE id = $1`, consumer, version)
}

// SetTranscriptEvent sets whether a consumer receives the event
// job.transcript_ready.
func (s *Store) SetTranscriptEvent(ctx context.Context, consumer uuid.UUID, enabled bool) error {
	return s.changeConsumer(ctx, `UPDATE consumers SET transcript_event = $2 WHERE id = $1`, consumer, boolInt(enabled))
}

// SetCommandEvent sets whether a consumer receives the event bot.command_outcome.
func (s *Store) SetCommandEvent(ctx context.Context, consumer uuid.UUID, enabled bool) error {
	return s.changeConsumer(ctx, `UPDATE consumers SET command_event = $2 WHERE id = $1`, consumer, boolInt(enabled))
}

// SetRecordingOptions sets the recording options of a consumer's jobs that do not set
// their own.
func (s *Store) SetRecordingOptions(ctx context.Context, consumer uuid.UUID, options job.RecordingOptions) error {
	encoded, err := json.Marshal(options)
	if err != nil {
		return fmt.Errorf("encode recording options: %w", err)
	}
	return s.changeConsumer(ctx, `UPDATE consumers SET recording = $2 WHERE id = $1`, consumer, string(encoded))
}

// SetOutputOptions sets the output options of a consumer's jobs that do not set their own,
// nil for none.
func (s *Store) SetOutputOptions(ctx context.Context, consumer uuid.UUID, options *job.OutputOptions) error {
	encoded, err := json.Marshal(options)
	if err != nil {
		return fmt.Errorf("encode output options: %w", err)
	}
	return s.changeConsumer(ctx, `UPDATE consumers SET output = $2 WHERE id = $1`, consumer, string(encoded))
}

// RotateWebhookSecret implements account.SecretStore. Deliveries that are
// already claimed are signed with the secrets of their claim.
func (s *Store) RotateWebhookSecret(ctx context.Context, consumer uuid.UUID, secret string, previousUntil time.Time) error {
	return s.changeConsumer(ctx, `
		UPDATE consumers SET previous_secret = webhook_secret, previous_secret_expires = $3, webhook_secret = $2 WHERE id = $1`,
		consumer, secret, millis(previousUntil))
}

// SetRetention sets how long the recordings of a consumer are kept: nil for the
// service's default, 0 for ever.
func (s *Store) SetRetention(ctx context.Context, name string, retention *time.Duration) error {
	return s.changeConsumer(ctx, `UPDATE consumers SET retention_ms = $2 WHERE name = $1`, name, durationMillis(retention))
}

// SetJobRetention sets how long the jobs of a consumer are kept after their end,
// in the same way.
func (s *Store) SetJobRetention(ctx context.Context, name string, retention *time.Duration) error {
	return s.changeConsumer(ctx, `UPDATE consumers SET job_retention_ms = $2 WHERE name = $1`, name, durationMillis(retention))
}
