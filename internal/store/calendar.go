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
)

// maxNameTries bounds the search for a name that no other consumer has.
const maxNameTries = 100

// EnsureConsumerByEmail returns the consumer whose e-mail is c's, the oldest if
// there are several, and makes it from c when there is none, under another
// name when c's is taken: a name is no proof of an address. c.Email must be
// in lower case; the case of what is kept does not count.
func (q *Queries) EnsureConsumerByEmail(ctx context.Context, c account.Consumer) (account.Consumer, error) {
	kept, err := q.ConsumerByEmail(ctx, c.Email)
	if !job.ErrorIs(err, job.NotFound) {
		return kept, err
	}
	name := c.Name
	for try := 2; try < maxNameTries; try++ {
		n, err := q.exec(ctx, `
			INSERT INTO consumers (id, name, email, webhook_secret, webhook_url, webhook_version, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (name) DO NOTHING`,
			c.ID, c.Name, c.Email, c.WebhookSecret, c.WebhookURL, c.WebhookVersion, millis(c.CreatedAt))
		if err != nil {
			return account.Consumer{}, fmt.Errorf("insert a consumer: %w", err)
		}
		if n == 1 {
			return q.Consumer(ctx, c.ID)
		}
		// Somebody else's name, or another invite was quicker.
		kept, err := q.ConsumerByEmail(ctx, c.Email)
		if !job.ErrorIs(err, job.NotFound) {
			return kept, err
		}
		c.Name = fmt.Sprintf("%s (%d)", name, try)
	}
	return account.Consumer{}, fmt.Errorf("no name for the consumer of an e-mail is free after %d tries", maxNameTries)
}

// ConsumerByEmail returns the oldest consumer with the e-mail, given in lower
// case, or a *job.Error with NotFound. It uses the index consumers_email.
func (q *Queries) ConsumerByEmail(ctx context.Context, email string) (account.Consumer, error) {
	return oneConsumer(q.queryRow(ctx,
		`SELECT `+consumerColumns+` FROM consumers WHERE lower(email) = $1 ORDER BY created_at, id LIMIT 1`, email))
}

// LockConsumer keeps other writes that lock the consumer waiting until the
// transaction ends. Writes that only refer to the consumer go on.
func (q *Queries) LockConsumer(ctx context.Context, id uuid.UUID) error {
	lock := ""
	if q.forUpdate != "" {
		lock = " FOR NO KEY UPDATE" // FOR UPDATE would stop every insert of a row that refers to it
	}
	var found uuid.UUID
	if err := q.queryRow(ctx, `SELECT id FROM consumers WHERE id = $1`+lock, id).Scan(&found); err != nil {
		return fmt.Errorf("lock consumer %s: %w", id, err)
	}
	return nil
}

// LockJobByCalendarKey returns, and locks, the job that an invite of this key
// made or moved. It uses the index jobs_intake.
func (q *Queries) LockJobByCalendarKey(ctx context.Context, consumer uuid.UUID, key string) (job.Record, error) {
	return q.oneJob(ctx, `SELECT `+jobColumns+` FROM jobs WHERE consumer_id = $1 AND intake_key = $2`+q.forUpdate, consumer, key)
}

// LockJobByMeeting returns, and locks, the newest live job of the consumer's
// that goes to the address at the time. With anonymous, jobs that have an
// icalUid are passed over. It uses the index jobs_join.
func (q *Queries) LockJobByMeeting(ctx context.Context, consumer uuid.UUID, meetingURL string, joinAt time.Time, anonymous bool) (job.Record, error) {
	only := ""
	if anonymous {
		only = " AND ical_uid_hash IS NULL"
	}
	return q.oneJob(ctx, `
		SELECT `+jobColumns+` FROM jobs
		WHERE consumer_id = $1 AND mode = 'live' AND join_at = $2 AND meeting_url = $3`+only+`
		ORDER BY created_at DESC, id DESC LIMIT 1`+q.forUpdate, consumer, millis(joinAt), meetingURL)
}

// LockUndispatchedByICalUID returns, and locks, the consumer's newest job of
// that icalUid for which no attempt has been begun. It uses the index jobs_ical.
func (q *Queries) LockUndispatchedByICalUID(ctx context.Context, consumer uuid.UUID, uid string) (job.Record, error) {
	return q.oneJob(ctx, `
		SELECT `+jobColumns+` FROM jobs
		WHERE consumer_id = $1 AND ical_uid_hash = $2 AND status IN ('scheduled', 'pending')
		ORDER BY created_at DESC, id DESC LIMIT 1`+q.forUpdate, consumer, icalHash(uid))
}

// CountCalendarJobs returns how many jobs invites made for the consumer in a time
// that begins at from and ends before to, without those that were refused for
// the quota. It uses the index jobs_invited.
func (q *Queries) CountCalendarJobs(ctx context.Context, consumer uuid.UUID, from, to time.Time) (int, error) {
	var n int
	err := q.queryRow(ctx, `
		SELECT COUNT(*) FROM jobs
		WHERE consumer_id = $1 AND created_at >= $2 AND created_at < $3 AND intake_key IS NOT NULL AND failure_code <> $4`,
		consumer, millis(from), millis(to), job.QuotaExceeded).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the jobs that invites made for consumer %s: %w", consumer, err)
	}
	return n, nil
}

// SaveJobRequest writes back what was asked for with a job, which changes only
// before it is dispatched; joinAt is SaveJob's.
func (q *Queries) SaveJobRequest(ctx context.Context, r job.Record) error {
	autoLeave, err := json.Marshal(r.AutoLeave)
	if err != nil {
		return fmt.Errorf("encode autoLeave: %w", err)
	}
	_, err = q.exec(ctx, `
		UPDATE jobs SET
			meeting_url = $2, platform = $3, display_name = $4, on_status_change = $5, on_finalize = $6,
			metadata = $7, auto_leave = $8, ical_uid = $9, ical_uid_hash = $10, intake_key = $11
		WHERE id = $1`,
		r.ID, r.MeetingURL, r.Platform, keptText(r.DisplayName), r.Webhooks.OnStatusChange, r.Webhooks.OnFinalize,
		string(r.Metadata), string(autoLeave), keptText(r.ICalUID), icalHash(r.ICalUID), nullText(r.CalendarKey))
	if err != nil {
		return fmt.Errorf("save what is asked for with job %s: %w", r.ID, err)
	}
	return nil
}

// icalHash is what an icalUid is found by; NULL for none.
func icalHash(uid string) sql.NullString {
	if uid == "" {
		return sql.NullString{}
	}
	return sql.NullString{String: externalHash(uid), Valid: true}
}

// nullText is a text that may be unset as it is kept.
func nullText(text string) sql.NullString {
	return sql.NullString{String: text, Valid: text != ""}
}
