package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"standin/internal/recording"
)

// largestServerCopy is the largest object that S3 can copy on the server (Amazon
// S3 API reference, CopyObject: up to 5 GB).
const largestServerCopy = 5_000_000_000

// maxManifestBytes limits the size of a manifest. It is far above the size for
// hours of a large meeting.
const maxManifestBytes = 256 << 20

// CopyUpload stores a bot's upload, whose length and SHA-256 (hex) are known, as
// the media file with the given name. It replaces an existing file.
func (r *Recordings) CopyUpload(ctx context.Context, jobID uuid.UUID, attempt int, upload, name string, length int64,
	sha256Hex string) error {
	from, err := uploadKey(jobID, attempt, upload)
	if err != nil {
		return err
	}
	to, err := mediaKey(jobID, name)
	if err != nil {
		return err
	}
	if r.folder == "" && length <= largestServerCopy {
		return r.bucket.Copy(ctx, to, from, nil)
	}
	if r.folder != "" && r.link(filepath.Join(r.folder, filepath.FromSlash(from)), to) == nil {
		return nil
	}
	reader, err := r.open(ctx, from, from)
	if err != nil {
		return err
	}
	defer reader.Close() // read only
	return r.write(ctx, to, newHashingReader(reader, length), sha256Hex, true)
}

// link makes a file an object, and replaces an existing one. Some file systems cannot.
func (r *Recordings) link(path, key string) error {
	if err := r.makeFolder(key); err != nil {
		return err
	}
	to := filepath.Join(r.folder, filepath.FromSlash(key))
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.Link(path, to); err != nil {
		return err
	}
	return r.disk.syncDir(r.folderOf(key))
}

// PutMedia stores a media file with the given SHA-256 (hex). It replaces an
// existing file.
func (r *Recordings) PutMedia(ctx context.Context, jobID uuid.UUID, name string, content io.Reader, sha256Hex string) error {
	key, err := mediaKey(jobID, name)
	if err != nil {
		return err
	}
	declared, err := declaredSum(sha256Hex)
	if err != nil {
		return err
	}
	return r.write(ctx, key, newHashingReader(content, math.MaxInt64), declared, true)
}

// OpenMedia opens a media file for http.ServeContent: a seek makes no request
// until the next read. ctx must outlive the reader. If the file does not exist,
// the error is a recording.NotFoundError.
func (r *Recordings) OpenMedia(ctx context.Context, jobID uuid.UUID, name string) (
	content io.ReadSeekCloser, modified time.Time, err error,
) {
	key, err := mediaKey(jobID, name)
	if err != nil {
		return nil, modified, err
	}
	reader, err := r.open(ctx, key, name)
	if err != nil {
		return nil, modified, err
	}
	return reader, reader.ModTime(), nil
}

// HasMedia reports whether a media file exists.
func (r *Recordings) HasMedia(ctx context.Context, jobID uuid.UUID, name string) (bool, error) {
	key, err := mediaKey(jobID, name)
	if err != nil {
		return false, err
	}
	return r.bucket.Exists(ctx, key)
}

// SignedURL returns a URL that gives anyone access to a media file until expiry
// has passed, or false if the store does not support signed URLs. It does not
// check that the file exists.
func (r *Recordings) SignedURL(ctx context.Context, jobID uuid.UUID, name string, expiry time.Duration) (string, bool, error) {
	key, err := mediaKey(jobID, name)
	if err != nil {
		return "", false, err
	}
	address, err := r.bucket.SignedURL(ctx, key, &blob.SignedURLOptions{Expiry: expiry})
	if gcerrors.Code(err) == gcerrors.Unimplemented {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	return address, true, nil
}

// PutManifest stores a job's manifest. It replaces an existing one.
func (r *Recordings) PutManifest(ctx context.Context, jobID uuid.UUID, manifest recording.Manifest) error {
	text, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return err
	}
	if len(text) > maxManifestBytes {
		return fmt.Errorf("write the manifest: %w", &recording.TooLargeError{MaxBytes: maxManifestBytes})
	}
	return r.writeBytes(ctx, manifestKey(jobID), text)
}

// Manifest returns a job's manifest as it was stored. If there is none, the error
// is a recording.NotFoundError.
func (r *Recordings) Manifest(ctx context.Context, jobID uuid.UUID) ([]byte, error) {
	reader, err := r.open(ctx, manifestKey(jobID), "the manifest")
	if err != nil {
		return nil, err
	}
	defer reader.Close() // read only
	return io.ReadAll(io.LimitReader(reader, maxManifestBytes))
}

// StoredManifest returns a job's decoded manifest, or false if there is none.
func (r *Recordings) StoredManifest(ctx context.Context, jobID uuid.UUID) (manifest recording.Manifest, found bool, err error) {
	text, err := r.Manifest(ctx, jobID)
	if recording.IsNotFound(err) {
		return manifest, false, nil
	}
	if err != nil {
		return manifest, false, err
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return recording.Manifest{}, false, fmt.Errorf("read the manifest: %w", err)
	}
	return manifest, true, nil
}

// Attach stores text files and adds them to the manifest of a finished recording,
// in place of earlier ones with their names, and increments the manifest's
// revision, which it returns. Nothing changes if the manifest lists the same files already. If there is no
// manifest, the error is a recording.NotFoundError. Calls for the same job must not run
// concurrently.
func (r *Recordings) Attach(ctx context.Context, jobID uuid.UUID, baseURL string, files []recording.Attachment) (revision int, err error) {
	manifest, exists, err := r.StoredManifest(ctx, jobID)
	if err != nil {
		return 0, err
	}
	if !exists {
		return 0, &recording.NotFoundError{What: "the manifest"}
	}
	changed := false
	for _, file := range files {
		media := recording.Media{File: file.File, URI: recording.MediaURI(baseURL, jobID.String(), file.Name)}
		if slices.Contains(manifest.Media, media) {
			continue
		}
		changed = true
		if err := r.PutMedia(ctx, jobID, file.Name, file.Content, media.SHA256); err != nil {
			return 0, err
		}
		manifest.Media = slices.DeleteFunc(manifest.Media, func(m recording.Media) bool { return m.Name == file.Name })
		manifest.Media = append(manifest.Media, media)
	}
	if !changed {
		return manifest.Revision, nil
	}
	manifest.Revision = max(manifest.Revision, 1) + 1
	if err := r.PutManifest(ctx, jobID, manifest); err != nil {
		return 0, err
	}
	return manifest.Revision, nil
}

// outputKey returns the key of what a command makes a bot play or show. It is one of the uploads, so that
// it is deleted with them.
func outputKey(jobID, command uuid.UUID) string {
	return uploadsFolder(jobID) + "output/" + command.String()
}

// PutOutput stores what a command makes a bot play or show.
func (r *Recordings) PutOutput(ctx context.Context, jobID, command uuid.UUID, content []byte) error {
	return r.writeBytes(ctx, outputKey(jobID, command), content)
}

// OpenOutput opens what a command makes a bot play or show for reading; ctx must outlive the reader. If it
// does not exist, the error is a recording.NotFoundError.
func (r *Recordings) OpenOutput(ctx context.Context, jobID, command uuid.UUID) (content io.ReadCloser, size int64, err error) {
	reader, err := r.open(ctx, outputKey(jobID, command), "the output")
	if err != nil {
		return nil, 0, err
	}
	return reader, reader.Size(), nil
}

// DeleteOutput deletes what PutOutput has stored. It may be repeated.
func (r *Recordings) DeleteOutput(ctx context.Context, jobID, command uuid.UUID) error {
	return r.deleteObject(ctx, outputKey(jobID, command))
}
