package store_test

import (
	"database/sql"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/pressly/goose/v3"

	"standin/internal/jobs/job"
	"standin/internal/store"
	"standin/internal/store/migrations"
	"standin/internal/testing/storetest"
)

const (
	rowConsumer = "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e01"
	rowJob      = "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e02"
	rowKey      = "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e03"
	rowEntry    = "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e04"
	rowCommand  = "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e05"
	rowUser     = "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e06"
)

// exampleRows has a row for each table, with the columns that have no default.
var exampleRows = map[string]string{
	"consumers": `(id, name, email, webhook_secret, created_at) VALUES ('` + rowConsumer +
		`', 'ada', 'ada@example.test', 'whsec_c2VjcmV0', 1700000000000)`,
	"kept_requests": `(consumer_id, mode, key, hash, at) VALUES ('` + rowConsumer + `', 'live', 'key', 'hash', 1700000000000)`,
	"api_keys": `(id, consumer_id, mode, prefix, hash, created_at) VALUES ('` + rowKey + `', '` + rowConsumer +
		`', 'live', 'standin_live_ab', 'hash', 1700000000000)`,
	"audit_log": `(id, consumer_id, at, actor, action, target) VALUES ('entry', '` + rowConsumer +
		`', 1700000000000, 'ada@example.test', 'created an API key', '')`,
	"jobs": `(id, consumer_id, mode, external_id, external_hash, meeting_url, platform, display_name, join_at, created_at, on_status_change,
		on_finalize,
		metadata, auto_leave, status, status_since, wake_at, sequence) VALUES ('` + rowJob + `', '` + rowConsumer +
		`', 'live', 'first', 'hash', 'https://meet.google.com/abc-defg-hij',
		'meet', 'Standin', 1900000000000, 1700000000000, 'https://hooks.example.test/', '', '{"team":"research"}',
		'{"afterSoloSeconds":60}', 'scheduled', 1700000000000, 1900000000000, 1)`,
	"timeline": `(id, job_id, attempt, source, kind, emitted_at, received_at, applied, previous_status, status)
		VALUES ('` + rowEntry + `', '` + rowJob + `', 0, 'service', 'updated', 1700000000000, 1700000000000, 1, 'scheduled', 'scheduled')`,
	"commands": `(id, job_id, kind, created_at) VALUES ('` + rowCommand + `', '` + rowJob + `', 'leave', 1700000000000)`,
	"deliveries": `(id, job_id, subject, consumer_id, mode, url, endpoint, event, sequence, emitted_at, version, data, due_at)
		VALUES ('dlv_1', '` + rowJob + `', '` + rowJob + `', '` + rowConsumer + `', 'live', 'https://hooks.example.test/', 'key',
		'job.status_changed', 1, 1700000000000, 2, '{}', 1700000000000)`,
	"delivery_tries": `(delivery_id, number, started_at, latency_ms, status_code, error, response_body)
		VALUES ('dlv_1', 1, 1700000000000, 12, 500, '', '')`,
	"calendars": `(id, consumer_id, name, sealed, address, email, rules, job, poll_ms, created_at, state, error, failures, validators,
		due_at, lease, revision, deleted)
		VALUES ('calendar', '` + rowConsumer + `', 'Ada', '', '', '', '{}', '{}', 1, 1, 'waiting', '', 0, '{}', 1, '', 0, 0)`,
	"calendar_events": `(id, calendar_id, consumer_id, uid, original, sequence, title, organizer, starts_at, ends_at, zone,
		meeting_url, platform, attendees, response, problem,
		rule_record, rule_reason, updated_at, removed, dirty, wanted, record, reason, job_id)
		VALUES ('event', 'calendar', '` + rowConsumer + `', 'uid', 0, 0, '', '', 1, 1, '', '', '', 0, '', '', 0, '', 1, 0, 0, 0, 0, '', '')`,
	"mail_messages": `(id, message_key, source, remote, received_at, raw, size, verdict, since)
		VALUES ('mail', 'key', 'smtp', '', 1, '', 0, 'accepted', 1)`,
	"mail_meetings": `(id, organizer, uid, domain, created_at, updated_at) VALUES ('meeting', 'ada@example.test', 'uid', '', 1, 1)`,
	"mail_events": `(organizer, uid, original, sequence, stamp, assumed, named, message)
		VALUES ('ada@example.test', 'uid', 0, 0, 1, 0, 0, 'mail')`,
	"mail_changes":  `(message, job, kind, summary, starts_at, zone) VALUES ('mail', 'job', 'scheduled', '', 1, '')`,
	"consumer_mail": `(address, consumer_id) VALUES ('@example.test', '` + rowConsumer + `')`,
	"mailboxes":     `(name, uid_validity, uid, first_seen_at) VALUES ('box', 1, 1, 1)`,
	"payment_events": `(id, type, created_at, received_at, effect, subscription_id, customer_id, consumer, email, plan, status)
		VALUES ('evt_1', 'created', 1, 1, '', 'sub_1', 'cus_1', 'ada', '', 'pro', 'active')`,
	"subscriptions":     `(id, consumer, plan, status) VALUES ('sub_1', 'ada', 'pro', 'active')`,
	"payment_customers": `(id, consumer) VALUES ('cus_1', 'ada')`,
	"device_flows":      `(nonce_hash, client_address, created_at, expires_at) VALUES ('hash', '127.0.0.1', 1700000000000, 1700000000000)`,
	"device_flow_lock":  "", // the migration inserts its row
	"webhook_endpoints": `(key, id, consumer_id, mode, url, failures, last_try_at, last_status, last_error) VALUES ('key', 'id', '` +
		rowConsumer + `', 'live', 'https://hooks.example.test/', 1, 1700000000000, 500, '')`,
	"alerts": `(name, channel, firing, sent_at, claimed_until) VALUES ('disk node', 'mail', 1, 1, 0)`,
	"nodes": `(id, name, base_url, started_at, heartbeat_at, bots, capacity, full_reason, start_ms)
		VALUES ('node', 'one', '', 1, 1, 0, 1, '', 0)`,
	"users": `(id, consumer_id, email, name, operator, founder, created_at) VALUES ('` + rowUser + `', '` + rowConsumer +
		`', 'ada@example.test', 'Ada', 1, 1, 1700000000000)`,
	"sessions": `(hash, user_id, created_at, last_seen_at, expires_at) VALUES ('hash', '` + rowUser + `', 1, 1, 1)`,
	"invitations": `(hash, consumer_id, email, operator, created_at, expires_at) VALUES ('hash', '` + rowConsumer +
		`', 'ben@example.test', 0, 1, 1)`,
	"job_tombstones": `(id, consumer_id, mode, external_hash, platform, join_at, created_at, auto_leave, status, attempts,
		failure_code, erased_at) VALUES ('` + rowEntry + `', '` + rowConsumer + `', 'live', 'erased', 'meet', 1, 1, '{}',
		'completed', 1, '', 1)`,
	"usage_days": `(consumer_id, mode, day, completed, failed, cancelled, recorded_ms, bot_ms, stored_bytes, deleted_bytes,
		core_ms, memory_ms) VALUES ('` + rowConsumer + `', 'live', 20000, 1, 0, 0, 60000, 90000, 1000, 0, 1000, 2000)`,
	"share_links":       `(hash, job_id, created_at, created_by, expires_at) VALUES ('hash', '` + rowJob + `', 1, 'ada@example.test', 2)`,
	"consumer_rotation": `(consumer_id, position) VALUES ('` + rowConsumer + `', 1)`,
	"meeting_texts": `(job_id, attempt, kind, id, sequence, participant_id, author, text, language, started_at, ended_at,
		speech) VALUES ('` + rowJob + `', 0, 'chat', '1', 1, '', 'Ada', 'Hello', '', 1, 1, '')`,
	"meeting_text_totals": `(job_id, texts, bytes) VALUES ('` + rowJob + `', 1, 5)`,
	"accounts": `(id, consumer_id, platform, label, max_meetings, sealed, renewed_at, created_at) VALUES ('` + rowKey + `',
		'` + rowConsumer +
		`', 'meet', 'Recorder', 1, '', 1, 1)`,
	"saml_secrets": `(consumer_id, sealed) VALUES ('` + rowConsumer + `', '')`,
	"attempt_ends": `(job_id, attempt, at, platform, account, code, cause, capture) VALUES ('` + rowJob + `', 0, 1,
		'meet', '', '', '', '')`,
	"zoom_apps": `(id, consumer_id, label, client_id, record, sealed, created_at) VALUES ('` + rowKey + `',
		'` + rowConsumer + `', '', '', 0, '', 1)`,
	"zoom_streams": `(id, app_id, meeting_uuid, meeting_key, number, server_urls, started_at) VALUES ('s',
		'` + rowKey + `', '', '', '', '', 1)`,
	"account_uses": `(account_id, job_id, reason, at) VALUES ('` + rowKey + `', '` + rowJob + `', '', 1)`,
	"screenshots":  `(job_id, watched_until, image) VALUES ('` + rowJob + `', 1, '')`,
	"recording_tasks": `(job_id, kind, created_at, lease, failures, sent_ms, requested) VALUES ('` + rowJob + `',
		'transcript', 1, '', 0, 0, '')`,
	"transcription_pieces": `(job_id, piece, response) VALUES ('` + rowJob + `', 'piece', '{}')`,
	"search_texts": `(id, job_id, owner, kind, start_ms, speaker, text) VALUES (42, '` + rowJob +
		`', 'owner', 'chat', 0, 'Ada', 'Hello')`,
}

// TestMigrateWithData reads a row of every table, deletes what refers to a job or a
// consumer, and undoes and repeats the migrations.
func TestMigrateWithData(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, cluster, func(t *testing.T, address string) {
		driver, dialect, dsn := "sqlite", goose.DialectSQLite3, "file:"+address+"?_pragma=foreign_keys(ON)"
		tables := `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'search_texts_words%'`
		if store.IsPostgres(address) {
			driver, dialect, dsn = "pgx", goose.DialectPostgres, address
			tables = `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`
		}
		db, err := sql.Open(driver, dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		insertExamples(t, db, tables)
		checkReadable(t, address)
		checkDeleted(t, db, address)
		if err := migrations.Recreate(t.Context(), db, dialect); err != nil {
			t.Fatal(err)
		}
		for table := range exampleRows {
			want := 0
			if table == "device_flow_lock" {
				want = 1
			}
			if got := countRows(t, db, table); got != want {
				t.Errorf("%s has %d rows in the new schema, want %d", table, got, want)
			}
		}
		newConsumer(t, storetest.Open(t, address))
	})
}

// insertExamples inserts a row into each of the tables that a query lists.
func insertExamples(t *testing.T, db *sql.DB, tables string) {
	t.Helper()
	var missing []string
	rows, err := db.QueryContext(t.Context(), tables)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			t.Fatal(err)
		}
		if _, known := exampleRows[table]; !known && table != "goose_db_version" {
			t.Errorf("the test has no row for the table %s", table)
		}
		missing = append(missing, table)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for progress := true; progress; { // a row can be inserted after those that it refers to
		before := len(missing)
		missing = slices.DeleteFunc(missing, func(table string) bool {
			if exampleRows[table] != "" {
				_, err = db.ExecContext(t.Context(), `INSERT INTO `+table+` `+exampleRows[table])
			}
			return exampleRows[table] == "" || err == nil
		})
		progress = len(missing) < before
	}
	if len(missing) > 0 {
		t.Fatalf("no rows in %v: %v", missing, err)
	}
	for table := range exampleRows {
		if got := countRows(t, db, table); got != 1 {
			t.Errorf("%s has %d rows, want 1", table, got)
		}
	}
}

func countRows(t *testing.T, db *sql.DB, table string) (count int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&count); err != nil {
		t.Errorf("%s: %v", table, err)
	}
	return count
}

// checkDeleted deletes the job and the consumer of the example rows, and checks that only
// the tables that refer to neither keep theirs.
func checkDeleted(t *testing.T, db *sql.DB, address string) {
	t.Helper()
	s := storetest.Open(t, address)
	if err := errors.Join(s.DeleteJob(t.Context(), uuid.MustParse(rowJob)),
		s.DeleteConsumer(t.Context(), uuid.MustParse(rowConsumer))); err != nil {
		t.Fatal(err)
	}
	kept := []string{
		"alerts", "device_flow_lock", "device_flows", "nodes", "mail_changes", "mail_events", "mail_meetings", "mail_messages",
		"mailboxes", // for 30 days
	}
	for table := range exampleRows {
		if got := countRows(t, db, table); (got != 0) != slices.Contains(kept, table) {
			t.Errorf("%s has %d rows", table, got)
		}
	}
	if !store.IsPostgres(address) {
		if got := countRows(t, db, "search_texts_words WHERE search_texts_words MATCH 'hello'"); got != 0 {
			t.Errorf("%d deleted texts are in the full-text index", got)
		}
	}
}

// checkReadable reads the example rows.
func checkReadable(t *testing.T, address string) {
	t.Helper()
	s, err := store.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Job(t.Context(), uuid.MustParse(rowJob))
	if err != nil || r.Status != job.Scheduled || r.ExternalID != "first" || string(r.Metadata) != `{"team":"research"}` ||
		r.AutoLeave.AfterSoloSeconds != 60 {
		t.Errorf("job %+v, %v", r, err)
	}
	if entries, err := s.Timeline(t.Context(), r.ID); err != nil || len(entries) != 1 {
		t.Errorf("timeline %+v, %v", entries, err)
	}
	if commands, err := s.PendingCommands(t.Context(), r.ID); err != nil || len(commands) != 1 {
		t.Errorf("commands %+v, %v", commands, err)
	}
	if key, err := s.KeyByHash(t.Context(), "hash"); err != nil || key.ID.String() != rowKey {
		t.Errorf("key %+v, %v", key, err)
	}
	if user, err := s.UserByEmail(t.Context(), "ada@example.test"); err != nil || !user.Operator {
		t.Errorf("user %+v, %v", user, err)
	}
	if waiting, _, err := s.Backlog(t.Context()); err != nil || waiting != 1 {
		t.Errorf("%d waiting deliveries, %v", waiting, err)
	}
}
