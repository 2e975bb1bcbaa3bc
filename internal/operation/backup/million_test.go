package backup_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/operation/backup"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// TestMillion backs up and restores STANDIN_TEST_JOBS jobs, in thousands, and reports times and
// sizes.
func TestMillion(t *testing.T) {
	jobs, err := strconv.Atoi(os.Getenv("STANDIN_TEST_JOBS"))
	if err != nil {
		t.Skip("STANDIN_TEST_JOBS is not set")
	}
	for name, address := range map[string]func() (from, to string){
		"SQLite":     func() (string, string) { return "", "" },
		"PostgreSQL": func() (string, string) { return cluster.Fresh(t), cluster.Empty(t) },
	} {
		t.Run(name, func(t *testing.T) {
			database, restored := address()
			dir, target, folder := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "backup")
			if database == "" {
				if err := os.Rename(storetest.FreshSQLite(t), filepath.Join(dir, "standin.db")); err != nil {
					t.Fatal(err)
				}
			}
			fill(t, settingsOf(dir, database, folder, backup.CheckRecordings).Database, jobs)
			made, err := backup.Create(t.Context(), settingsOf(dir, database, folder, backup.CheckRecordings))
			if err != nil {
				t.Fatal(err)
			}
			result, err := backup.Restore(t.Context(), settingsOf(target, restored, folder, backup.CheckRecordings))
			if err != nil {
				t.Fatal(err)
			}
			if made.Rows("jobs") != int64(jobs) {
				t.Errorf("the backup has %d jobs, want %d", made.Rows("jobs"), jobs)
			}
			start := time.Now()
			n := startExisting(t, target, restored)
			started := time.Since(start)
			n.stop()
			t.Logf("%d jobs: backup %.1f s, %.0f MiB; restore %.1f s; start of the service %.1f s", jobs,
				float64(made.DurationMilli)/1000, float64(made.Bytes())/(1<<20), result.Duration.Seconds(), started.Seconds())
		})
	}
}

// startExisting starts a service with a database that has a consumer.
func startExisting(t *testing.T, dir, database string) *node {
	t.Helper()
	return start(t, dir, database, "unused")
}

// seeds is the number of jobs from which the others are copied.
const seeds = 1000

// fill inserts scheduled jobs, each with a timeline entry.
func fill(t *testing.T, database string, jobs int) {
	t.Helper()
	s, err := store.Open(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	consumer, err := s.EnsureConsumer(t.Context(), account.Consumer{
		ID: uuid.New(), Name: "ada", WebhookSecret: "whsec_c2VjcmV0", WebhookVersion: 2, CreatedAt: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		for i := range seeds {
			if err := insert(t, tx, consumer.ID, i, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	multiply(t, database, jobs/seeds)
}

// multiply copies every job and timeline entry under other IDs until there are n of
// each.
func multiply(t *testing.T, database string, n int) {
	t.Helper()
	driver, prefix := "sqlite", `printf('%08x', k)`
	numbers := `WITH RECURSIVE copies (k) AS (SELECT 2 UNION ALL SELECT k + 1 FROM copies WHERE k < $1)`
	columns := `SELECT name FROM pragma_table_info('%s')`
	if store.IsPostgres(database) {
		driver, prefix, numbers = "pgx", `lpad(to_hex(k), 8, '0')`, `WITH copies AS (SELECT generate_series(2, $1::int) AS k)`
		columns = `SELECT column_name FROM information_schema.columns WHERE table_name = '%s'`
	}
	db, err := sql.Open(driver, database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	changed := map[string]string{
		"id": prefix + ` || substr(id, 9)`, "job_id": prefix + ` || substr(job_id, 9)`,
		"external_id": `external_id || '-' || k`, "external_hash": `external_hash || '-' || k`, "join_at": `join_at + k * 1000`,
	}
	for _, table := range []string{"jobs", "timeline"} {
		names := columnNames(t, db, fmt.Sprintf(columns, table))
		var values []string
		for _, name := range names {
			values = append(values, cmp.Or(changed[name], name))
		}
		_, err = db.ExecContext(t.Context(), fmt.Sprintf(`INSERT INTO %s (%s) %s SELECT %s FROM %[1]s CROSS JOIN copies`,
			table, strings.Join(names, ", "), numbers, strings.Join(values, ", ")), n)
		if err != nil {
			t.Fatal(err)
		}
	}
}

func insert(t *testing.T, tx *store.Tx, consumer uuid.UUID, i int, now time.Time) error {
	id := uuid.Must(uuid.NewV7())
	joinAt := now.Add(24*time.Hour + time.Duration(i)*time.Second)
	_, err := tx.InsertJob(t.Context(), job.Record{
		Job: job.Job{
			ID: id, ConsumerID: consumer, Mode: job.Live, ExternalID: fmt.Sprintf("meeting-%d", i),
			MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet, DisplayName: job.DefaultDisplayName,
			JoinAt: joinAt, CreatedAt: now, Metadata: json.RawMessage(`{"team":"research","room":"42"}`), AutoLeave: job.DefaultAutoLeave(),
			State: job.New(),
		},
		StatusSince: now, WakeAt: joinAt,
	})
	if err != nil {
		return err
	}
	return storetest.AddEntry(t.Context(), tx, job.TimelineEntry{
		ID: uuid.Must(uuid.NewV7()), JobID: id, Source: job.SourceService, Kind: "updated", EmittedAt: now, ReceivedAt: now,
		Applied: true, From: job.Scheduled, To: job.Scheduled,
	})
}

// columnNames returns the result of a query for the names of columns.
func columnNames(t *testing.T, db *sql.DB, query string) (names []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}
