package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
)

// ownCalendars selects the calendars of a caller: $1 is the consumer and $2 the mode of the
// key. Calendars send live bots, so that none exists for a test key.
const ownCalendars = `WHERE consumer_id = $1 AND $2 = 'live' AND deleted = 0 AND due_at IS NOT NULL`

const selectCalendars = `SELECT id, consumer_id, name, sealed, address, email, rules, job, poll_ms, created_at,
	state, error, failures, validators, read_at, synced_at, due_at, lease, revision, deleted, provider, revoked, watch, invited
	FROM calendars `

func scanCalendar(r row, c *calendarsync.Calendar) error {
	var revoked bool
	err := r.Scan(&c.ID, &c.ConsumerID, &c.Name, &c.Sealed, &c.Address, &c.Email, jsonColumn{&c.Rules}, jsonColumn{&c.Job},
		&c.Poll, &c.CreatedAt,
		&c.State, &c.Error, &c.Failures, jsonColumn{&c.Validators}, &c.ReadAt, &c.SyncedAt, &c.DueAt,
		&c.Lease, &c.Revision, &c.Deleted, &c.Provider, &revoked, jsonColumn{&c.Watch}, &c.Invited)
	if revoked {
		c.State = calendarsync.Revoked
	}
	return err
}

// InsertCalendar inserts a calendar. It returns a *job.Error with InvalidState if its
// consumer has as many as it may have.
func (s *Store) InsertCalendar(ctx context.Context, c calendarsync.Calendar) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if err := tx.LockConsumer(ctx, c.ConsumerID); err != nil {
			return err
		}
		n, err := queryValue[int](ctx, tx.Reader, "count calendars",
			`SELECT COUNT(*) FROM calendars WHERE consumer_id = $1 AND due_at IS NOT NULL`, c.ConsumerID)
		if err != nil {
			return err
		}
		if n >= calendarsync.MaxCalendars {
			return job.NewInvalidState("%d calendars are connected, and there can be no more", n)
		}
		return tx.exec(ctx, "insert a calendar", `INSERT INTO calendars (id, consumer_id, name, sealed, address, email, rules, job, poll_ms,
			created_at, validators,
				state, error, failures, due_at, lease, revision, deleted, provider)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'waiting', '', 0, $12, '', 0, 0, $13)`,
			c.ID, c.ConsumerID, c.Name, c.Sealed, c.Address, c.Email, jsonValue{c.Rules}, jsonValue{c.Job}, c.Poll,
			c.CreatedAt, jsonValue{c.Validators}, c.DueAt, c.Provider)
	})
}

// Calendar returns a calendar of the caller, or a *job.Error with NotFound.
func (db *Reader) Calendar(ctx context.Context, caller account.Caller, id uuid.UUID) (calendarsync.Calendar, error) {
	return queryOne(ctx, db, "calendar", scanCalendar, selectCalendars+ownCalendars+` AND id = $3`, caller.ConsumerID, caller.Mode, id)
}

// Calendars returns the calendars of the caller, oldest first. It uses the index
// calendars_consumer.
func (db *Reader) Calendars(ctx context.Context, caller account.Caller) ([]calendarsync.Calendar, error) {
	return List(ctx, db, "list calendars", scanCalendar, selectCalendars+ownCalendars+` ORDER BY id`, caller.ConsumerID, caller.Mode)
}

// ChangeCalendar changes the settings of a calendar with change, and makes it due. A sync
// that runs with the former settings is repeated.
func (s *Store) ChangeCalendar(
	ctx context.Context, caller account.Caller, id uuid.UUID, now time.Time, change func(*calendarsync.Calendar) error,
) (changed calendarsync.Calendar, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		query := selectCalendars + ownCalendars + ` AND id = $3` + tx.dialect.ForUpdate
		c, err := queryOne(ctx, tx.Reader, "calendar", scanCalendar, query, caller.ConsumerID, caller.Mode, id)
		if err != nil {
			return err
		}
		if err := change(&c); err != nil {
			return err
		}
		c.Revision++
		c.DueAt, c.Lease, c.Validators = now, "", calendarsync.Validators{}
		changed = c
		return tx.exec(ctx, "change a calendar", `UPDATE calendars SET name = $2, sealed = $3, address = $4, email = $5, rules = $6, job = $7,
			poll_ms = $8, validators = $9, due_at = $10, lease = '', revision = $11 WHERE id = $1`,
			c.ID, c.Name, c.Sealed, c.Address, c.Email, jsonValue{c.Rules}, jsonValue{c.Job}, c.Poll, jsonValue{c.Validators},
			now, c.Revision)
	})
	return changed, err
}

// DeleteCalendar hides a calendar, and makes it and its events due, so that their jobs
// are cancelled. It returns a *job.Error with NotFound without one.
func (s *Store) DeleteCalendar(ctx context.Context, caller account.Caller, id uuid.UUID, now time.Time) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		err := tx.change(ctx, "calendar", `UPDATE calendars SET deleted = 1, due_at = $3, lease = '', revision = revision + 1
			WHERE id = (SELECT id FROM calendars `+ownCalendars+` AND id = $4)`, caller.ConsumerID, caller.Mode, now, id)
		if err != nil {
			return err
		}
		return tx.exec(ctx, "delete the events of a calendar", `UPDATE calendar_events SET removed = 1, dirty = 1 WHERE calendar_id = $1`, id)
	})
}

// DueCalendars returns the consumers that have calendars due.
func (db *Reader) DueCalendars(ctx context.Context, now time.Time) ([]string, error) {
	return List(ctx, db, "find due calendars", scanColumn[string], `SELECT DISTINCT consumer_id FROM calendars WHERE due_at <= $1`, now)
}

// ClaimDueCalendar leases the calendar of a consumer that has been due for the longest
// time; false when none is due. It uses the index calendars_due.
func (s *Store) ClaimDueCalendar(ctx context.Context, consumer string, now, until time.Time) (calendarsync.Calendar, bool, error) {
	return s.claimCalendar(ctx, until, `WHERE due_at <= $1 AND consumer_id = $2 ORDER BY due_at LIMIT 1`,
		now, consumer)
}

// ExtendSync sets the end of the lease of a calendar. It reports false if the lease was lost.
func (s *Store) ExtendSync(ctx context.Context, c calendarsync.Calendar, until time.Time) (held bool, err error) {
	n, err := s.affected(ctx, "extend the lease of a calendar", `UPDATE calendars SET due_at = $3 WHERE id = $1 AND lease = $2`,
		c.ID, c.Lease, until)
	return n > 0, err
}

// ClaimCalendar leases a calendar of the caller, also if it is not due or another lease
// of it is valid, which then is lost. It reports false if there is none.
func (s *Store) ClaimCalendar(
	ctx context.Context, caller account.Caller, id uuid.UUID, until time.Time,
) (calendarsync.Calendar, bool, error) {
	return s.claimCalendar(ctx, until, ownCalendars+` AND id = $3`, caller.ConsumerID, caller.Mode, id)
}

func (s *Store) claimCalendar(ctx context.Context, until time.Time, which string,
	args ...any) (claimed calendarsync.Calendar, ok bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
		claimed, ok, err = first(ctx, tx.Reader, "claim a calendar", scanCalendar, selectCalendars+which+tx.dialect.SkipLocked,
			args...)
		if !ok || err != nil {
			return err
		}
		claimed.Lease, claimed.DueAt = uuid.NewString(), until
		return tx.exec(ctx, "lease a calendar", `UPDATE calendars SET lease = $2, due_at = $3 WHERE id = $1`, claimed.ID, claimed.Lease,
			until)
	})
	return claimed, ok, err
}

// LockSync implements calendarsync.SyncTx.
func (tx *Tx) LockSync(ctx context.Context, c calendarsync.Calendar) (stored calendarsync.Calendar, held bool, err error) {
	return first(ctx, tx.Reader, "read the lease of a calendar", scanCalendar,
		selectCalendars+`WHERE id = $1 AND lease = $2 AND lease <> ''`+tx.dialect.ForUpdate, c.ID, c.Lease)
}

// WriteSync implements calendarsync.Store.
func (s *Store) WriteSync(ctx context.Context, fn func(context.Context, calendarsync.SyncTx) error) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error { return fn(ctx, tx) })
}

// SaveSync implements calendarsync.SyncTx.
func (tx *Tx) SaveSync(ctx context.Context, c calendarsync.Calendar) error {
	state := c.State
	if state == calendarsync.Revoked {
		state = calendarsync.Failing
	}
	return tx.exec(ctx, "save the progress of a calendar", `UPDATE calendars
		SET state = $2, error = $3, failures = $4, validators = $5, read_at = $6, synced_at = $7, due_at = $8, lease = $9, revoked = $10,
		watch = $11, invited = $12, email = CASE WHEN email = '' THEN $13 ELSE email END WHERE id = $1`,
		c.ID, state, c.Error, c.Failures, jsonValue{c.Validators}, NullTime(c.ReadAt), NullTime(c.SyncedAt), c.DueAt, c.Lease,
		c.State == calendarsync.Revoked, jsonValue{c.Watch}, c.Invited, c.Email)
}

// ChangeSync changes the progress of a calendar with change. It reports false if there is
// no such calendar.
func (s *Store) ChangeSync(ctx context.Context, id uuid.UUID, change func(*calendarsync.Sync)) (found bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
		var c calendarsync.Calendar
		c, found, err = first(ctx, tx.Reader, "read a calendar", scanCalendar,
			selectCalendars+`WHERE id = $1 AND deleted = 0`+tx.dialect.ForUpdate, id)
		if !found || err != nil {
			return err
		}
		change(&c.Sync)
		return tx.SaveSync(ctx, c)
	})
	return found, err
}

// ReplaceSealed replaces what gives access to a calendar, unless a person has.
func (s *Store) ReplaceSealed(ctx context.Context, c calendarsync.Calendar, sealed string) error {
	return s.exec(ctx, "save the access to a calendar", `UPDATE calendars SET sealed = $3
		WHERE id = $1 AND sealed = $2`, c.ID, c.Sealed, sealed)
}

// RemoveCalendar removes a deleted calendar whose jobs are cancelled.
func (s *Store) RemoveCalendar(ctx context.Context, c calendarsync.Calendar) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if _, held, err := tx.LockSync(ctx, c); !held || err != nil {
			return err
		}
		return tx.exec(ctx, "remove a calendar", `DELETE FROM calendars WHERE id = $1`, c.ID)
	})
}
