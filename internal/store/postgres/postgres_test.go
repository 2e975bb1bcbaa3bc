package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"standin/internal/store/postgres"
	"standin/internal/store/sqldb"
	"standin/internal/testing/drivertest"
	"standin/internal/testing/storetest"
)

// cluster is the PostgreSQL server of the tests; nil if it is not installed.
var cluster *storetest.Cluster

func TestMain(m *testing.M) {
	os.Exit(storetest.Main(m, func(c *storetest.Cluster) { cluster = c }))
}

// touch writes something.
func touch(ctx context.Context, tx sqldb.Conn) error {
	_, err := tx.Exec(ctx, sqldb.Statement{Query: `DELETE FROM jobs WHERE external_id = $1`, Args: []any{"none"}})
	return err
}

func open(t *testing.T, address string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, open(t, cluster.Fresh(t)), sqldb.Postgres)
}

// TestConflict checks that a transaction is repeated that PostgreSQL has aborted because
// of a concurrent one.
func TestConflict(t *testing.T) {
	t.Parallel()
	db := open(t, cluster.Fresh(t))
	for code, repeated := range map[string]bool{"40001": true, "40P01": true, "23505": false} {
		calls := 0
		err := db.Write(t.Context(), func(context.Context, sqldb.Conn) error {
			if calls++; calls < 3 {
				return fmt.Errorf("write: %w", &pgconn.PgError{Code: code})
			}
			return nil
		})
		if (err == nil) != repeated || (calls == 3) != repeated {
			t.Errorf("%s: %d calls, %v", code, calls, err)
		}
	}
}

// TestReadOnly checks that writes go on at once when the server becomes the primary again that
// connections of the pool lead to, and that no connection to a standby is kept.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	address := cluster.Fresh(t)
	db := open(t, address)
	for range 5 { // connections that stay
		if _, err := db.Reader().Exec(t.Context(), sqldb.Statement{Query: `SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY`}); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 {
		if err := db.Write(t.Context(), touch); err != nil {
			t.Fatal(err)
		}
	}
	standby, err := postgres.Open(t.Context(), address+"&default_transaction_read_only=on")
	if err == nil {
		_ = standby.Close()
		t.Error("a standby was accepted")
	}
}

// TestAddress checks that the password of an address is in no error.
func TestAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"postgres://ada:hunter2@127.0.0.1:1/x?sslmode=disable", "postgres://ada:hunter2@127.0.0.1:port/x"} {
		_, err := postgres.Open(t.Context(), address)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestFullDisk checks which errors mean a full disk.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if !postgres.IsDiskFull(fmt.Errorf("write: %w", &pgconn.PgError{Code: "53100"})) || postgres.IsDiskFull(errors.New("disk full")) {
		t.Error("a full disk is not told from other errors")
	}
}

// TestNotifier checks that a node receives the notifications of others, and not its own,
// also after its connections were lost.
func TestNotifier(t *testing.T) {
	t.Parallel()
	address := cluster.Fresh(t)
	db := open(t, address)
	type received struct {
		by string
		postgres.Notification
	}
	notifications := make(chan received, 100)
	nodes := make(map[string]*postgres.Notifier)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for _, name := range []string{"first", "second"} {
		node := postgres.NewNotifier(db, func(n postgres.Notification) { notifications <- received{name, n} }, slog.New(slog.DiscardHandler))
		nodes[name] = node
		running.Go(func() { node.Run(ctx) })
	}
	for range nodes { // each listens
		if first := <-notifications; !first.Jobs || !first.Deliveries {
			t.Errorf("at the start: %+v", first)
		}
	}
	ids := make([]uuid.UUID, 200)
	for i := range ids {
		ids[i] = uuid.New()
	}
	nodes["first"].Notify(postgres.Notification{Commands: ids})
	got := <-notifications
	if got.by != "second" || got.Jobs || got.Deliveries || len(got.Commands) != 150 || got.Commands[0] != ids[0] {
		t.Errorf("%s received %t, %t and %d commands", got.by, got.Jobs, got.Deliveries, len(got.Commands))
	}
	nodes["second"].Notify(postgres.Notification{Jobs: true})
	if got := <-notifications; got.by != "first" || !got.Jobs || got.Deliveries || len(got.Commands) > 0 {
		t.Errorf("received %+v", got)
	}

	admin, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.WithoutCancel(ctx))
	if _, err := admin.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`); err != nil {
		t.Fatal(err)
	}
	for range nodes { // each listens again
		if again := <-notifications; !again.Jobs || !again.Deliveries {
			t.Errorf("after the reconnection: %+v", again)
		}
	}
	nodes["first"].Notify(postgres.Notification{Deliveries: true})
	if got := <-notifications; got.by != "second" || got.Jobs || !got.Deliveries {
		t.Errorf("after the reconnection, received %+v", got)
	}
}
