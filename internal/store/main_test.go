package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// cluster is the PostgreSQL server that the tests of this package share. It is nil
// if PostgreSQL is not installed.
var cluster *storetest.Cluster

func TestMain(m *testing.M) {
	flag.Parse()
	// Each check of a property takes hundreds of transactions. A longer
	// run sets -rapid.checks=1000.
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		_ = checks.Value.Set("20")
	}
	os.Exit(storetest.Main(m, func(c *storetest.Cluster) { cluster = c }))
}

// onBoth runs a test on an empty SQLite database and on an empty PostgreSQL
// database, in parallel with others.
func onBoth(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Helper()
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, openSQLite(t))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, openPostgres(t))
	})
}

func openSQLite(t *testing.T) *store.Store {
	t.Helper()
	return storetest.Open(t, storetest.FreshSQLite(t))
}

// databases are empty PostgreSQL databases. Emptying one takes less time than creating it.
var databases = make(chan string, 100)

func openPostgres(t *testing.T) *store.Store {
	t.Helper()
	var address string
	select {
	case address = <-databases:
	default:
		address = cluster.Fresh(t)
	}
	t.Cleanup(func() { // after the store is closed
		if err := emptyDatabase(context.WithoutCancel(t.Context()), address); err != nil {
			t.Error(err)
			return
		}
		databases <- address
	})
	return storetest.Open(t, address)
}

func emptyDatabase(ctx context.Context, address string) error {
	db, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	_, err = db.Exec(ctx, `DO $$ DECLARE name text; BEGIN
		SET LOCAL session_replication_role = replica; -- references are not checked
		FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('goose_db_version', 'device_flow_lock') LOOP
			EXECUTE format('DELETE FROM %I', name);
		END LOOP;
	END $$`)
	return errors.Join(err, db.Close(ctx))
}

// now is the current time of these tests.
var now = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// newConsumer inserts a consumer.
func newConsumer(t *testing.T, s *store.Store) account.Consumer {
	t.Helper()
	c, err := s.EnsureConsumer(t.Context(), account.Consumer{
		ID: uuid.New(), Name: uuid.NewString(), WebhookSecret: "whsec_c2VjcmV0", WebhookVersion: 2, CreatedAt: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// live returns a caller with a live key of a consumer.
func live(consumer uuid.UUID) account.Caller {
	return account.Caller{ConsumerID: consumer, Mode: job.Live}
}

// newJob returns a job of the consumer that is due now.
func newJob(consumer uuid.UUID) job.Record {
	return job.Record{
		Job: job.Job{
			ID: uuid.Must(uuid.NewV7()), ConsumerID: consumer, Mode: job.Live, ExternalID: uuid.NewString(),
			MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet, DisplayName: job.DefaultDisplayName,
			JoinAt: now, CreatedAt: now, Metadata: json.RawMessage(`{}`), AutoLeave: job.DefaultAutoLeave(), State: job.New(),
		},
		StatusSince: now,
		WakeAt:      now,
	}
}

// write runs a transaction.
func write(t *testing.T, s *store.Store, fn func(ctx context.Context, tx *store.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// insert inserts jobs, all of which must be new.
func insert(t *testing.T, s *store.Store, records ...job.Record) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for _, r := range records {
			inserted, err := tx.InsertJob(ctx, r)
			if err != nil {
				return err
			}
			if !inserted {
				return fmt.Errorf("job %s already exists", r.ExternalID)
			}
		}
		return nil
	})
}

// createJob inserts a job, or returns the one with its externalId.
func createJob(ctx context.Context, s *store.Store, r job.Record) (created job.Job, inserted bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		created = r.Job
		if inserted, err = tx.InsertJob(ctx, r); err != nil || inserted {
			return err
		}
		created, err = tx.JobByExternalID(ctx, account.Caller{ConsumerID: r.ConsumerID, Mode: r.Mode}, r.ExternalID)
		return err
	})
	return created, inserted, err
}

// connectAdmin connects to a PostgreSQL database beside the store.
func connectAdmin(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	admin, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return admin
}

// terminateConnections ends all other connections to a PostgreSQL database.
func terminateConnections(t *testing.T, admin *pgx.Conn) {
	t.Helper()
	_, err := admin.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`)
	if err != nil {
		t.Error(err)
	}
}
