package backup

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/store"
)

// page is the number of jobs that are read from the database at once.
const page = 100

// openRecordings opens the recordings in a backup.
func openRecordings(ctx context.Context, dir string) (*recording.Storage, error) {
	absolute, err := filepath.Abs(filepath.Join(dir, recordingsDir))
	if err != nil {
		return nil, fmt.Errorf("find the recordings of the backup: %w", err)
	}
	return recording.OpenStorage(ctx, (&url.URL{Scheme: "file", Path: absolute}).String())
}

// saveRecordings checks or copies the recordings. The database is read after it
// was copied, so that every recording of the copy is covered, unless it was
// deleted meanwhile.
func saveRecordings(ctx context.Context, settings Settings) (recorded int, problems []Problem, err error) {
	return checkRecordings(ctx, settings, settings.Recordings, func(ctx context.Context, storage, copies *recording.Storage, id uuid.UUID) ([]string, error) {
		return storage.CopyRecording(ctx, copies, id)
	})
}

// restoreRecordings copies the recordings in a backup to the storage, if it has
// any, and checks the storage.
func restoreRecordings(ctx context.Context, settings Settings, description Description) (recorded int, problems []Problem, err error) {
	return checkRecordings(ctx, settings, description.Recordings, func(ctx context.Context, storage, copies *recording.Storage, id uuid.UUID) ([]string, error) {
		return copies.CopyRecording(ctx, storage, id)
	})
}

// checkRecordings checks the recordings in the storage. With CopyRecordings it
// copies each between the storage and the recordings in the backup.
func checkRecordings(ctx context.Context, settings Settings, mode RecordingsMode,
	copyOne func(ctx context.Context, storage, copies *recording.Storage, id uuid.UUID) ([]string, error),
) (recorded int, problems []Problem, err error) {
	storage, err := recording.OpenStorage(ctx, settings.Storage)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, storage.Close()) }()
	if mode != CopyRecordings {
		return eachRecording(ctx, settings.Database, storage.MissingFiles)
	}
	copies, err := openRecordings(ctx, settings.Dir)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, copies.Close()) }()
	return eachRecording(ctx, settings.Database, func(ctx context.Context, id uuid.UUID) ([]string, error) {
		return copyOne(ctx, storage, copies, id)
	})
}

// eachRecording calls check for the recording of every job that is in the
// service's storage, and collects the problems. Recordings that were deleted
// meanwhile have none.
func eachRecording(ctx context.Context, database string, check func(context.Context, uuid.UUID) ([]string, error)) (recorded int, problems []Problem, err error) {
	s, err := store.Open(ctx, database)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	problems = []Problem{}
	for after := uuid.Nil; ; {
		jobs, err := s.RecordedJobs(ctx, after, page)
		if err != nil {
			return 0, nil, err
		}
		for _, j := range jobs {
			after = j.ID
			if !strings.HasSuffix(j.ManifestURI, recording.ManifestURI("", j.ID.String())) {
				continue // it is stored elsewhere
			}
			recorded++
			found, err := check(ctx, j.ID)
			if err != nil {
				return 0, nil, fmt.Errorf("recording of job %s: %w", j.ID, err)
			}
			if len(found) > 0 && stillRecorded(ctx, s, j.ID) {
				for _, text := range found {
					problems = append(problems, Problem{JobID: j.ID.String(), Problem: text})
				}
			}
		}
		if len(jobs) < page {
			return recorded, problems, nil
		}
	}
}

// stillRecorded reports whether a job exists and its recording was not deleted.
func stillRecorded(ctx context.Context, s *store.Store, id uuid.UUID) bool {
	r, err := s.Job(ctx, id)
	if job.ErrorIs(err, job.NotFound) {
		return false
	}
	return err != nil || r.RecordingDeletedAt.IsZero()
}
