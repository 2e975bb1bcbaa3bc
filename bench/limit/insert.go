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

// postgresWriters is the number of connections that commit groups. More of them
// make smaller groups.
const postgresWriters = 2

// oneTable is the table of OneTable.
const oneTable = `CREATE TABLE IF NOT EXISTS limit_jobs (
	id TEXT PRIMARY KEY, external_id TEXT NOT NULL, meeting_url TEXT NOT NULL, join_at BIGINT NOT NULL, metadata TEXT NOT NULL)`

const (
	oneTableInsert = `INSERT INTO limit_jobs (id, external_id, meeting_url, join_at, metadata) VALUES ($1, $2, $3, $4, $5)`
	addDelivered   = `ALTER TABLE limit_jobs ADD COLUMN delivered BOOLEAN NOT NULL DEFAULT FALSE`
	setDelivered   = `UPDATE limit_jobs SET delivered = TRUE WHERE id = $1`
)

// statements are the statements of a kind.
type statements struct {
	insert string
	values func(response) []any // the arguments of insert
	update string               // stores that a webhook was delivered; its argument is the job's ID. Empty if the kind has none.
}

// newInserter returns the inserter of a kind. JobsTable needs a database of
// Standin with one job, which it copies.
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
	if err != nil || !shared {
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		return newGroups(1, func() (writer, error) { return newSQLiteWriter(ctx, db, of) }, func() { _ = db.Close() })
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		return nil, err
	}
	return newGroups(postgresWriters, func() (writer, error) { return postgresWriter{pool, of}, nil }, pool.Close)
}

// statementsOf returns the statements of a kind. It creates the table of OneTable
// and Webhook.
func statementsOf(ctx context.Context, db *sql.DB, kind Kind) (statements, error) {
	if kind == JobsTable {
		return jobsTable(ctx, db)
	}
	all := statements{insert: oneTableInsert, values: func(r response) []any {
		return []any{r.ID.String(), r.ExternalID, r.MeetingURL, r.JoinAt.UnixMilli(), string(r.Metadata)}
	}}
	_, err := db.ExecContext(ctx, oneTable)
	if err == nil && kind == Webhook {
		all.update = setDelivered
		_, err = db.ExecContext(ctx, addDelivered)
	}
	return all, err
}

// jobsTable returns the statements of JobsTable.
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
	return statements{insert: insert, values: func(r response) []any {
		row := slices.Clone(template)
		for i, column := range columns {
			if value, found := own[column]; found {
				row[i] = value(r)
			}
		}
		return row
	}}, nil
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

// of returns the statement and the arguments of a change.
func (s statements) of(change waiting) (statement string, arguments []any) {
	if change.delivered {
		return s.update, []any{change.row.ID.String()}
	}
	return s.insert, s.values(change.row)
}

// groups passes waiting changes to writers.
type groups struct {
	changes chan waiting
	stopped chan struct{}
	release func()
}

func newGroups(writers int, open func() (writer, error), release func()) (*groups, error) {
	g := &groups{changes: make(chan waiting, maxGroup), stopped: make(chan struct{}), release: release}
	for range writers {
		w, err := open()
		if err != nil {
			g.close()
			return nil, err
		}
		go g.run(w)
	}
	return g, nil
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
