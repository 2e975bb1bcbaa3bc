// Package storetest starts a private PostgreSQL for tests: a cluster of its
// own in a temporary folder, never the system's.
package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver named pgx
)

// ErrMissing says that PostgreSQL is not installed.
var ErrMissing = errors.New("PostgreSQL's server is not installed (Debian and Ubuntu: apt-get install postgresql)")

// Cluster is a running PostgreSQL. It listens on a socket in its own folder
// and on no port.
type Cluster struct {
	dir       string
	binaries  string
	settings  []string // of the server, behind those of tests
	as        *syscall.Credential
	server    *exec.Cmd
	databases atomic.Int64
	template  func() (string, error) // makes it once
}

// Start makes a cluster and starts it. Settings, such as "fsync=on", come
// behind those of tests.
func Start(ctx context.Context, settings ...string) (*Cluster, error) {
	binaries, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "standin-pg-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for PostgreSQL: %w", err)
	}
	c := &Cluster{dir: dir, binaries: binaries, settings: settings}
	c.template = sync.OnceValues(c.makeTemplate)
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// find returns the folder of the newest installed server.
func find() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		if path, err := exec.LookPath("initdb"); err == nil {
			return filepath.Dir(path), nil
		}
		return "", ErrMissing
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4]) // /usr/lib/postgresql/15/…
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.becomeServerUser(); err != nil {
		return err
	}
	data := filepath.Join(c.dir, "data")
	initialize := c.command(ctx, "initdb", "--pgdata", data, "--username", "postgres", "--auth", "trust",
		"--encoding", "UTF8", "--locale", "C", "--no-sync")
	if out, err := initialize.CombinedOutput(); err != nil {
		return fmt.Errorf("make a PostgreSQL cluster: %w: %s", err, out)
	}
	return c.run(ctx)
}

// run starts the server on the cluster's data.
func (c *Cluster) run(ctx context.Context) error {
	data := filepath.Join(c.dir, "data")
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open PostgreSQL's log: %w", err)
	}
	defer log.Close() // the server has its own
	// fsync is off: these tests ask what is kept, not whether it survives a
	// loss of power.
	args := []string{"-D", data, "-k", c.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=300"}
	for _, setting := range c.settings {
		args = append(args, "-c", setting)
	}
	c.server = c.command(context.Background(), "postgres", args...)
	c.server.Stdout, c.server.Stderr = log, log
	if err := c.server.Start(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	return c.waitReady(ctx)
}

// Crash ends the server at once, without a shutdown: it has to recover when it
// is started again.
func (c *Cluster) Crash() error {
	if err := c.server.Process.Signal(syscall.SIGQUIT); err != nil {
		return fmt.Errorf("crash PostgreSQL: %w", err)
	}
	_ = c.server.Wait() // its exit code tells only of the signal
	return nil
}

// Restart starts the server again after a Crash.
func (c *Cluster) Restart(ctx context.Context) error { return c.run(ctx) }

// Socket is the path of the socket on which the server listens.
func (c *Cluster) Socket() string { return filepath.Join(c.dir, ".s.PGSQL.5432") }

// becomeServerUser gives the cluster to an ordinary user when this is root,
// as whom PostgreSQL refuses to run.
func (c *Cluster) becomeServerUser() error {
	if os.Getuid() != 0 {
		return nil
	}
	owner, err := user.Lookup("postgres") // made by Debian's package
	if err != nil {
		return fmt.Errorf("find the user to run PostgreSQL as: %w", err)
	}
	uid, err := strconv.ParseUint(owner.Uid, 10, 32)
	if err != nil {
		return fmt.Errorf("find the user to run PostgreSQL as: %w", err)
	}
	gid, err := strconv.ParseUint(owner.Gid, 10, 32)
	if err != nil {
		return fmt.Errorf("find the user to run PostgreSQL as: %w", err)
	}
	c.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(c.dir, int(uid), int(gid))
}

// command prepares one of PostgreSQL's programs. They die with the tests.
func (c *Cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.binaries, name), args...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as, Pdeathsig: syscall.SIGQUIT}
	return cmd
}

// waitReady waits until the server takes connections.
func (c *Cluster) waitReady(ctx context.Context) error {
	db, err := sql.Open("pgx", c.address("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
			return fmt.Errorf("PostgreSQL does not start: %w: %s", err, log)
		}
	}
}

// NewDatabase makes a database without a schema and returns its address.
func (c *Cluster) NewDatabase(ctx context.Context) (string, error) { return c.newDatabase(ctx, "") }

func (c *Cluster) newDatabase(ctx context.Context, options string) (string, error) {
	name := fmt.Sprintf("test%d", c.databases.Add(1))
	if err := c.create(ctx, name, options); err != nil {
		return "", err
	}
	return c.address(name), nil
}

func (c *Cluster) create(ctx context.Context, name, options string) error {
	db, err := sql.Open("pgx", c.address("postgres"))
	if err != nil {
		return fmt.Errorf("make a database: %w", err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE DATABASE "+name+" "+options); err != nil {
		return fmt.Errorf("make a database: %w", err)
	}
	return nil
}

// makeTemplate makes a database that was migrated once, for others to be copies
// of it, and returns its name.
func (c *Cluster) makeTemplate() (string, error) {
	const name = "migrated"
	if err := c.create(context.Background(), name, ""); err != nil {
		return "", err
	}
	return name, migrate(c.address(name))
}

// address is how the database of that name is reached.
func (c *Cluster) address(name string) string {
	query := url.Values{"host": {c.dir}, "user": {"postgres"}}
	return "postgres:///" + name + "?" + query.Encode()
}

// Stop ends the server and removes the cluster.
func (c *Cluster) Stop() error {
	if c.server != nil && c.server.Process != nil {
		_ = c.server.Process.Signal(syscall.SIGQUIT) // at once: nothing of it is kept
		_ = c.server.Wait()                          // its exit code tells only of the signal
	}
	return os.RemoveAll(c.dir)
}

// Main starts a cluster for the tests of a package, gives it to use, runs the
// tests and stops it; it returns the exit code. Where PostgreSQL is missing
// use gets nil, except in CI, where that is a failure.
func Main(m *testing.M, use func(*Cluster)) int {
	cluster, err := Start(context.Background())
	if err != nil && (!errors.Is(err, ErrMissing) || os.Getenv("CI") != "") {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	use(cluster)
	code := m.Run()
	if cluster == nil {
		return code
	}
	if err := cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
