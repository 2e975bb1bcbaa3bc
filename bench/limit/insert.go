package limit

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"standin/bench/seed"
)

// maxGroup is the maximum number of changes that share a commit.
const maxGroup = 256

// oneTable is the table of OneTable.
const oneTable = `CREATE TABLE IF NOT EXISTS limit_jobs (
	id TEXT PRIMARY KEY, external_id TEXT NOT NULL, meeting_url TEXT NOT NULL, join_at BIGINT NOT NULL, metadata TEXT NOT NULL)`

const (
	oneTableInsert = `INSERT INTO limit_jobs (id, external_id, meeting_url, join_at, metadata) VALUES ($1, $2, $3, $4, $5)`
	addDelivered   = `ALTER TABLE limit_jobs ADD COLUMN delivered BOOLEAN NOT NULL DEFAULT FALSE`
	setDelivered   = `UPDATE limit_jobs SET delivered = TRUE WHERE id = $1`
)

// statement is a statement with its arguments.
type statement struct {
	text   string
	values func(response) []any
}

// statements are the statements of a kind.
type statements struct {
	insert    []statement
	delivered []statement // store that a webhook was delivered; none if the kind sends none
}

// newInserter returns the inserter of a kind. JobsTable and CheckedJobs need a database
// of Standin with one job, which they copy, and EventTables one with the jobs of
// seed.JobID(0) to seed.JobID(EventJobs - 1).
func newInserter(ctx context.Context, kind Kind, address string) (inserter, error) {
	if kind == NoDatabase {
		return nothing{}, nil
	}
	shared := seed.IsPostgres(address)
	driver, source := "pgx", address
	if !shared {
		driver = "sqlite"
		source = "file:" + (&url.URL{Path: address}).EscapedPath() +
			"?_pragma=busy_timeout(15000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=temp_store(MEMORY)&_pragma=foreign_keys(ON)"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	of, err := statementsOf(ctx, db, kind)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if !shared {
		w, err := newSQLiteWriter(ctx, db, of)
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		return newGroups(w, func() { _ = db.Close() }), nil
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		return nil, err
	}
	return newGroups(postgresWriter{pool, of}, pool.Close), nil
}

// statementsOf returns the statements of a kind. It creates the table of OneTable
// and Webhook.
func statementsOf(ctx context.Context, db *sql.DB, kind Kind) (all statements, err error) {
	switch kind {
	case JobsTable, CheckedJobs:
		return jobsTable(ctx, db)
	case EventTables:
		return eventTables(ctx, db)
	}
	all.insert = []statement{{oneTableInsert, func(r response) []any {
		return []any{r.ID.String(), r.ExternalID, r.MeetingURL, r.JoinAt.UnixMilli(), string(r.Metadata)}
	}}}
	_, err = db.ExecContext(ctx, oneTable)
	if err == nil && kind == Webhook {
		all.delivered = []statement{{setDelivered, func(r response) []any { return []any{r.ID.String()} }}}
		_, err = db.ExecContext(ctx, addDelivered)
	}
	return all, err
}

// EventJobs is the number of jobs whose events EventTables stores.
const EventJobs = 512

// The statements of EventTables. They change the columns that Standin changes.
const (
	changeJob = `UPDATE jobs SET status = $1, previous_status = $2, status_since = $3, sequence = sequence + 1, heartbeat_at = $3,
		bot_events = bot_events + 1, bot_event_bytes = bot_event_bytes + $4 WHERE id = $5`
	insertEntry = `INSERT INTO timeline (id, job_id, attempt, source, kind, emitted_at, received_at, applied, previous_status, status)
		VALUES ($1, $2, 0, 'bot', 'lifecycle.recording_started', $3, $3, 1, $4, $5)`
	insertDelivery = `INSERT INTO deliveries (id, job_id, subject, consumer_id, mode, url, endpoint, event, sequence, emitted_at, version,
		data, due_at, lease, attempt)
		VALUES ($1, $2, $2, $3, 'live', $4, $5, 'job.status_changed', 1, $6, 2, $7, $8, $9, 1)`
	endDelivery = `UPDATE deliveries SET lease = '', state = 'delivered', due_at = NULL, ended_at = $1 WHERE id = $2`
)

// eventTables returns the statements of EventTables.
func eventTables(ctx context.Context, db *sql.DB) (statements, error) {
	var consumer string
	if err := db.QueryRowContext(ctx, `SELECT consumer_id FROM jobs LIMIT 1`).Scan(&consumer); err != nil {
		return statements{}, err
	}
	jobOf := func(r response) string { return seed.JobID((int(r.ID[14])<<8 | int(r.ID[15])) % EventJobs) }
	statuses := func(r response) (from, to string) {
		if r.ID[13]%2 == 0 {
			return "recording_paused", "recording_started"
		}
		return "recording_started", "recording_paused"
	}
	return statements{
		insert: []statement{
			{changeJob, func(r response) []any {
				from, to := statuses(r)
				return []any{to, from, r.CreatedAt.UnixMilli(), len(r.Metadata), jobOf(r)}
			}},
			{insertEntry, func(r response) []any {
				from, to := statuses(r)
				return []any{r.ID.String(), jobOf(r), r.CreatedAt.UnixMilli(), from, to}
			}},
			{insertDelivery, func(r response) []any {
				at, receiver := r.CreatedAt.UnixMilli(), r.Webhooks.OnStatusChange
				return []any{
					"dlv_" + r.ID.String(), jobOf(r), consumer, receiver, consumer + " " + receiver,
					at, string(r.Metadata), at + leaseMillis, r.ID.String(),
				}
			}},
		},
		delivered: []statement{{endDelivery, func(r response) []any { return []any{r.CreatedAt.UnixMilli(), "dlv_" + r.ID.String()} }}},
	}, nil
}

// leaseMillis is the time of a sender for a delivery.
const leaseMillis = 60_000

// jobsTable returns the statements of JobsTable and CheckedJobs.
func jobsTable(ctx context.Context, db *sql.DB) (statements, error) {
	columns, template, err := seed.Template(ctx, db)
	if err != nil {
		return statements{}, err
	}
	marks := make([]string, len(columns))
	for i := range columns {
		marks[i] = fmt.Sprintf("$%d", i+1)
	}
	insert := "INSERT INTO jobs (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
	own := map[string]func(response) any{
		"id":            func(r response) any { return r.ID.String() },
		"external_id":   func(r response) any { return r.ExternalID },
		"external_hash": func(r response) any { return hash(r.ExternalID) },
		"created_at":    func(r response) any { return r.CreatedAt.UnixMilli() },
		"join_at":       func(r response) any { return r.JoinAt.UnixMilli() },
		"metadata":      func(r response) any { return string(r.Metadata) },
		"meeting_url":   func(r response) any { return r.MeetingURL },
	}
	return statements{insert: []statement{{insert, func(r response) []any {
		row := slices.Clone(template)
		for i, column := range columns {
			if value, found := own[column]; found {
				row[i] = value(r)
			}
		}
		return row
	}}}}, nil
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// writer commits groups of changes.
type writer interface {
	commit(group []waiting) error
	close()
}

// waiting is a change that waits for its commit: a new row, or one whose webhook was
// delivered.
type waiting struct {
	row       response
	delivered bool
	done      chan error
}

// of returns the statements of a change.
func (s statements) of(change waiting) []statement {
	if change.delivered {
		return s.delivered
	}
	return s.insert
}

// groups passes waiting changes to a writer. With two writers on PostgreSQL, fewer
// changes would share a commit.
type groups struct {
	changes chan waiting
	stopped chan struct{}
	release func()
}

func newGroups(w writer, release func()) *groups {
	g := &groups{changes: make(chan waiting, maxGroup), stopped: make(chan struct{}), release: release}
	go g.run(w)
	return g
}

func (g *groups) insert(_ context.Context, r response) error {
	return g.commit(waiting{row: r})
}

func (g *groups) delivered(_ context.Context, r response) error {
	return g.commit(waiting{row: r, delivered: true})
}

// commit returns when a change is durable.
func (g *groups) commit(change waiting) error {
	change.done = make(chan error, 1)
	select {
	case g.changes <- change:
		return <-change.done
	case <-g.stopped:
		return errors.New("the server stops")
	}
}

func (g *groups) close() {
	close(g.stopped)
	g.release()
}

// run commits waiting changes in groups.
func (g *groups) run(w writer) {
	defer w.close()
	for {
		var group []waiting
		select {
		case first := <-g.changes:
			group = append(group, first)
		case <-g.stopped:
			return
		}
	gather:
		for len(group) < maxGroup {
			select {
			case next := <-g.changes:
				group = append(group, next)
			default:
				break gather
			}
		}
		err := w.commit(group)
		for _, member := range group {
			member.done <- err
		}
	}
}
