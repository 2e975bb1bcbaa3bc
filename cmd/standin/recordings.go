package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/retention"
	"standin/internal/service"
	"standin/internal/store"
)

type recordingsCommand struct {
	Download recordingsDownloadCommand `cmd:"" help:"Fetch a recording's files and hold them against their sums."`
	Verify   recordingsVerifyCommand   `cmd:"" help:"Recompute the sums of recordings, decode them, and compare both with their manifests."`
	Sweep    recordingsSweepCommand    `cmd:"" help:"List what storage holds and nobody needs."`
}

// withRecordings runs fn with the database and the storage open, beside a
// service that may be running.
func withRecordings(ctx context.Context, data dataFlags, where storageFlags, fn func(*store.Store, *recording.Storage) error) error {
	dir, err := filepath.Abs(data.DataDir)
	if err != nil {
		return fmt.Errorf("find the data folder: %w", err)
	}
	return data.withStore(ctx, func(s *store.Store) error {
		storage, err := recording.OpenStorage(ctx, service.StorageAddress(where.StorageURL, dir))
		if err != nil {
			return err
		}
		return errors.Join(fn(s, storage), storage.Close())
	})
}

type recordingsVerifyCommand struct {
	dataFlags
	storageFlags
	Job  string `arg:"" optional:"" help:"The job's id. Default: all jobs that have a recording."`
	JSON bool   `help:"Print a line of JSON for each recording."`
}

// Help tells what is done, and what the exit code says.
func (recordingsVerifyCommand) Help() string {
	return "Give it the settings of standin serve. Nothing is changed and nothing is copied to disk. For each recording it " +
		"holds that every file of the manifest is there, has the bytes and the SHA-256 that the manifest tells, begins with a " +
		"key frame at 0, decodes from end to end, and lasts as long as the manifest says. Exit code 1 when anything is wrong."
}

// Run verifies.
func (c *recordingsVerifyCommand) Run(ctx context.Context, to terminal) error {
	tools, err := recording.FindTools()
	if err != nil {
		return err
	}
	return withRecordings(ctx, c.dataFlags, c.storageFlags, func(s *store.Store, storage *recording.Storage) error {
		verifier := &recording.Verifier{Storage: storage, Tools: tools}
		var whole, wrong int
		err := eachRecorded(ctx, s, c.Job, func(j job.Job) error {
			verdict, err := verifier.Verify(ctx, j.ID)
			if err != nil {
				return err
			}
			if verdict.OK() {
				whole++
			} else {
				wrong++
			}
			if c.JSON {
				return json.NewEncoder(to.out).Encode(verdict)
			}
			printVerdict(to, j, verdict)
			return nil
		})
		if err != nil {
			return err
		}
		if !c.JSON {
			fmt.Fprintf(to.out, "%d in order, %d not\n", whole, wrong)
		}
		if wrong > 0 {
			return fmt.Errorf("%d recordings are not as their manifests say", wrong)
		}
		return nil
	})
}

// eachRecorded gives the job that is named, or else all that have a recording.
// Manifests that bots keep elsewhere are not ours to verify.
func eachRecorded(ctx context.Context, s *store.Store, named string, each func(job.Job) error) error {
	if named != "" {
		id, err := uuid.Parse(named)
		if err != nil {
			return fmt.Errorf("%q is no job id", named)
		}
		r, err := s.Job(ctx, id)
		switch {
		case err != nil:
			return fmt.Errorf("job %s: %w", id, err)
		case !r.RecordingDeletedAt.IsZero():
			return fmt.Errorf("the recording of job %s was deleted at %s", id, r.RecordingDeletedAt.Format(time.RFC3339))
		case !ownManifest(r.Job):
			return fmt.Errorf("job %s has no recording here: it is %s", id, r.Status)
		}
		return each(r.Job)
	}
	const page = 100
	for after := uuid.Nil; ; {
		jobs, err := s.RecordedJobs(ctx, after, page)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			after = j.ID
			if !ownManifest(j) {
				continue
			}
			if err := each(j); err != nil {
				return err
			}
		}
		if len(jobs) < page {
			return nil
		}
	}
}

// ownManifest reports whether a job's manifest is in the service's storage.
func ownManifest(j job.Job) bool {
	return strings.HasSuffix(j.ManifestURI, recording.ManifestURI("", j.ID.String()))
}

func printVerdict(to terminal, j job.Job, verdict recording.VerifyReport) {
	state := "in order"
	if !verdict.OK() {
		state = "NOT in order"
	}
	fmt.Fprintf(to.out, "%s  %s  %q\n", j.ID, state, j.ExternalID)
	for _, problem := range verdict.Problems {
		fmt.Fprintf(to.out, "  %s\n", problem)
	}
	for _, file := range verdict.Files {
		length := (time.Duration(file.DecodedMs) * time.Millisecond).Round(100 * time.Millisecond)
		fmt.Fprintf(to.out, "  %s  %d bytes, %v decoded, %s\n", file.Name, file.Bytes, length, orDash(file.Codecs))
		for _, problem := range file.Problems {
			fmt.Fprintf(to.out, "    %s\n", problem)
		}
	}
}

type recordingsSweepCommand struct {
	dataFlags
	storageFlags
	Delete bool `help:"Delete what is listed. This cannot be undone."`
	JSON   bool `name:"json" help:"Print a line of JSON for each job."`
}

// Help tells what is listed.
func (recordingsSweepCommand) Help() string {
	return "Lists what storage holds and nobody needs: of jobs that this database does not know, uploads left after a " +
		"recording was finished, what is left after a deletion, and writes that were interrupted. Nothing is listed of a job in " +
		"which anything was written within a day, or that has not ended. A running service clears up by itself each day, but " +
		"for jobs that its database does not know: before deleting those, be sure that it is the right database."
}

// tell prints what is left over of a job.
func (c *recordingsSweepCommand) tell(w io.Writer, leftover retention.Leftover) error {
	if c.JSON {
		return json.NewEncoder(w).Encode(map[string]any{
			"jobId": leftover.JobID, "objects": leftover.Objects, "bytes": leftover.Bytes,
			"lastWrittenAt": leftover.Newest.UTC(), "why": leftover.Reason, "delete": c.Delete,
		})
	}
	_, err := fmt.Fprintf(w, "%s  %d objects, %d bytes, last written %s: %s\n", leftover.JobID, leftover.Objects, leftover.Bytes,
		leftover.Newest.UTC().Format(time.RFC3339), leftover.Reason)
	return err
}

// Run lists, and deletes when asked to.
func (c *recordingsSweepCommand) Run(ctx context.Context, to terminal) error {
	return withRecordings(ctx, c.dataFlags, c.storageFlags, func(s *store.Store, storage *recording.Storage) error {
		keeper := retention.New(retention.Settings{Store: s, Storage: storage, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		jobs, done := 0, "listed; --delete deletes it"
		err := keeper.Leftovers(ctx, func(leftover retention.Leftover) error {
			jobs++
			if err := c.tell(to.out, leftover); err != nil || !c.Delete {
				return err
			}
			return keeper.Remove(ctx, leftover)
		})
		if err != nil || c.JSON {
			return err
		}
		if c.Delete {
			done = "deleted"
		}
		_, err = fmt.Fprintf(to.out, "left over of %d jobs, %s\n", jobs, done)
		return err
	})
}
