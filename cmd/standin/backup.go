package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"standin/internal/base/text"
	"standin/internal/operation/backup"
	"standin/internal/recording/storage/s3"
	"standin/internal/server/service"
	"standin/internal/store/dump"
)

// backupFlags are the flags of backup and restore.
type backupFlags struct {
	storageFlags
	outputFlags
}

// settings converts the flags.
func (f backupFlags) settings(dir string, recordings backup.RecordingsMode) (backup.Settings, error) {
	data, err := filepath.Abs(f.DataDir)
	if err != nil {
		return backup.Settings{}, fmt.Errorf("resolve the data directory: %w", err)
	}
	return backup.Settings{
		Dir: dir, DataDir: data, Database: service.DatabaseAddress(f.DatabaseURL, data),
		Storage: service.StorageAddress(f.StorageURL, data), OpenS3: s3.Open, Recordings: recordings, Version: version(),
	}, nil
}

type backupCommand struct {
	backupFlags
	Dir        string                `arg:"" help:"Folder of the backup; it must be empty or missing."`
	Recordings backup.RecordingsMode `default:"auto" enum:"auto,copy,check,skip" help:"Recordings: copy them into the backup, check that storage has every file in their manifests, or skip them. auto: copy if storage is a folder, check if it is S3."`
}

// Run writes the backup.
func (c *backupCommand) Run(ctx context.Context, to terminal) error {
	if err := c.requireDatabase(); err != nil {
		return err
	}
	if err := actAsOwner(c.DataDir, c.Dir); err != nil {
		return err
	}
	settings, err := c.settings(c.Dir, c.Recordings)
	if err != nil {
		return err
	}
	made, err := backup.Create(ctx, settings)
	if err != nil {
		return err
	}
	err = c.print(to, made, nil, func() error {
		recordings := map[backup.RecordingsMode]string{
			backup.CopyRecordings:  "with " + text.Count(made.Recorded, "recording"),
			backup.CheckRecordings: "WITHOUT RECORDINGS: " + text.Count(made.Recorded, "recording") + " checked in storage and not copied",
			backup.SkipRecordings:  "WITHOUT RECORDINGS: they are only in storage",
		}[made.Recordings]
		return to.printf("backup of %s of %s in %s: database of %.1f MiB, in %.1f s\n%s\n", text.Count(made.Rows("jobs"), "job"),
			text.Count(made.Rows("consumers"), "team"), c.Dir, float64(made.Bytes())/(1<<20), float64(made.DurationMilli)/1000, recordings)
	})
	return errors.Join(err, reportProblems(to, made.Problems))
}

type restoreCommand struct {
	backupFlags
	Dir        string `arg:"" help:"Folder of the backup."`
	Force      bool   `help:"Replace a database that is not empty. A SQLite file is kept under another name; the content of a PostgreSQL database is deleted."`
	Recordings bool   `default:"true" negatable:"" help:"Copy the recordings of the backup to storage, if it has any, and check that storage has every file in the manifests."`
}

// Run restores the backup.
func (c *restoreCommand) Run(ctx context.Context, to terminal) error {
	mode := backup.CheckRecordings
	if !c.Recordings {
		mode = backup.SkipRecordings
	}
	settings, err := c.settings(c.Dir, mode)
	if err != nil {
		return err
	}
	settings.Force = c.Force
	if err := actAsOwner(c.DataDir); err != nil {
		return err
	}
	lock, err := service.LockDataDir(settings.DataDir)
	if err != nil {
		return err
	}
	restored, err := backup.Restore(ctx, settings)
	if errors.Is(err, dump.ErrNotEmpty) {
		err = fmt.Errorf("%w; --force replaces it", err)
	}
	if err := errors.Join(err, lock.Close()); err != nil {
		return err
	}
	from := restored.Description
	result := map[string]any{
		"jobs": from.Rows("jobs"), "consumers": from.Rows("consumers"), "backupCreatedAt": from.CreatedAt,
		"recorded": restored.Recorded, "recordingsProblems": restored.Problems, "durationMs": restored.Duration.Milliseconds(),
	}
	err = c.print(to, result, nil, func() error {
		return to.printf("restored %s of %s, as of %s, in %.1f s; %s\n", text.Count(from.Rows("jobs"), "job"),
			text.Count(from.Rows("consumers"), "team"), from.CreatedAt.Format(time.RFC3339), restored.Duration.Seconds(),
			text.Count(restored.Recorded, "recording"))
	})
	return errors.Join(err, reportProblems(to, restored.Problems))
}

// reportProblems prints problems with recordings and returns an error if there
// are any.
func reportProblems(to terminal, problems []backup.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	for _, p := range problems {
		fmt.Fprintf(to.Err, "recording of job %s: %s\n", p.JobID, p.Problem)
	}
	return fmt.Errorf("%d problems with recordings", len(problems))
}
