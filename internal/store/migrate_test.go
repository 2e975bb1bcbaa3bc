package store_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

const (
	oldConsumer = "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e01"
	oldJob      = "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e02"
	oldKey      = "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e03"
	oldEntry    = "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e04"
	oldCommand  = "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e05"
	oldUser     = "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e06"
)

// firstRows has a row for each table, with the columns that the table had in the
// version that created it.
var firstRows = map[string]string{
	"consumers": `(id, name, email, webhook_secret, created_at) VALUES ('` + oldConsumer + `', 'ada', 'ada@example.test', 'whsec_c2VjcmV0', 1700000000000)`,
	"api_keys":  `(id, consumer_id, mode, prefix, hash, created_at) VALUES ('` + oldKey + `', '` + oldConsumer + `', 'live', 'standin_live_ab', 'hash', 1700000000000)`,
	"jobs": `(id, consumer_id, mode, external_id, external_hash, meeting_url, platform, display_name, join_at, created_at, on_status_change, on_finalize,
		metadata, auto_leave, status, status_since, wake_at, sequence) VALUES ('` + oldJob + `', '` + oldConsumer + `', 'live', 'first', 'hash', 'https://meet.google.com/abc-defg-hij',
		'meet', 'Standin', 1900000000000, 1700000000000, 'https://hooks.example.test/', '', '{"team":"research"}', '{"afterSoloSeconds":60}', 'scheduled', 1700000000000, 1900000000000, 1)`,
	"timeline": `(id, job_id, attempt, source, kind, emitted_at, received_at, applied, status_from, status_to)
		VALUES ('` + oldEntry + `', '` + oldJob + `', 0, 'service', 'updated', 1700000000000, 1700000000000, 1, 'scheduled', 'scheduled')`,
	"commands": `(id, job_id, kind, created_at) VALUES ('` + oldCommand + `', '` + oldJob + `', 'leave', 1700000000000)`,
	"deliveries": `(id, job_id, consumer_id, url, host, event, sequence, emitted_at, version, data, due_at)
		VALUES ('dlv_1', '` + oldJob + `', '` + oldConsumer + `', 'https://hooks.example.test/', 'hooks.example.test', 'job.status_changed', 1, 1700000000000, 2, '{}', 1700000000000)`,
	"delivery_tries":       `(delivery_id, number, started_at, latency_ms, status_code, error, answer) VALUES ('dlv_1', 1, 1700000000000, 12, 500, '', '')`,
	"payment_events":       `(id, type, created_at, received_at, effect, subscription_id, customer_id, consumer, email, plan, status) VALUES ('evt_1', 'created', 1, 1, '', 'sub_1', 'cus_1', 'ada', '', 'pro', 'active')`,
	"subscriptions":        `(id, consumer, plan, status) VALUES ('sub_1', 'ada', 'pro', 'active')`,
	"payment_customers":    `(id, consumer) VALUES ('cus_1', 'ada')`,
	"device_flows":         `(nonce_hash, opener, created_at, expires_at) VALUES ('hash', 'opener', 1700000000000, 1700000000000)`,
	"device_flow_gate":     "", // the migration inserts its row
	"webhook_endpoints":    `(key, consumer_id, url, failures, last_try_at, last_status, last_error) VALUES ('key', '` + oldConsumer + `', 'https://hooks.example.test/', 1, 1700000000000, 500, '')`,
	"nodes":                `(id, name, started_at, heartbeat_at, bots, room, full_because, start_ms) VALUES ('node', 'one', 1, 1, 0, 1, '', 0)`,
	"users":                `(id, consumer_id, email, name, operator, founder, created_at) VALUES ('` + oldUser + `', '` + oldConsumer + `', 'ada@example.test', 'Ada', 1, 1, 1700000000000)`,
	"sessions":             `(hash, user_id, created_at, last_seen_at, expires_at) VALUES ('hash', '` + oldUser + `', 1, 1, 1)`,
	"invitations":          `(hash, consumer_id, email, operator, created_at, expires_at) VALUES ('hash', '` + oldConsumer + `', 'ben@example.test', 0, 1, 1)`,
	"job_tombstones":       `(id, consumer_id, mode, external_hash, platform, join_at, created_at, auto_leave, status, attempts, failure_code, erased_at) VALUES ('` + oldEntry + `', '` + oldConsumer + `', 'live', 'erased', 'meet', 1, 1, '{}', 'completed', 1, '', 1)`,
	"dispatch_turns":       `(consumer_id, turn) VALUES ('` + oldConsumer + `', 1)`,
	"meeting_texts":        `(job_id, attempt, kind, id, sequence, participant_id, author, text, language, started_at, ended_at) VALUES ('` + oldJob + `', 0, 'chat', '1', 1, '', 'Ada', 'Hello', '', 1, 1)`,
	"meeting_text_totals":  `(job_id, texts, bytes) VALUES ('` + oldJob + `', 1, 5)`,
	"transcriptions":       `(job_id, created_at, lease, failures, sent_ms) VALUES ('` + oldJob + `', 1, '', 0, 0)`,
	"transcription_pieces": `(job_id, piece, response) VALUES ('` + oldJob + `', 'piece', '{}')`,
	"spoken":               `(doc, job_id, owner, kind, start_ms, speaker, text) VALUES (42, '` + oldJob + `', 'owner', 'chat', 0, 'Ada', 'Hello')`,
}

// TestMigrateWithData migrates a database from the first schema to the newest, one
// version after the other, with a row in every table as soon as it exists. Every row
// keeps its values, the store reads them, and the migrations can be undone.
func TestMigrateWithData(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, cluster, func(t *testing.T, address string) {
		if store.EngineOf(address) == store.Postgres {
			address = cluster.Empty(t)
		} else {
			address = filepath.Join(t.TempDir(), "standin.db")
		}
		versions, err := store.Versions()
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{} // the rows of the tables, as they were inserted
		for _, version := range versions {
			if err := store.MigrateTo(t.Context(), address, version); err != nil {
				t.Fatalf("migrate to version %d: %v", version, err)
			}
			checkRows(t, address, version, want)
			insertRows(t, address, version, want)
		}
		checkReadable(t, address)
		if err := store.MigrateTo(t.Context(), address, 0); err != nil {
			t.Fatalf("undo the migrations: %v", err)
		}
		if err := store.MigrateTo(t.Context(), address, versions[len(versions)-1]); err != nil {
			t.Fatalf("migrate again: %v", err)
		}
	})
}

// insertRows inserts a row into each table that a version has created.
func insertRows(t *testing.T, address string, version int64, rows map[string]string) {
	t.Helper()
	db := openUnmigrated(t, address)
	defer db.Close()
	tables, err := store.TablesAt(version)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if _, done := rows[table]; done {
			continue
		}
		values, known := firstRows[table]
		if !known {
			t.Fatalf("the test has no row for the new table %s", table)
		}
		if values != "" {
			if _, err := db.ExecContext(t.Context(), `INSERT INTO `+table+` `+values); err != nil {
				t.Fatalf("version %d, table %s: %v", version, table, err)
			}
		}
		columns, text := rowOf(t, db, table, "*")
		rows[table] = strings.Join(columns, ", ") + "\n" + text
	}
}

// checkRows checks that the rows have the values with which they were inserted.
func checkRows(t *testing.T, address string, version int64, rows map[string]string) {
	t.Helper()
	db := openUnmigrated(t, address)
	defer db.Close()
	for table, row := range rows {
		columns, want, _ := strings.Cut(row, "\n")
		if _, got := rowOf(t, db, table, columns); got != want {
			t.Errorf("version %d, table %s: the row is\n%s, and was\n%s", version, table, got, want)
		}
	}
}

// rowOf returns columns of the only row of a table.
func rowOf(t *testing.T, db *sql.DB, table, selected string) (columns []string, text string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT `+selected+` FROM `+table)
	if err != nil {
		t.Fatalf("table %s: %v", table, err)
	}
	defer rows.Close()
	if columns, err = rows.Columns(); err != nil {
		t.Fatal(err)
	}
	found := 0
	for ; rows.Next(); found++ {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		for _, value := range values {
			text += fmt.Sprintf("%v|", *value.(*any))
		}
	}
	if err := rows.Err(); err != nil || found != 1 {
		t.Fatalf("table %s has %d rows (%v)", table, found, err)
	}
	return columns, text
}

func openUnmigrated(t *testing.T, address string) *sql.DB {
	t.Helper()
	db, err := store.OpenRaw(address)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// checkReadable reads what was inserted in the first schema.
func checkReadable(t *testing.T, address string) {
	t.Helper()
	s, err := store.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Job(t.Context(), uuid.MustParse(oldJob))
	if err != nil || r.Status != job.Scheduled || r.ExternalID != "first" || string(r.Metadata) != `{"team":"research"}` || r.AutoLeave.AfterSoloSeconds != 60 {
		t.Errorf("job %+v, %v", r, err)
	}
	if entries, err := s.Timeline(t.Context(), r.ID); err != nil || len(entries) != 1 {
		t.Errorf("timeline %+v, %v", entries, err)
	}
	if commands, err := s.PendingCommands(t.Context(), r.ID); err != nil || len(commands) != 1 {
		t.Errorf("commands %+v, %v", commands, err)
	}
	if key, err := s.KeyByHash(t.Context(), "hash"); err != nil || key.ID.String() != oldKey {
		t.Errorf("key %+v, %v", key, err)
	}
	if user, err := s.UserByEmail(t.Context(), "ada@example.test"); err != nil || !user.Operator {
		t.Errorf("user %+v, %v", user, err)
	}
	if waiting, _, err := s.Backlog(t.Context()); err != nil || waiting != 1 {
		t.Errorf("%d waiting deliveries, %v", waiting, err)
	}
}
