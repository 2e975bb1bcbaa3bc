package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"standin/internal/store/sqldb"
)

// Explained returns a store on the same SQLite database, and the steps of the plans of
// the queries that it has run.
func (s *Store) Explained() (*Store, *[]string) {
	steps := &[]string{}
	return &Store{
		Reader: &Reader{explainer{s.conn, steps}, s.dialect}, db: explainedDB{s.db, steps}, sqlite: s.sqlite,
	}, steps
}

type explainedDB struct {
	database
	steps *[]string
}

func (d explainedDB) Write(ctx context.Context, fn func(context.Context, sqldb.Conn) error) error {
	return d.database.Write(ctx, func(ctx context.Context, conn sqldb.Conn) error { return fn(ctx, explainer{conn, d.steps}) })
}

// explainer explains queries before it runs them.
type explainer struct {
	sqldb.Conn
	steps *[]string
}

func (e explainer) Query(ctx context.Context, query string, args ...any) (sqldb.Rows, error) {
	plain := Reader{conn: e.Conn}
	err := plain.forEach(ctx, "explain a query", func(r row) error {
		var id, parent, unused int
		var step string
		err := r.Scan(&id, &parent, &unused, &step)
		*e.steps = append(*e.steps, step)
		return err
	}, `EXPLAIN QUERY PLAN `+query, args...)
	if err != nil {
		return nil, err
	}
	return e.Conn.Query(ctx, query, args...)
}

// ExplainedOnPostgres returns a store on the same PostgreSQL database, whose transactions report the
// plan of each statement, and how many blocks and rows it touches.
func (s *Store) ExplainedOnPostgres(report func(query, plan string, blocks, rows int)) *Store {
	return &Store{Reader: s.Reader, db: measuredDB{s.db, report}, postgres: s.postgres}
}

type measuredDB struct {
	database
	report func(query, plan string, blocks, rows int)
}

func (d measuredDB) Write(ctx context.Context, fn func(context.Context, sqldb.Conn) error) error {
	return d.database.Write(ctx, func(ctx context.Context, conn sqldb.Conn) error { return fn(ctx, measurer{conn, d.report}) })
}

// measurer runs each statement twice: the first time to measure it.
type measurer struct {
	sqldb.Conn
	report func(query, plan string, blocks, rows int)
}

func (m measurer) Query(ctx context.Context, query string, args ...any) (sqldb.Rows, error) {
	if err := m.measure(ctx, query, args); err != nil {
		return nil, err
	}
	return m.Conn.Query(ctx, query, args...)
}

func (m measurer) Exec(ctx context.Context, statements ...sqldb.Statement) ([]int64, error) {
	for _, s := range statements {
		if err := m.measure(ctx, s.Query, s.Args); err != nil {
			return nil, err
		}
	}
	return m.Conn.Exec(ctx, statements...)
}

// planNode is a node of a plan that was measured.
type planNode struct {
	Loops   float64    `json:"Actual Loops"`
	Rows    float64    `json:"Actual Rows"` // of a loop
	Removed float64    `json:"Rows Removed by Filter"`
	Hit     int        `json:"Shared Hit Blocks"` // with those of the nodes below
	Read    int        `json:"Shared Read Blocks"`
	Plans   []planNode `json:"Plans"`
}

func (n planNode) rows() int {
	rows := int(n.Loops * (n.Rows + n.Removed))
	for _, below := range n.Plans {
		rows += below.rows()
	}
	return rows
}

func (m measurer) measure(ctx context.Context, query string, args []any) error {
	literals := make([]string, len(args))
	for i, arg := range args {
		if valuer, ok := arg.(driver.Valuer); ok {
			arg, _ = valuer.Value()
		}
		if literals[i] = "NULL"; arg != nil {
			literals[i] = "'" + strings.ReplaceAll(fmt.Sprint(arg), "'", "''") + "'"
		}
	}
	execute := "measured"
	if len(args) > 0 {
		execute += "(" + strings.Join(literals, ", ") + ")"
	}
	for _, statement := range []string{"SAVEPOINT measured", "PREPARE measured AS " + query} {
		if _, err := m.Conn.Exec(ctx, sqldb.Statement{Query: statement}); err != nil {
			return err
		}
	}
	var plans []struct{ Plan planNode }
	plain := Reader{conn: m.Conn}
	err := plain.queryRow(ctx, "measure "+query, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE "+execute).Scan(jsonColumn{&plans})
	if err != nil {
		return err
	}
	text, err := List(ctx, &plain, "explain", scanColumn[string], "EXPLAIN EXECUTE "+execute)
	if err != nil {
		return err
	}
	m.report(query, strings.Join(text, "\n"), plans[0].Plan.Hit+plans[0].Plan.Read, plans[0].Plan.rows())
	for _, statement := range []string{"DEALLOCATE measured", "ROLLBACK TO SAVEPOINT measured"} {
		if _, err := m.Conn.Exec(ctx, sqldb.Statement{Query: statement}); err != nil {
			return err
		}
	}
	return nil
}
