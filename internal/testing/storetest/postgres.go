// Package storetest provides databases for tests. It starts a private PostgreSQL
// cluster in a temporary folder.
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

	"standin/internal/testing/testprocess"
)

// ErrMissing is the error when PostgreSQL is not installed.
var ErrMissing = errors.New("PostgreSQL's server is not installed (Debian and Ubuntu: apt-get install postgresql)")

// sharedVariable is the environment variable with the folder of a running server that
// the tests of many packages share. Command withpostgres sets it.
const sharedVariable = "STANDIN_TEST_POSTGRES"

// templateName is the name of the migrated database that others are copied from.
const templateName = "migrated"

// Cluster is a running PostgreSQL server. It listens only on a Unix socket in its
// folder.
type Cluster struct {
	dir       string
	binaries  string
	settings  []string // of the server, after the defaults
	as        *syscall.Credential
	server    *exec.Cmd
	exited    <-chan struct{} // closed when the server has exited
	databases atomic.Int64
	template  func() error // creates it once
}

// Start creates and starts a cluster. Settings, such as "fsync=on", override the
// defaults.
func Start(ctx context.Context, settings ...string) (*Cluster, error) {
	return start(ctx, settings, "initdb", "--auth", "trust", "--encoding", "UTF8", "--locale", "C")
}

// standby starts a server that replicates this one, and that can only be read.
func (c *Cluster) standby(ctx context.Context) (*Cluster, error) {
	return start(ctx, nil, "pg_basebackup", "--host", c.dir, "--write-recovery-conf", "--checkpoint", "fast")
}

// start starts a cluster whose data a program of PostgreSQL creates.
func start(ctx context.Context, settings []string, create string, args ...string) (*Cluster, error) {
	binaries, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "standin-pg-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for PostgreSQL: %w", err)
	}
	c := &Cluster{dir: dir, binaries: binaries, settings: settings}
	c.template = sync.OnceValue(c.createTemplate)
	if err := c.start(ctx, create, args...); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// find returns the folder of the newest installed server's programs.
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

func (c *Cluster) start(ctx context.Context, create string, args ...string) error {
	if err := c.becomeServerUser(); err != nil {
		return err
	}
	data := filepath.Join(c.dir, "data")
	creating := c.command(ctx, create, append(args, "--pgdata", data, "--username", "postgres", "--no-sync")...)
	if out, err := creating.CombinedOutput(); err != nil {
		return fmt.Errorf("create a PostgreSQL cluster: %w: %s", err, out)
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
	defer log.Close() // the server has inherited it
	// fsync is off: tests do not cover power loss.
	args := []string{"-D", data, "-k", c.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=300"}
	for _, setting := range c.settings {
		args = append(args, "-c", setting)
	}
	c.server = c.command(context.Background(), "postgres", args...)
	c.server.Stdout, c.server.Stderr = log, log
	if c.exited, err = testprocess.Start(c.server, syscall.SIGQUIT); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	return c.waitReady(ctx)
}

// PID returns the process ID of the server, the parent of all its processes.
func (c *Cluster) PID() int { return c.server.Process.Pid }

// Crash ends the server without a shutdown, so that it must recover when it is
// restarted.
func (c *Cluster) Crash() error {
	if err := c.server.Process.Signal(syscall.SIGQUIT); err != nil {
		return fmt.Errorf("crash PostgreSQL: %w", err)
	}
	<-c.exited
	return nil
}

// Restart starts the server again after a Crash.
func (c *Cluster) Restart(ctx context.Context) error { return c.run(ctx) }

// Socket returns the path of the server's socket.
func (c *Cluster) Socket() string { return filepath.Join(c.dir, ".s.PGSQL.5432") }

// becomeServerUser makes an ordinary user the owner of the cluster when this
// process is root: PostgreSQL refuses to run as root.
func (c *Cluster) becomeServerUser() error {
	if os.Getuid() != 0 {
		return nil
	}
	owner, err := user.Lookup("postgres") // created by Debian's package
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

// command prepares a program of PostgreSQL.
func (c *Cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.binaries, name), args...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as}
	return cmd
}

// waitReady waits until the server accepts connections.
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
			return fmt.Errorf("start PostgreSQL: %w: %s", err, log)
		}
	}
}

// NewDatabase creates a database without a schema and returns its address.
func (c *Cluster) NewDatabase(ctx context.Context) (string, error) { return c.newDatabase(ctx, "") }

func (c *Cluster) newDatabase(ctx context.Context, options string) (string, error) {
	name := databaseName(c.databases.Add(1))
	if err := c.create(ctx, name, options); err != nil {
		return "", err
	}
	return c.address(name), nil
}

func (c *Cluster) create(ctx context.Context, name, options string) error {
	return c.execute(ctx, "CREATE DATABASE "+name+" "+options)
}

// execute runs a statement in the server's own database.
func (c *Cluster) execute(ctx context.Context, statement string) error {
	db, err := sql.Open("pgx", c.address("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// createTemplate creates the migrated database.
func (c *Cluster) createTemplate() error {
	if err := c.create(context.Background(), templateName, ""); err != nil {
		return err
	}
	return migrate(c.address(templateName))
}

// address returns the address of a database.
func (c *Cluster) address(name string) string {
	query := url.Values{"host": {c.dir}, "user": {"postgres"}}
	return "postgres:///" + name + "?" + query.Encode()
}

// Stop ends the server and removes the cluster.
func (c *Cluster) Stop() error {
	if c.server != nil && c.server.Process != nil {
		_ = c.server.Process.Signal(syscall.SIGQUIT) // immediate shutdown: the data is deleted
		<-c.exited
	}
	return os.RemoveAll(c.dir)
}

// StartShared starts a cluster for the tests of many packages and returns the
// environment variable that passes it to their Main.
func StartShared(ctx context.Context) (c *Cluster, variable string, err error) {
	if c, err = Start(ctx); err != nil {
		return nil, "", err
	}
	if err := c.template(); err != nil {
		return nil, "", errors.Join(err, c.Stop())
	}
	return c, sharedVariable + "=" + c.dir, nil
}

// Main passes a cluster for the tests of a package to use, runs the tests and returns the
// exit code. It is the shared cluster, if there is one, else one that Main starts and
// stops. Without PostgreSQL, use gets nil, except in CI, where Main fails.
func Main(m *testing.M, use func(*Cluster)) int {
	dir := os.Getenv(sharedVariable)
	if dir == "" {
		return PrivateMain(m, use)
	}
	cluster := &Cluster{dir: dir, template: func() error { return nil }}
	use(cluster)
	code := m.Run()
	if err := cluster.dropDatabases(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// dropDatabases removes the databases of this process.
func (c *Cluster) dropDatabases() error {
	for n := range c.databases.Load() {
		if err := c.execute(context.Background(), fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", databaseName(n+1))); err != nil {
			return err
		}
	}
	return nil
}

// databaseName returns the name of this process's n-th database.
func databaseName(n int64) string { return fmt.Sprintf("test_%d_%d", os.Getpid(), n) }

// PrivateMain is Main with a cluster that other packages do not use, for tests that
// crash it.
func PrivateMain(m *testing.M, use func(*Cluster)) int {
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
