package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// JobUsage describes what storage holds of a job.
type JobUsage struct {
	JobID      uuid.UUID
	Objects    int
	Bytes      int64
	Newest     time.Time // when the last of them was written
	Uploads    int       // of these, what bots uploaded of the recording
	Unfinished int       // of these, writes in progress or interrupted
}

// ListJobs calls each with the usage of every job; an error of each ends it.
// Objects outside of job folders are skipped.
func (s *Storage) ListJobs(ctx context.Context, each func(JobUsage) error) error {
	if s.folder != "" {
		return s.listJobsInFolder(ctx, each)
	}
	var job JobUsage
	err := s.list(ctx, "jobs/", func(id uuid.UUID, object *blob.ListObject) error {
		if id != job.JobID { // objects come in the order of their keys
			if err := yieldUsage(job, each); err != nil {
				return err
			}
			job = JobUsage{JobID: id}
		}
		job.count(object)
		return nil
	})
	if err != nil {
		return err
	}
	return yieldUsage(job, each)
}

func yieldUsage(job JobUsage, each func(JobUsage) error) error {
	if job.Objects == 0 {
		return nil
	}
	return each(job)
}

// listJobsInFolder lists job by job, because in a folder each page of a list
// walks the whole tree.
func (s *Storage) listJobsInFolder(ctx context.Context, each func(JobUsage) error) error {
	folder, err := os.Open(filepath.Join(s.folder, "jobs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was stored yet
	}
	if err != nil {
		return fmt.Errorf("list the jobs in storage: %w", err)
	}
	defer folder.Close() // read only
	for {
		names, err := folder.Readdirnames(1000)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list the jobs in storage: %w", err)
		}
		for _, name := range names {
			id, err := uuid.Parse(name)
			if err != nil {
				continue
			}
			job, err := s.JobUsage(ctx, id)
			if gcerrors.Code(err) == gcerrors.NotFound {
				continue // it is being deleted from: the library's lists do not bear that
			}
			if err != nil {
				return err
			}
			if err := yieldUsage(job, each); err != nil {
				return err
			}
		}
	}
}

// JobUsage returns what storage holds of one job.
func (s *Storage) JobUsage(ctx context.Context, jobID uuid.UUID) (JobUsage, error) {
	job := JobUsage{JobID: jobID}
	err := s.list(ctx, jobFolder(jobID), func(_ uuid.UUID, object *blob.ListObject) error {
		job.count(object)
		return nil
	})
	return job, err
}

// list gives the objects whose keys begin with prefix and that are a job's.
func (s *Storage) list(ctx context.Context, prefix string, each func(id uuid.UUID, object *blob.ListObject) error) error {
	for object, err := range s.objects(ctx, prefix) {
		if err != nil {
			return err
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(object.Key, "jobs/"), "/")
		id, err := uuid.Parse(name)
		if err != nil || jobFolder(id) != "jobs/"+name+"/" {
			continue
		}
		if err := each(id, object); err != nil {
			return err
		}
	}
	return nil
}

func (k *JobUsage) count(object *blob.ListObject) {
	k.Objects++
	k.Bytes += object.Size
	if object.ModTime.After(k.Newest) {
		k.Newest = object.ModTime
	}
	below := strings.TrimPrefix(object.Key, jobFolder(k.JobID))
	switch {
	case isUnfinished(below):
		k.Unfinished++
	case strings.HasPrefix(below, "uploads/") && !isDiagnostic(below[strings.LastIndex(below, "/")+1:]):
		k.Uploads++
	}
}
