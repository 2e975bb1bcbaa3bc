package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/jobs/jobfiles"
	"standin/internal/operation/backup"
	recordingbuild "standin/internal/recording/build"
	"standin/internal/recording/retention"
	"standin/internal/recording/storage"
	"standin/internal/recording/storage/s3"
	"standin/internal/server/service"
	"standin/internal/store"
)

type recordingsCommand struct {
	List       recordingsListCommand       `cmd:"" help:"List the jobs with a recording, newest first."`
	Open       recordingsOpenCommand       `cmd:"" help:"Open a recording in the player of the dashboard."`
	Delete     recordingsDeleteCommand     `cmd:"" help:"Delete a recording. This cannot be undone."`
	Download   recordingsDownloadCommand   `cmd:"" help:"Download a recording and verify its checksums."`
	Transcript recordingsTranscriptCommand `cmd:"" help:"Print the transcript of a recording."`
	Transcribe recordingsTranscribeCommand `cmd:"" help:"Transcribe a recording again."`
	Verify     recordingsVerifyCommand     `cmd:"" help:"Recompute the checksums of stored recordings, decode them, and compare the results with their manifests."`
	Finish     recordingsFinishCommand     `cmd:"" help:"Finish the recording of a job that failed before it was finished."`
	Sweep      recordingsSweepCommand      `cmd:"" help:"List stored objects that no recording needs."`
}

// storageFlags are the flags of commands that use the database and the storage.
type storageFlags struct {
	dataFlags
	service.StorageSettings
}

// withRecordings runs fn with the database and the storage open. The service
// may be running.
func (f *storageFlags) withRecordings(ctx context.Context, fn func(*store.Store, jobfiles.Files) error) error {
	dir, err := filepath.Abs(f.DataDir)
	if err != nil {
		return fmt.Errorf("resolve the data directory: %w", err)
	}
	s, err := f.ProvideStore(ctx)
	if err != nil {
		return err
	}
	recordings, err := storage.Open(ctx, service.StorageAddress(f.StorageURL, dir), s3.Open)
	if err != nil {
		return err
	}
	return errors.Join(fn(s, jobfiles.Files{Recordings: recordings, DataDir: dir}), recordings.Close())
}

type recordingsVerifyCommand struct {
	storageFlags
	Job  string `arg:"" optional:"" help:"ID of the job. Default: all jobs with a recording."`
	JSON bool   `help:"Print one line of JSON per recording."`
}

// Run verifies the recordings.
func (c *recordingsVerifyCommand) Run(ctx context.Context, to terminal) error {
	tools, err := recordingbuild.FindTools()
	if err != nil {
		return err
	}
	return c.withRecordings(ctx, func(s *store.Store, files jobfiles.Files) error {
		verifier := &recordingbuild.Verifier{Recordings: files, Tools: tools}
		recorded := backup.Recorded(ctx, s) // without jobs whose manifest is stored outside of the service
		if c.Job != "" {
			id, err := uuid.Parse(c.Job)
			if err != nil {
				return fmt.Errorf("%q is not a job ID", c.Job)
			}
			r, err := s.Job(ctx, id)
			switch {
			case err != nil:
				return fmt.Errorf("job %s: %w", id, err)
			case !r.RecordingDeletedAt.IsZero():
				return fmt.Errorf("the recording of job %s was deleted at %s", id, r.RecordingDeletedAt.Format(time.RFC3339))
			case !backup.InStorage(r.Job):
				return fmt.Errorf("job %s has no recording in this storage; its status is %s", id, r.Status)
			}
			recorded = func(yield func(job.Job, error) bool) { yield(r.Job, nil) }
		}
		var valid, invalid int
		for j, err := range recorded {
			if err != nil {
				return err
			}
			verdict, err := verifier.Verify(ctx, j.ID)
			if err != nil {
				return err
			}
			state := "valid"
			if verdict.OK() {
				valid++
			} else {
				invalid++
				state = "INVALID"
			}
			if c.JSON {
				if err := printJSONLine(to.Out, verdict); err != nil {
					return err
				}
				continue
			}
			fmt.Fprintf(to.Out, "%s  %s  %q\n", j.ID, state, j.ExternalID)
			for _, problem := range verdict.Problems {
				fmt.Fprintf(to.Out, "  %s\n", problem)
			}
			for _, file := range verdict.Files {
				length := (time.Duration(file.DecodedMs) * time.Millisecond).Round(100 * time.Millisecond)
				fmt.Fprintf(to.Out, "  %s  %d bytes, %v decoded, %s\n", file.Name, file.Bytes, length, cmp.Or(file.Codecs, "-"))
				for _, problem := range file.Problems {
					fmt.Fprintf(to.Out, "    %s\n", problem)
				}
			}
		}
		if !c.JSON {
			fmt.Fprintf(to.Out, "%d valid, %d invalid\n", valid, invalid)
		}
		if invalid > 0 {
			return fmt.Errorf("%d recordings do not match their manifests", invalid)
		}
		return nil
	})
}

type recordingsSweepCommand struct {
	storageFlags
	Delete bool `help:"Delete what is listed. This cannot be undone."`
	JSON   bool `name:"json" help:"Print a line of JSON for each job."`
}

// Run lists the unused objects and deletes them with --delete.
func (c *recordingsSweepCommand) Run(ctx context.Context, to terminal) error {
	return c.withRecordings(ctx, func(s *store.Store, files jobfiles.Files) error {
		keeper := retention.New(retention.Settings{Store: s, Files: files, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		jobs, result := 0, "listed; --delete removes them"
		err := keeper.Leftovers(ctx, func(leftover retention.Leftover) error {
			jobs++
			var err error
			if c.JSON {
				err = printJSONLine(to.Out, map[string]any{
					"jobId": leftover.JobID, "objects": leftover.Objects, "bytes": leftover.Bytes,
					"lastWrittenAt": leftover.Newest.UTC(), "reason": leftover.Reason, "delete": c.Delete,
				})
			} else {
				err = to.printf("%s  %d objects, %d bytes, last written %s: %s\n", leftover.JobID, leftover.Objects, leftover.Bytes,
					leftover.Newest.UTC().Format(time.RFC3339), leftover.Reason)
			}
			if err != nil || !c.Delete {
				return err
			}
			return keeper.Remove(ctx, leftover)
		})
		if err != nil || c.JSON {
			return err
		}
		if c.Delete {
			result = "deleted"
		}
		return to.printf("unused objects of %d jobs %s\n", jobs, result)
	})
}
