package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"standin/bench/limit"
	"standin/bench/process"
	"standin/bench/seed"
	"standin/internal/testing/storetest"
)

// Programs that are measured, besides the kinds of limits.
const (
	standin = "standin"
	base    = "base" // the other commit of a comparison
)

// Databases.
const (
	sqlite   = "SQLite"
	postgres = "PostgreSQL"
)

// env has what all rows use: the binaries, a directory and a PostgreSQL server.
type env struct {
	options
	self    string // this program, which contains the limit programs
	cluster *storetest.Cluster
	folders int
}

// newEnv builds the binary and starts PostgreSQL.
func newEnv(ctx context.Context, o options) (e *env, err error) {
	e = &env{options: o}
	if e.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if e.dir, err = os.MkdirTemp(o.dir, "standin-bench-"); err != nil {
		return nil, err
	}
	if e.standin == "" {
		e.standin = filepath.Join(e.dir, "standin")
		if err := build(ctx, e.standin); err != nil {
			return nil, errors.Join(err, e.close())
		}
	}
	if e.uses(postgres) {
		if err := e.startPostgres(ctx); err != nil {
			return nil, errors.Join(err, e.close())
		}
	}
	return e, nil
}

// startPostgres starts PostgreSQL with the files of its log, as a server that has run
// for some time.
func (e *env) startPostgres(ctx context.Context) (err error) {
	e.cluster, err = storetest.Start(ctx, "fsync=on", "synchronous_commit=on", "max_connections=500", "shared_buffers=512MB",
		"min_wal_size=1GB")
	if err != nil {
		return err
	}
	database, err := e.cluster.NewDatabase(ctx)
	if err != nil {
		return err
	}
	return seed.CreateLogFiles(ctx, database, e.logFiles)
}

// build builds the binary from the module of the working directory, as in a release.
func build(ctx context.Context, path string, flags ...string) error {
	args := append([]string{"build", "-o", path}, flags...)
	if out, err := exec.CommandContext(ctx, "go", append(args, "standin/cmd/standin")...).CombinedOutput(); err != nil {
		return fmt.Errorf("build standin: %w: %s", err, out)
	}
	return nil
}

func (e *env) close() error {
	var err error
	if e.cluster != nil {
		err = e.cluster.Stop()
	}
	return errors.Join(err, os.RemoveAll(e.dir))
}

// uses reports whether a database is measured.
func (e *env) uses(database string) bool {
	return slices.Contains(e.databases, database)
}

// binaries returns the measured binaries of Standin by program.
func (e *env) binaries() map[string]string {
	all := map[string]string{standin: e.standin}
	if e.base != "" {
		all[base] = e.base
	}
	return all
}

// programs returns the measured programs of Standin.
func (e *env) programs() []string {
	if e.base != "" {
		return []string{base, standin}
	}
	return []string{standin}
}

// removeFolders removes the SQLite databases and logs of a row, so that those of all
// rows do not fill the disk.
func (e *env) removeFolders() error {
	folders, err := filepath.Glob(filepath.Join(e.dir, "[0-9]*"))
	for _, folder := range folders {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	return err
}

// logged returns the first error that each program of a row logged.
func (e *env) logged() error {
	logs, err := filepath.Glob(filepath.Join(e.dir, "[0-9]*", "log"))
	for _, log := range logs {
		content, readErr := os.ReadFile(log)
		err = errors.Join(err, readErr)
		for text := range strings.Lines(string(content)) {
			if strings.Contains(text, "level=ERROR") {
				err = errors.Join(err, fmt.Errorf("%s: %s", log, strings.TrimSpace(text)))
				break
			}
		}
	}
	return err
}

// newDir creates an empty directory.
func (e *env) newDir() (string, error) {
	e.folders++
	dir := filepath.Join(e.dir, fmt.Sprint(e.folders))
	return dir, os.Mkdir(dir, 0o700)
}

// newDatabase returns the address of a new database.
func (e *env) newDatabase(ctx context.Context, database, dir string) (string, error) {
	if database == postgres {
		return e.cluster.NewDatabase(ctx)
	}
	return filepath.Join(dir, "standin.db"), nil
}

// limitServer is a running limit program.
type limitServer struct {
	*process.Process
	kind     limit.Kind
	database string // empty without one
}

// startLimit starts a limit program.
func (e *env) startLimit(ctx context.Context, kind limit.Kind, database string) (*limitServer, error) {
	dir, err := e.newDir()
	if err != nil {
		return nil, err
	}
	address := ""
	if kind != limit.NoDatabase {
		if address, err = e.newDatabase(ctx, database, dir); err != nil {
			return nil, err
		}
	}
	if kind == limit.JobsTable || kind == limit.CheckedJobs || kind == limit.EventTables {
		if err := e.createSchema(ctx, kind, database, dir, address); err != nil {
			return nil, err
		}
	}
	p, err := process.Start(ctx, filepath.Join(dir, "log"), nil, e.self, "limit", string(kind), address)
	if err != nil {
		return nil, err
	}
	return &limitServer{p, kind, database}, nil
}

// createSchema creates Standin's tables in a database, with the jobs that a limit
// program needs.
func (e *env) createSchema(ctx context.Context, kind limit.Kind, database, dir, address string) error {
	s, err := e.startIn(ctx, standin, database, dir, address)
	if err != nil {
		return err
	}
	id, err := s.createJob(ctx, newJob(1))
	if err := errors.Join(err, s.Stop()); err != nil || kind != limit.EventTables {
		return err
	}
	_, err = s.copyOf(ctx, id, limit.EventJobs, map[string]string{"status": `'recording_paused'`})
	return err
}
