package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
)

const selectConsumers = `SELECT id, name, email, webhook_secret, previous_secret, previous_secret_expires,
	webhook_url, webhook_version, created_at, retention_ms, job_retention_ms, transcript_event, command_event, recording, output, sign_in
	FROM consumers `

// EnsureConsumer implements account.Store.
func (s *Store) EnsureConsumer(ctx context.Context, c account.Consumer) (account.Consumer, error) {
	var consumer account.Consumer
	err := s.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
		if _, err = tx.insertConsumer(ctx, c); err != nil {
			return err
		}
		if err = tx.exec(ctx, "set the e-mail of a consumer", `UPDATE consumers SET email = $2
			WHERE name = $1 AND email = ''`, c.Name, c.Email); err != nil {
			return err
		}
		consumer, err = tx.ConsumerByName(ctx, c.Name)
		return err
	})
	return consumer, err
}

// insertConsumer inserts a consumer unless its name is taken, and returns the
// number of inserted rows.
func (tx *Tx) insertConsumer(ctx context.Context, c account.Consumer) (int64, error) {
	return tx.Affected(ctx, "insert a consumer", `
		INSERT INTO consumers (id, name, email, webhook_secret, previous_secret, previous_secret_expires,
			webhook_url, webhook_version, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (name) DO NOTHING`,
		c.ID, c.Name, c.Email, c.WebhookSecret, c.PreviousWebhookSecret, NullTime(c.PreviousSecretExpires),
		c.WebhookURL, c.WebhookVersion, c.CreatedAt)
}

const selectConsumer = selectConsumers + `WHERE id = $1`

// Consumer returns the consumer, or a *job.Error with NotFound.
func (db *Reader) Consumer(ctx context.Context, id uuid.UUID) (account.Consumer, error) {
	return db.oneConsumer(ctx, selectConsumer, id)
}

// ConsumerByName returns the consumer, or a *job.Error with NotFound.
func (db *Reader) ConsumerByName(ctx context.Context, name string) (account.Consumer, error) {
	return db.oneConsumer(ctx, selectConsumers+`WHERE name = $1`, name)
}

// maxNameTries bounds the search for a free consumer name.
const maxNameTries = 100

// EnsureConsumerByEmail returns the oldest consumer with the e-mail of c. If
// there is none it inserts c, with a suffix when its name is taken: equal names
// do not prove equal addresses. c.Email must be in lower case; the case of
// stored addresses is ignored.
func (tx *Tx) EnsureConsumerByEmail(ctx context.Context, c account.Consumer) (found account.Consumer, err error) {
	name := c.Name
	for try := 2; try < maxNameTries; try++ {
		// A concurrent invite of this address may have taken the name.
		if found, err = tx.ConsumerByEmail(ctx, c.Email); !job.IsNotFound(err) {
			return found, err
		}
		n, err := tx.insertConsumer(ctx, c)
		if err != nil {
			return found, err
		}
		if n == 1 {
			return tx.Consumer(ctx, c.ID)
		}
		c.Name = fmt.Sprintf("%s (%d)", name, try)
	}
	return found, fmt.Errorf("find a free name for the consumer of an e-mail: gave up after %d tries", maxNameTries)
}

// ConsumerByEmail returns the oldest consumer with the e-mail, given in lower
// case, or else the one that has its address or domain, or a *job.Error with NotFound. It uses the
// index consumers_email.
func (db *Reader) ConsumerByEmail(ctx context.Context, email string) (account.Consumer, error) {
	found, err := db.oneConsumer(ctx,
		selectConsumers+`WHERE lower(email) = $1 ORDER BY created_at, id LIMIT 1`, email)
	if !job.IsNotFound(err) {
		return found, err
	}
	domain := email[max(0, strings.LastIndexByte(email, '@')):]
	return db.oneConsumer(ctx, selectConsumers+`WHERE id = (SELECT consumer_id FROM consumer_mail
		WHERE address IN ($1, $2) ORDER BY CASE address WHEN $1 THEN 0 ELSE 1 END LIMIT 1)`, email, domain)
}

// ConsumerMail returns the mail addresses of a consumer beside its own, and its domains with an @ before them.
func (db *Reader) ConsumerMail(ctx context.Context, id uuid.UUID) ([]string, error) {
	return List(ctx, db, "read the mail addresses of a consumer", scanColumn[string], `SELECT address FROM consumer_mail WHERE consumer_id = $1
		ORDER BY address`, id)
}

// SetConsumerMail replaces them. An address that another consumer has is a *job.Error with InvalidState.
func (s *Store) SetConsumerMail(ctx context.Context, id uuid.UUID, addresses []string) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if err := tx.exec(ctx, "replace the mail addresses of a consumer", `DELETE FROM consumer_mail WHERE consumer_id = $1`, id); err != nil {
			return err
		}
		for _, address := range addresses {
			n, err := tx.Affected(ctx, "save a mail address of a consumer", `INSERT INTO consumer_mail (address, consumer_id) VALUES ($1, $2)
				ON CONFLICT (address) DO NOTHING`, address, id)
			if err == nil && n == 0 {
				err = job.NewInvalidState("another team has %s", address)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// LockConsumer blocks other LockConsumer calls for the consumer until the
// transaction ends. It does not block inserts that refer to the consumer.
func (tx *Tx) LockConsumer(ctx context.Context, id uuid.UUID) error {
	return tx.queryRow(ctx, "lock a consumer", `SELECT id FROM consumers WHERE id = $1`+tx.dialect.ForUpdate, id).Scan(new(uuid.UUID))
}

// Consumers returns all consumers, by name.
func (db *Reader) Consumers(ctx context.Context) ([]account.Consumer, error) {
	return List(ctx, db, "read consumers", scanConsumer, selectConsumers+`ORDER BY name`)
}

func (db *Reader) oneConsumer(ctx context.Context, query string, args ...any) (account.Consumer, error) {
	return queryOne(ctx, db, "consumer", scanConsumer, query, args...)
}

func scanConsumer(r row, c *account.Consumer) error {
	return r.Scan(&c.ID, &c.Name, &c.Email, &c.WebhookSecret, &c.PreviousWebhookSecret, &c.PreviousSecretExpires,
		&c.WebhookURL, &c.WebhookVersion, &c.CreatedAt, &c.Retention, &c.JobRetention, &c.TranscriptEvent, &c.CommandEvent,
		jsonColumn{&c.Recording}, jsonColumn{&c.Output}, &c.SignIn)
}

// ChangeConsumer changes the settings of a consumer: what its webhooks and jobs are like, and
// how long they are kept.
func (s *Store) ChangeConsumer(ctx context.Context, id uuid.UUID, change func(*account.Consumer)) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		c, err := tx.oneConsumer(ctx, selectConsumer+tx.dialect.ForUpdate, id)
		if err != nil {
			return err
		}
		change(&c)
		return tx.exec(ctx, "change a consumer", `UPDATE consumers SET webhook_url = $2, webhook_version = $3, transcript_event = $4,
			command_event = $5, recording = $6, output = $7, retention_ms = $8, job_retention_ms = $9, sign_in = $10 WHERE id = $1`,
			id, c.WebhookURL, c.WebhookVersion, c.TranscriptEvent, c.CommandEvent, jsonValue{c.Recording}, jsonValue{c.Output}, c.Retention,
			c.JobRetention, c.SignIn)
	})
}

// RotateWebhookSecret implements account.SecretStore. Deliveries that are
// already claimed are signed with the secrets of their claim.
func (s *Store) RotateWebhookSecret(ctx context.Context, consumer uuid.UUID, secret string, previousUntil time.Time) error {
	return s.change(ctx, "consumer", `
		UPDATE consumers SET previous_secret = webhook_secret, previous_secret_expires = $3, webhook_secret = $2 WHERE id = $1`,
		consumer, secret, previousUntil)
}

// RetireConsumer prepares a consumer for deletion: it revokes its keys and ends
// the sessions of its users, so that it cannot create jobs. The error is a
// *job.Error with InvalidState while jobs of the team have not ended, and
// when one of its users is the only operator.
func (s *Store) RetireConsumer(ctx context.Context, consumer uuid.UUID, now time.Time) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if err := tx.LockConsumer(ctx, consumer); err != nil {
			return err
		}
		var running, operators, others int
		err := tx.queryRow(ctx, "count jobs and operators", `SELECT
			(SELECT COUNT(*) FROM jobs WHERE consumer_id = $1 AND wake_at IS NOT NULL),
			(SELECT COUNT(*) FROM users WHERE consumer_id = $1 AND operator = 1),
			(SELECT COUNT(*) FROM users WHERE consumer_id <> $1 AND operator = 1)`, consumer).Scan(&running, &operators, &others)
		if err != nil {
			return err
		}
		if running > 0 {
			return job.NewInvalidState("%d jobs of the team have not ended; cancel them, or wait until they have", running)
		}
		if operators > 0 && others == 0 {
			return job.NewInvalidState("the only operators are users of this consumer")
		}
		if err := tx.exec(ctx, "revoke the consumer's keys", `UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $2)
			WHERE consumer_id = $1`, consumer, now); err != nil {
			return err
		}
		return tx.exec(ctx, "end the sessions of the consumer's users", `DELETE FROM sessions
			WHERE user_id IN (SELECT id FROM users WHERE consumer_id = $1)`, consumer)
	})
}

// DeleteConsumer deletes a consumer, everything that refers to it, and the payment events,
// subscriptions and customers that name it or have its e-mail. Its jobs must have been
// deleted before.
func (s *Store) DeleteConsumer(ctx context.Context, consumer uuid.UUID) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		c, err := tx.oneConsumer(ctx, selectConsumer+tx.dialect.ForDelete, consumer) // after new jobs
		if err != nil {
			return err
		}
		hasJobs, err := queryValue[bool](ctx, tx.Reader, "look for jobs of a consumer",
			`SELECT EXISTS (SELECT 1 FROM jobs WHERE consumer_id = $1)`, consumer)
		if err != nil {
			return err
		}
		if hasJobs {
			return job.NewInvalidState("the team has jobs")
		}
		email := strings.ToLower(c.Email)
		others, err := queryValue[int](ctx, tx.Reader, "find consumers with the same e-mail", `SELECT COUNT(*) FROM consumers
			WHERE lower(email) = $1 AND id <> $2`, email, c.ID)
		if err != nil {
			return err
		}
		if others > 0 {
			email = ""
		}
		// The payments that name the consumer, and those that name none and belong to its customers or, unless another consumer
		// has the same e-mail, have its e-mail.
		const (
			customers     = `SELECT id FROM payment_customers WHERE consumer IN ($1, $2) OR consumer = '' AND email = $3 AND email <> ''`
			subscriptions = `SELECT id FROM subscriptions WHERE consumer IN ($1, $2) OR consumer = '' AND customer_id <> '' AND customer_id IN (` +
				customers + `)`
		)
		if err := tx.execAll(ctx, "delete the payments of a consumer", []string{
			`DELETE FROM payment_events WHERE consumer IN ($1, $2) OR consumer = '' AND (customer_id = '' AND email = $3 AND email <> ''
				OR subscription_id IN (` + subscriptions + `) OR customer_id IN (` + customers + `))`,
			`DELETE FROM subscriptions WHERE id IN (` + subscriptions + `)`,
			`DELETE FROM payment_customers WHERE id IN (` + customers + `)`,
		}, c.ID.String(), c.Name, email); err != nil {
			return err
		}
		return tx.execAll(ctx, "delete consumer "+consumer.String(), []string{
			`DELETE FROM consumer_rotation WHERE consumer_id = $1`,
			`DELETE FROM consumers WHERE id = $1`,
		}, consumer)
	})
}

// InsertKey implements account.Store.
func (s *Store) InsertKey(ctx context.Context, k account.Key) error {
	return s.exec(ctx, "insert a key", `INSERT INTO api_keys (id, consumer_id, name, mode, scope, prefix, hash, created_at, created_by,
		expires_at, user_id, reference)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		k.ID, k.ConsumerID, k.Name, k.Mode, k.Scope, k.Prefix, k.Hash, k.CreatedAt, k.CreatedBy, NullTime(k.ExpiresAt), nullID(k.UserID),
		k.Reference)
}

const selectKeys = `SELECT k.id, k.consumer_id, c.name, k.name, k.mode, k.scope, k.prefix, k.hash, k.created_at, k.created_by,
	k.last_used_at, k.expires_at, k.revoked_at,
	k.user_id, k.reference, u.role FROM api_keys k JOIN consumers c ON c.id = k.consumer_id LEFT JOIN users u ON u.id = k.user_id `

// KeyByHash uses the UNIQUE index of the hash.
func (db *Reader) KeyByHash(ctx context.Context, hash string) (account.Key, error) {
	return queryOne(ctx, db, "key", scanKey, selectKeys+`WHERE k.hash = $1`, hash)
}

// KeyByHash implements account.Store.
func (s *Store) KeyByHash(ctx context.Context, hash string) (account.Key, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // each request begins with this: a server that has vanished is noticed
	defer cancel()
	key, err := s.Reader.KeyByHash(ctx, hash)
	if s.postgres != nil {
		s.postgres.ResetAfter(err)
	}
	return key, err
}

// Keys implements account.Store. It returns all keys, oldest first.
func (db *Reader) Keys(ctx context.Context) ([]account.Key, error) {
	return List(ctx, db, "read keys", scanKey, selectKeys+`ORDER BY k.id`)
}

// ConsumerKeys returns the keys of a consumer, newest first. It uses the index
// api_keys_consumer.
func (db *Reader) ConsumerKeys(ctx context.Context, consumerID uuid.UUID) ([]account.Key, error) {
	return List(ctx, db, "read the keys of a consumer", scanKey, selectKeys+`WHERE k.consumer_id = $1 ORDER BY k.id DESC`, consumerID)
}

// RevokeConsumerKey implements account.Store.
func (s *Store) RevokeConsumerKey(ctx context.Context, consumerID, id uuid.UUID, now time.Time) (bool, error) {
	n, err := s.affected(ctx, "revoke a key", `UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $2)
		WHERE id = $1 AND consumer_id = $3`, id, now, consumerID)
	return n == 1, err
}

// TouchKey implements account.Store.
func (s *Store) TouchKey(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.exec(ctx, "note the use of a key", `UPDATE api_keys SET last_used_at = $2 WHERE id = $1`, id, now)
}

func scanKey(r row, k *account.Key) error {
	var role sql.NullString
	err := r.Scan(&k.ID, &k.ConsumerID, &k.Consumer, &k.Name, &k.Mode, &k.Scope, &k.Prefix, &k.Hash,
		&k.CreatedAt, &k.CreatedBy, &k.LastUsedAt, &k.ExpiresAt, &k.RevokedAt, &k.UserID,
		&k.Reference, &role)
	if k.UserID != uuid.Nil {
		*k = k.Limit(account.Role(role.String))
	}
	return err
}

// AppendAudit adds an entry to an audit log.
func (s *Store) AppendAudit(ctx context.Context, e account.AuditEntry) error {
	return s.exec(ctx, "append to the audit log", `INSERT INTO audit_log (id, consumer_id, at, actor, action, target)
		VALUES ($1, $2, $3, $4, $5, $6)`,
		e.ID, e.ConsumerID, e.At, e.Actor, e.Action, e.Target)
}

// AuditLog returns up to limit entries of a consumer, newest first, those older than the entry with that ID if it is not
// uuid.Nil. It uses the index audit_log_consumer.
func (db *Reader) AuditLog(ctx context.Context, consumerID, before uuid.UUID, limit int) ([]account.AuditEntry, error) {
	if before == uuid.Nil {
		before = uuid.Max
	}
	return List(ctx, db, "read the audit log", func(r row, e *account.AuditEntry) error {
		return r.Scan(&e.ID, &e.ConsumerID, &e.At, &e.Actor, &e.Action, &e.Target)
	}, `SELECT id, consumer_id, at, actor, action, target FROM audit_log WHERE consumer_id = $1 AND id < $2 ORDER BY id DESC
		LIMIT $3`, consumerID, before, limit)
}
