package storage

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
	"slices"
	"strings"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"standin/internal/base/fsutil"
	"standin/internal/recording"
)

// ListJobs calls each with the usage of every job, until each returns an error.
// Objects outside of job folders are skipped.
func (r *Recordings) ListJobs(ctx context.Context, each func(recording.JobUsage) error) error {
	if r.folder != "" {
		return r.listJobsInFolder(ctx, each)
	}
	var job recording.JobUsage
	err := r.list(ctx, "jobs/", func(id uuid.UUID, object *blob.ListObject) error {
		if id != job.JobID { // objects are sorted by key
			if err := yieldUsage(job, each); err != nil {
				return err
			}
			job = recording.JobUsage{JobID: id}
		}
		count(&job, object)
		return nil
	})
	if err != nil {
		return err
	}
	return yieldUsage(job, each)
}

func yieldUsage(job recording.JobUsage, each func(recording.JobUsage) error) error {
	if job.Objects == 0 {
		return nil
	}
	return each(job)
}

// listJobsInFolder lists each job separately, because the blob library walks the
// whole tree of a folder for each page of a list.
func (r *Recordings) listJobsInFolder(ctx context.Context, each func(recording.JobUsage) error) error {
	folder, err := os.Open(filepath.Join(r.folder, "jobs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing is stored yet
	}
	if err != nil {
		return err
	}
	defer folder.Close() // read only
	for {
		names, err := folder.Readdirnames(1000)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			id, err := uuid.Parse(name)
			if err != nil {
				continue
			}
			job, err := r.JobUsage(ctx, id)
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
func (r *Recordings) JobUsage(ctx context.Context, jobID uuid.UUID) (recording.JobUsage, error) {
	job := recording.JobUsage{JobID: jobID}
	err := r.list(ctx, jobFolder(jobID), func(_ uuid.UUID, object *blob.ListObject) error {
		count(&job, object)
		return nil
	})
	return job, err
}

// list calls each with the objects in job folders whose keys begin with prefix.
func (r *Recordings) list(ctx context.Context, prefix string, each func(id uuid.UUID, object *blob.ListObject) error) error {
	for object, err := range r.objects(ctx, prefix) {
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

// count adds an object to the usage of its job.
func count(usage *recording.JobUsage, object *blob.ListObject) {
	usage.Objects++
	usage.Bytes += object.Size
	if object.ModTime.After(usage.Newest) {
		usage.Newest = object.ModTime
	}
	name := strings.TrimPrefix(object.Key, jobFolder(usage.JobID))
	switch {
	case isUnfinished(name):
		usage.Unfinished++
	case strings.HasPrefix(name, "uploads/") && !isCapture(name[strings.LastIndex(name, "/")+1:]):
		usage.Uploads++
	}
}

// MissingFiles compares the files in a job's manifest with storage: each one must
// exist and have its size. It returns the differences. It reads no media;
// build.Verifier does.
func (r *Recordings) MissingFiles(ctx context.Context, jobID uuid.UUID) (problems []string, err error) {
	_, manifest, problem, err := r.readManifest(ctx, jobID)
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
		attributes, err := r.bucket.Attributes(ctx, key)
		switch {
		case gcerrors.Code(err) == gcerrors.NotFound:
			problems = append(problems, file.Name+" is missing")
		case err != nil:
			return nil, err
		case attributes.Size != file.Bytes:
			problems = append(problems, fmt.Sprintf("%s has %d bytes, and the manifest %d", file.Name, attributes.Size, file.Bytes))
		}
	}
	return problems, nil
}

// readManifest reads a job's manifest. The problem says why it cannot be used.
func (r *Recordings) readManifest(ctx context.Context,
	jobID uuid.UUID) (text []byte, manifest recording.Manifest, problem string, err error) {
	text, err = r.Manifest(ctx, jobID)
	if recording.IsNotFound(err) {
		return nil, manifest, "the manifest is missing", nil
	}
	if err != nil {
		return nil, manifest, "", err
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		problem = fmt.Sprintf("the manifest is unreadable: %v", err)
	}
	return text, manifest, problem, nil
}

// CopyRecording copies the files in a job's manifest, and then the manifest, to
// another storage. Files whose SHA-256 differs from the manifest are not copied.
// A recording whose manifest is already there is skipped. Between folders of one file system, a copy
// is a hard link, because objects are replaced and never changed; files that an earlier copy (or nil)
// has are not even read. It returns what could not be copied.
func (r *Recordings) CopyRecording(ctx context.Context, target, earlier *Recordings, jobID uuid.UUID) (problems []string, err error) {
	text, manifest, problem, err := r.readManifest(ctx, jobID)
	if err != nil {
		return nil, err
	}
	if problem != "" {
		return []string{problem}, nil
	}
	if stored, err := target.Manifest(ctx, jobID); err == nil && bytes.Equal(stored, text) {
		return target.MissingFiles(ctx, jobID)
	}
	var copied recording.Manifest
	if earlier != nil {
		copied, _, _ = earlier.StoredManifest(ctx, jobID) // without it, all files are copied
	}
	for _, file := range manifest.Media {
		if slices.Contains(copied.Media, file) && earlier.linkMedia(target, jobID, file.File, false) ||
			r.linkMedia(target, jobID, file.File, true) {
			continue
		}
		err := r.copyMedia(ctx, target, jobID, file.File)
		if recording.IsNotFound(err) || errors.As(err, new(*recording.NameError)) ||
			errors.As(err, new(*recording.ChecksumError)) {
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

// linkMedia gives a media file a second name in another folder, and reports whether it could. It
// compares the size, or the whole content, with the manifest.
func (r *Recordings) linkMedia(target *Recordings, jobID uuid.UUID, file recording.File, whole bool) bool {
	key, err := mediaKey(jobID, file.Name)
	if err != nil || r.folder == "" || target.folder == "" {
		return false
	}
	path := filepath.Join(r.folder, filepath.FromSlash(key))
	if info, err := os.Lstat(path); err != nil || info.Size() != file.Bytes {
		return false
	}
	if whole {
		if _, sum, err := fsutil.HashFile(path); err != nil || sum != file.SHA256 {
			return false // copying it says what is wrong
		}
	}
	return target.link(path, key) == nil
}

func (r *Recordings) copyMedia(ctx context.Context, target *Recordings, jobID uuid.UUID, file recording.File) error {
	content, _, err := r.OpenMedia(ctx, jobID, file.Name)
	if err != nil {
		return err
	}
	defer content.Close() // only read
	return target.PutMedia(ctx, jobID, file.Name, content, file.SHA256)
}
