package postgres_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"standin/internal/store/postgres"
)

// TestPooler checks that PgBouncer works in session mode with its defaults, and that its other
// modes, which would break at the second statement, are refused in a sentence.
func TestPooler(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: make check-long")
	}
	if _, err := exec.LookPath("pgbouncer"); err != nil && os.Getenv("CI") == "" {
		t.Skip("PgBouncer is not installed")
	}
	address := cluster.Fresh(t)
	for mode, works := range map[string]bool{"session": true, "transaction": false, "statement": false} {
		db, err := postgres.Open(t.Context(), pooled(t, address, mode))
		if !works {
			if err == nil || !strings.Contains(err.Error(), "pool_mode = session") {
				t.Errorf("%s mode: %v", mode, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s mode: %v", mode, err)
		}
		for range 20 {
			if err := db.Write(t.Context(), touch); err != nil {
				t.Errorf("%s mode: %v", mode, err)
			}
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// pooled starts PgBouncer in front of a database, and returns its address.
func pooled(t *testing.T, address, mode string) string {
	t.Helper()
	database, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "pooler") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	config := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\n* = host=%s user=postgres\n[pgbouncer]\nauth_type = any\npool_mode = %s\nunix_socket_dir = %s\nlisten_port = 6432\n",
		database.Query().Get("host"), mode, dir)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil { //nolint:gosec // of another user
		t.Fatal(err)
	}
	server := exec.Command("pgbouncer", config)
	if os.Getuid() == 0 { // PgBouncer refuses to run as root
		owner, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(owner.Uid)
		gid, _ := strconv.Atoi(owner.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
		server.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	database.RawQuery = url.Values{"host": {dir}, "port": {"6432"}, "user": {"postgres"}}.Encode()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(20 * time.Second); ; <-ticker.C {
		conn, err := pgx.Connect(t.Context(), database.String())
		if err == nil {
			_ = conn.Close(t.Context())
			return database.String()
		}
		if time.Now().After(deadline) {
			t.Fatalf("PgBouncer: %v", err)
		}
	}
}
