package backup

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/recording/storage"
	"standin/internal/store"
)

// openRecordings opens the recordings in a backup.
func openRecordings(ctx context.Context, dir string) (*storage.Recordings, error) {
	absolute, err := filepath.Abs(filepath.Join(dir, recordingsDir))
	if err != nil {
		return nil, err
	}
	return storage.Open(ctx, (&url.URL{Scheme: "file", Path: absolute}).String(), nil)
}

// checkRecordings checks the recordings in the storage. With CopyRecordings it copies each
// from the storage to the backup or, with restore, from the backup to the storage. Nightly backups
// read each recording once: files of the newest backup beside this one are linked. The
// database is read after it was copied, so that every recording of the copy is covered,
// unless it was deleted meanwhile.
func checkRecordings(ctx context.Context, settings Settings, mode RecordingsMode,
	restore bool) (recorded int, problems []Problem, err error) {
	recordings, err := storage.Open(ctx, settings.Storage, settings.OpenS3)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, recordings.Close()) }()
	if mode != CopyRecordings {
		return eachRecording(ctx, settings.Database, recordings.MissingFiles)
	}
	copies, err := openRecordings(ctx, settings.Dir)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, copies.Close()) }()
	if restore {
		return eachRecording(ctx, settings.Database, func(ctx context.Context, id uuid.UUID) ([]string, error) {
			return copies.CopyRecording(ctx, recordings, nil, id)
		})
	}
	var earlier *storage.Recordings
	newest, writtenAt := "", time.Time{}
	complete, _ := filepath.Glob(filepath.Join(settings.Dir, "..", "*", descriptionFile)) // without one, all is copied
	for _, other := range complete {
		if info, err := os.Stat(other); err == nil && info.ModTime().After(writtenAt) {
			newest, writtenAt = filepath.Dir(other), info.ModTime()
		}
	}
	if newest != "" {
		if earlier, err = openRecordings(ctx, newest); err != nil {
			return 0, nil, err
		}
		defer func() { err = errors.Join(err, earlier.Close()) }()
	}
	return eachRecording(ctx, settings.Database, func(ctx context.Context, id uuid.UUID) ([]string, error) {
		return recordings.CopyRecording(ctx, copies, earlier, id)
	})
}

// eachRecording calls check for the recording of every job that is in the
// service's storage, and collects the problems. Recordings that were deleted
// meanwhile have none.
func eachRecording(ctx context.Context, database string,
	check func(context.Context, uuid.UUID) ([]string, error)) (recorded int, problems []Problem, err error) {
	s, err := store.Open(ctx, database)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	problems = []Problem{}
	for j, err := range Recorded(ctx, s) {
		if err != nil {
			return 0, nil, err
		}
		recorded++
		found, err := check(ctx, j.ID)
		if err != nil {
			return 0, nil, fmt.Errorf("recording of job %s: %w", j.ID, err)
		}
		if len(found) == 0 {
			continue
		}
		if r, err := s.Job(ctx, j.ID); job.IsNotFound(err) || err == nil && !r.RecordingDeletedAt.IsZero() {
			continue
		}
		for _, text := range found {
			problems = append(problems, Problem{JobID: j.ID.String(), Problem: text})
		}
	}
	return recorded, problems, nil
}

// Recorded returns the jobs whose recording is in the service's storage.
func Recorded(ctx context.Context, s *store.Store) iter.Seq2[job.Job, error] {
	return func(yield func(job.Job, error) bool) {
		const page = 100
		for after := uuid.Nil; ; {
			jobs, err := s.RecordedJobs(ctx, after, page)
			if err != nil {
				yield(job.Job{}, err)
				return
			}
			for _, j := range jobs {
				after = j.ID
				if InStorage(j) && !yield(j, nil) {
					return
				}
			}
			if len(jobs) < page {
				return
			}
		}
	}
}

// InStorage reports whether a job's recording is in the service's storage.
func InStorage(j job.Job) bool {
	return strings.HasSuffix(j.ManifestURI, recording.ManifestURI("", j.ID.String()))
}
