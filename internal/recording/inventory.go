package recording

import (
	"bytes"
	"context"
	"encoding/json"
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
	Newest     time.Time // time of the last write
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

// MissingFiles compares the files in a job's manifest with storage: each one must
// exist and have its size. It returns the differences. It reads no media; Verifier
// does.
func (s *Storage) MissingFiles(ctx context.Context, jobID uuid.UUID) (problems []string, err error) {
	_, manifest, problem, err := s.readManifest(ctx, jobID)
	if err != nil {
		return nil, err
	}
	if problem != "" {
		return []string{problem}, nil
	}
	for _, file := range manifest.Media {
		key, err := mediaKey(jobID, file.Name)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		attributes, err := s.bucket.Attributes(ctx, key)
		switch {
		case gcerrors.Code(err) == gcerrors.NotFound:
			problems = append(problems, file.Name+" is missing")
		case err != nil:
			return nil, fmt.Errorf("stat %s: %w", key, err)
		case attributes.Size != file.Bytes:
			problems = append(problems, fmt.Sprintf("%s has %d bytes, and the manifest %d", file.Name, attributes.Size, file.Bytes))
		}
	}
	return problems, nil
}

// readManifest reads a job's manifest. The problem says why it cannot be used.
func (s *Storage) readManifest(ctx context.Context, jobID uuid.UUID) (text []byte, manifest Manifest, problem string, err error) {
	text, err = s.Manifest(ctx, jobID)
	if missing := new(NotFoundError); errors.As(err, &missing) {
		return nil, Manifest{}, "the manifest is missing", nil
	}
	if err != nil {
		return nil, Manifest{}, "", err
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, Manifest{}, fmt.Sprintf("the manifest is unreadable: %v", err), nil
	}
	return text, manifest, "", nil
}

// CopyRecording copies the files in a job's manifest, and then the manifest, to
// another storage. Files whose SHA-256 differs from the manifest are not copied.
// A recording whose manifest is already there is skipped. It returns what could
// not be copied.
func (s *Storage) CopyRecording(ctx context.Context, target *Storage, jobID uuid.UUID) (problems []string, err error) {
	text, manifest, problem, err := s.readManifest(ctx, jobID)
	if err != nil {
		return nil, err
	}
	if problem != "" {
		return []string{problem}, nil
	}
	if stored, err := target.Manifest(ctx, jobID); err == nil && bytes.Equal(stored, text) {
		return target.MissingFiles(ctx, jobID)
	}
	for _, file := range manifest.Media {
		err := s.copyMedia(ctx, target, jobID, file.File)
		missing, misnamed, changed := new(NotFoundError), new(NameError), new(ChecksumError)
		if errors.As(err, &missing) || errors.As(err, &misnamed) || errors.As(err, &changed) {
			problems = append(problems, fmt.Sprintf("%s: %v", file.Name, err))
		} else if err != nil {
			return nil, err
		}
	}
	if len(problems) > 0 {
		return problems, nil
	}
	return nil, target.writeBytes(ctx, manifestKey(jobID), text)
}

func (s *Storage) copyMedia(ctx context.Context, target *Storage, jobID uuid.UUID, file File) error {
	content, _, _, err := s.OpenMedia(ctx, jobID, file.Name)
	if err != nil {
		return err
	}
	defer content.Close() // only read
	return target.PutMedia(ctx, jobID, file.Name, content, file.SHA256)
}
