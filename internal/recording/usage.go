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

// JobUsage describes the stored objects of a job.
type JobUsage struct {
	JobID      uuid.UUID
	Objects    int
	Bytes      int64
	Newest     time.Time // when the newest object was written
	Uploads    int       // number of these that are bot uploads, without captures of pages
	Unfinished int       // number of these that are writes in progress or interrupted writes
}

// ListJobs calls each with the usage of every job, until each returns an error.
// Objects outside of job folders are skipped.
func (s *Storage) ListJobs(ctx context.Context, each func(JobUsage) error) error {
	if s.folder != "" {
		return s.listJobsInFolder(ctx, each)
	}
	var job JobUsage
	err := s.list(ctx, "jobs/", func(id uuid.UUID, object *blob.ListObject) error {
		if id != job.JobID { // objects are sorted by key
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

// listJobsInFolder lists each job separately, because the blob library walks the
// whole tree of a folder for each page of a list.
func (s *Storage) listJobsInFolder(ctx context.Context, each func(JobUsage) error) error {
	folder, err := os.Open(filepath.Join(s.folder, "jobs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing is stored yet
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
				continue // the library's listing fails when a listed file is deleted concurrently
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

// JobUsage returns the usage of one job.
func (s *Storage) JobUsage(ctx context.Context, jobID uuid.UUID) (JobUsage, error) {
	job := JobUsage{JobID: jobID}
	err := s.list(ctx, jobFolder(jobID), func(_ uuid.UUID, object *blob.ListObject) error {
		job.count(object)
		return nil
	})
	return job, err
}

// list calls each with the objects in job folders whose keys begin with prefix.
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

func (u *JobUsage) count(object *blob.ListObject) {
	u.Objects++
	u.Bytes += object.Size
	if object.ModTime.After(u.Newest) {
		u.Newest = object.ModTime
	}
	name := strings.TrimPrefix(object.Key, jobFolder(u.JobID))
	switch {
	case isUnfinished(name):
		u.Unfinished++
	case strings.HasPrefix(name, "uploads/") && !isCapture(name[strings.LastIndex(name, "/")+1:]):
		u.Uploads++
	}
}
