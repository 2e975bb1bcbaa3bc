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

// maxGroup is the maximum number of rows that share a commit.
const maxGroup = 256

// postgresWriters is the number of connections that commit groups. More of them
// make smaller groups.
const postgresWriters = 2

// oneTable is the table of OneTable.
const oneTable = `CREATE TABLE IF NOT EXISTS limit_jobs (
	id TEXT PRIMARY KEY, external_id TEXT NOT NULL, meeting_url TEXT NOT NULL, join_at BIGINT NOT NULL, metadata TEXT NOT NULL)`

const oneTableInsert = `INSERT INTO limit_jobs (id, external_id, meeting_url, join_at, metadata) VALUES ($1, $2, $3, $4, $5)`

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
	statement, values, err := prepareInsert(ctx, db, kind)
	if err != nil || !shared {
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		return newGroups(1, func() (writer, error) { return newSQLiteWriter(ctx, db, statement, values) }, func() { _ = db.Close() })
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		return nil, err
	}
	return newGroups(postgresWriters, func() (writer, error) { return postgresWriter{pool, statement, values}, nil }, pool.Close)
}

// prepareInsert returns the INSERT statement of a kind, and its arguments for a
// job.
func prepareInsert(ctx context.Context, db *sql.DB, kind Kind) (statement string, values func(response) []any, err error) {
	if kind == OneTable {
		_, err := db.ExecContext(ctx, oneTable)
		return oneTableInsert, func(r response) []any {
			return []any{r.ID.String(), r.ExternalID, r.MeetingURL, r.JoinAt.UnixMilli(), string(r.Metadata)}
		}, err
	}
	columns, template, err := seed.Template(ctx, db)
	if err != nil {
		return "", nil, err
	}
	marks := make([]string, len(columns))
	for i := range columns {
		marks[i] = fmt.Sprintf("$%d", i+1)
	}
	statement = "INSERT INTO jobs (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
	own := map[string]func(response) any{
		"id":            func(r response) any { return r.ID.String() },
		"external_id":   func(r response) any { return r.ExternalID },
		"external_hash": func(r response) any { return hash(r.ExternalID) },
		"created_at":    func(r response) any { return r.CreatedAt.UnixMilli() },
		"join_at":       func(r response) any { return r.JoinAt.UnixMilli() },
		"metadata":      func(r response) any { return string(r.Metadata) },
		"meeting_url":   func(r response) any { return r.MeetingURL },
	}
	return statement, func(r response) []any {
		row := slices.Clone(template)
		for i, column := range columns {
			if value, found := own[column]; found {
				row[i] = value(r)
			}
		}
		return row
	}, nil
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// writer commits groups of rows.
type writer interface {
	commit(group []waiting) error
	close()
}

// waiting is a row that waits for its commit.
type waiting struct {
	row  response
	done chan error
}

// groups passes waiting rows to writers.
type groups struct {
	rows    chan waiting
	stopped chan struct{}
	release func()
}

func newGroups(writers int, open func() (writer, error), release func()) (*groups, error) {
	g := &groups{rows: make(chan waiting, maxGroup), stopped: make(chan struct{}), release: release}
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
	done := make(chan error, 1)
	select {
	case g.rows <- waiting{r, done}:
		return <-done
	case <-g.stopped:
		return errors.New("the server stops")
	}
}

func (g *groups) close() {
	close(g.stopped)
	g.release()
}

// run commits waiting rows in groups.
func (g *groups) run(w writer) {
	defer w.close()
	for {
		var group []waiting
		select {
		case first := <-g.rows:
			group = append(group, first)
		case <-g.stopped:
			return
		}
	gather:
		for len(group) < maxGroup {
			select {
			case next := <-g.rows:
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
