package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/jobs/signin"
)

// MaxAccounts is how many accounts a team, or the operator, can keep.
const MaxAccounts = 200

const selectAccounts = `SELECT id, consumer_id, teams, platform, label, address, account_group, max_meetings, file, saml, sealed,
	signed_in_until, renewed_at, rests_until, last_used_at, created_at FROM accounts `

func scanAccount(r row, a *signin.Account) error {
	return r.Scan(&a.ID, &a.ConsumerID, jsonColumn{&a.Teams}, &a.Platform, &a.Label, &a.Address, &a.Group, &a.MaxMeetings, &a.File, &a.SAML,
		&a.Sealed,
		&a.SignedInUntil, &a.RenewedAt, &a.RestsUntil, &a.LastUsedAt, &a.CreatedAt)
}

// SignInAccounts returns the accounts that the bots of a consumer may use: its own, and those of the
// operator; with uuid.Nil, all accounts. They are in the order of their platforms and labels, and have
// their uses.
func (db *Reader) SignInAccounts(ctx context.Context, consumer uuid.UUID, now time.Time) ([]signin.Account, error) {
	return db.signInAccounts(ctx, consumer, now, `ORDER BY platform, lower(label), id`)
}

// LockSignInAccounts is SignInAccounts for a transaction that lends one: others that do wait.
func (tx *Tx) LockSignInAccounts(ctx context.Context, consumer uuid.UUID, now time.Time) ([]signin.Account, error) {
	return tx.signInAccounts(ctx, consumer, now, `ORDER BY id`+tx.dialect.ForUpdate)
}

func (db *Reader) signInAccounts(ctx context.Context, consumer uuid.UUID, now time.Time, order string) ([]signin.Account, error) {
	accounts, err := List(ctx, db, "read accounts", scanAccount, selectAccounts+`WHERE $1 = $2 OR consumer_id = $1 OR consumer_id IS NULL `+order,
		consumer, uuid.Nil)
	if err != nil || len(accounts) == 0 {
		return nil, err
	}
	if consumer != uuid.Nil {
		team, err := db.Consumer(ctx, consumer)
		if err != nil && !job.IsNotFound(err) {
			return nil, err
		}
		accounts = slices.DeleteFunc(accounts, func(a signin.Account) bool {
			return a.ConsumerID == uuid.Nil && len(a.Teams) > 0 && !slices.Contains(a.Teams, team.Name)
		})
	}
	err = db.forEach(ctx, "read the uses of accounts", func(r row) error {
		var id uuid.UUID
		var use signin.Use
		err := r.Scan(&id, &use.JobID, &use.ConsumerID, &use.Meeting, &use.Reason, &use.At, &use.Active, &use.Status, &use.FailureCode,
			&use.EndedAt)
		if i := slices.IndexFunc(accounts, func(a signin.Account) bool { return a.ID == id }); i >= 0 {
			accounts[i].Uses = append(accounts[i].Uses, use)
		}
		return err
	}, `SELECT u.account_id, u.job_id, j.consumer_id, j.meeting_key, u.reason, u.at, CASE WHEN u.ended_at IS NULL AND j.wake_at IS NOT NULL THEN 1 ELSE 0 END,
			j.status, j.failure_code, j.status_since
		FROM accounts a JOIN account_uses u ON u.account_id = a.id JOIN jobs j ON j.id = u.job_id
		WHERE ($1 = $2 OR a.consumer_id = $1 OR a.consumer_id IS NULL) AND (u.at > $3 OR u.ended_at IS NULL AND j.wake_at IS NOT NULL)
		ORDER BY u.at DESC`, consumer, uuid.Nil, now.Add(-72*time.Hour))
	return accounts, err
}

// AddAccount adds an account. A label that its owner uses for the platform already, or too many
// accounts, are a *job.Error with InvalidState.
func (s *Store) AddAccount(ctx context.Context, a signin.Account) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		kept, err := queryValue[int](ctx, tx.Reader, "count accounts", `SELECT COUNT(*) FROM accounts
			WHERE COALESCE(consumer_id, '') = COALESCE($1, '')`, nullID(a.ConsumerID))
		if err != nil {
			return err
		}
		if kept >= MaxAccounts {
			return job.NewInvalidState("there are %d accounts, which is the maximum", MaxAccounts)
		}
		n, err := tx.Affected(ctx, "add an account", `
			INSERT INTO accounts (id, consumer_id, teams, platform, label, address, account_group, max_meetings, file, saml, sealed, signed_in_until,
				renewed_at, rests_until, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT DO NOTHING`,
			a.ID, nullID(a.ConsumerID), jsonValue{a.Teams}, a.Platform, a.Label, a.Address, a.Group, a.MaxMeetings, a.File, a.SAML, a.Sealed,
			NullTime(a.SignedInUntil), a.RenewedAt, NullTime(a.RestsUntil), a.CreatedAt)
		if err == nil && n == 0 {
			err = job.NewInvalidState("there is an account %q for this platform already", a.Label)
		}
		return err
	})
}

// ChangeAccount changes an account, which change gets without its uses. One that does not exist is a
// *job.Error with NotFound.
func (s *Store) ChangeAccount(ctx context.Context, id uuid.UUID, change func(*signin.Account) error) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		a, err := queryOne(ctx, tx.Reader, "account", scanAccount, selectAccounts+`WHERE id = $1`+tx.dialect.ForUpdate, id)
		if err != nil {
			return err
		}
		if err := change(&a); err != nil {
			return err
		}
		return tx.exec(ctx, "change an account", `UPDATE accounts SET teams = $2, label = $3, address = $4, account_group = $5,
			max_meetings = $6, sealed = $7, signed_in_until = $8, renewed_at = $9, rests_until = $10 WHERE id = $1`,
			a.ID, jsonValue{a.Teams}, a.Label, a.Address, a.Group, a.MaxMeetings, a.Sealed, NullTime(a.SignedInUntil), a.RenewedAt,
			NullTime(a.RestsUntil))
	})
}

// DeleteAccount deletes an account, or returns a *job.Error with NotFound.
func (s *Store) DeleteAccount(ctx context.Context, id uuid.UUID) error {
	return s.change(ctx, "account", `DELETE FROM accounts WHERE id = $1`, id)
}

// GuestsOfJob returns the signin.GuestKeys of the people on the invitations of a job's meeting. It uses the index
// calendar_events_job.
func (db *Reader) GuestsOfJob(ctx context.Context, jobID uuid.UUID) (string, error) {
	guests, err := List(ctx, db, "read the guests of a meeting", scanColumn[string],
		`SELECT guests FROM calendar_events WHERE job_id = $1 AND job_id <> '' AND removed = 0 LIMIT 50`, jobID.String())
	return strings.Join(guests, " "), err
}

// LendAccount lends an account to a job.
func (tx *Tx) LendAccount(ctx context.Context, account uuid.UUID, use signin.Use) error {
	if err := tx.exec(ctx, "note the use of an account", `UPDATE accounts SET last_used_at = $2 WHERE id = $1`, account, use.At); err != nil {
		return err
	}
	return tx.exec(ctx, "lend an account", `INSERT INTO account_uses (account_id, job_id, reason, at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (account_id, job_id) DO UPDATE SET reason = excluded.reason, at = excluded.at, ended_at = NULL`,
		account, use.JobID, use.Reason, use.At)
}

// TakeBackAccount ends the use of accounts by a job, whose bot is no longer signed in.
func (tx *Tx) TakeBackAccount(ctx context.Context, jobID uuid.UUID, now time.Time) error {
	return tx.exec(ctx, "take back an account", `UPDATE account_uses SET ended_at = $2 WHERE job_id = $1 AND ended_at IS NULL`, jobID, now)
}

// SAMLSecret returns the encrypted key of an owner of accounts, which make returns at first.
func (s *Store) SAMLSecret(ctx context.Context, owner uuid.UUID, make func() (string, error)) (string, error) {
	read := func() (string, error) {
		return queryOne(ctx, s.Reader, "key for SAML", scanColumn[string], `SELECT sealed FROM saml_secrets
			WHERE COALESCE(consumer_id, '') = COALESCE($1, '')`, nullID(owner))
	}
	sealed, err := read()
	if !job.IsNotFound(err) {
		return sealed, err
	}
	if sealed, err = make(); err == nil {
		err = s.exec(ctx, "save a key for SAML", `INSERT INTO saml_secrets (consumer_id, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
			nullID(owner), sealed)
	}
	if err != nil {
		return "", err
	}
	return read()
}
