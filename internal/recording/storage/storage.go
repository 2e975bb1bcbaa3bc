// Package storage stores recordings: the uploads of bots, media files and
// manifests, in a folder or an object store.
//
// The package does not depend on a database, a browser or the HTTP API, and
// does not change the state of jobs.
package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"

	"standin/internal/base/fsutil"
	"standin/internal/bot/ingest"
	"standin/internal/recording"
)

// Recordings stores the objects of recordings, with a folder for each job:
//
//	jobs/<jobId>/uploads/<attempt>/<name>   files that bots uploaded; the prefix
//	                                        capture- marks captures of pages
//	jobs/<jobId>/media/<name>               the files in the manifest
//	jobs/<jobId>/manifest.json
//
// Objects are written atomically. In a folder on disk, an object is also durable
// when the method that writes it returns: the blob library only renames the file,
// so Recordings syncs the file before the rename and its folder after it. Before
// that, it makes the names of new folders durable. Object stores need none of
// this.
type Recordings struct {
	bucket *blob.Bucket
	sign   ingest.Signer // nil in a folder
	folder string        // path of a file:// address; empty for an object store
	disk   disk          // syncs files in folder

	// committing makes the library's check-then-rename in a folder atomic, so
	// that only the first of two concurrent uploads with one name is stored.
	committing sync.Mutex

	counts uploadCounts
}

// disk makes files durable. Tests replace it to count.
type disk struct {
	syncFile func(file *os.File) error
	syncDir  func(path string) error
}

// Opener opens the bucket at an s3:// address. Package s3 has one.
type Opener func(ctx context.Context, address *url.URL) (*blob.Bucket, ingest.Signer, error)

// Open opens a file:///absolute/folder address, or an s3://bucket?… address with
// openS3, which may be nil in a program that uses folders only. It creates a missing
// folder with mode 0700.
func Open(ctx context.Context, address string, openS3 Opener) (*Recordings, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("open storage: the address is not a URL") // the parse error contains the address, which may contain keys
	}
	if parsed.User != nil {
		return nil, errors.New("open storage: the address must not contain credentials") // errors contain the address
	}
	switch parsed.Scheme {
	case fileblob.Scheme:
		return openFolder(parsed, disk{syncFile: (*os.File).Sync, syncDir: fsutil.Sync})
	case "s3":
		if openS3 == nil {
			return nil, errors.New("open storage: this program cannot use s3:// addresses")
		}
		bucket, sign, err := openS3(ctx, parsed)
		if err != nil {
			return nil, fmt.Errorf("open storage at s3://%s: %w", parsed.Host, err)
		}
		return &Recordings{bucket: bucket, sign: sign, counts: newUploadCounts()}, nil
	}
	return nil, fmt.Errorf("open storage: the address must begin with file:// or s3://, not %s://", parsed.Scheme)
}

func openFolder(address *url.URL, disk disk) (*Recordings, error) {
	folder := filepath.FromSlash(address.Path)
	if address.Host != "" && address.Host != "localhost" || address.RawQuery != "" || !filepath.IsAbs(folder) {
		return nil, fmt.Errorf("open storage: %s is not of the form file:///absolute/folder", address)
	}
	folder = filepath.Clean(folder)
	if err := fsutil.MkdirAll(folder, 0o700, disk.syncDir); err != nil {
		return nil, fmt.Errorf("open storage in %s: %w", folder, err)
	}
	bucket, err := fileblob.OpenBucket(folder, &fileblob.Options{
		DirFileMode: 0o700,
		NoTempDir:   true, // a rename must not cross file systems
		Metadata:    fileblob.MetadataDontWrite,
	})
	if err != nil {
		return nil, fmt.Errorf("open storage in %s: %w", folder, err)
	}
	return &Recordings{bucket: bucket, folder: folder, disk: disk, counts: newUploadCounts()}, nil
}

// Close releases the connection to the store.
func (r *Recordings) Close() error { return r.bucket.Close() }

// Check returns an error if the store is not accessible.
func (r *Recordings) Check(ctx context.Context) error {
	accessible, err := r.bucket.IsAccessible(ctx)
	if err != nil {
		return fmt.Errorf("check storage: %w", err)
	}
	if !accessible {
		return errors.New("check storage: the bucket or folder does not exist")
	}
	return nil
}

// IsUnavailable reports whether an error of the store may end by itself: the store does
// not respond, or reports an error of its own. Others, such as a missing bucket or wrong
// credentials, end when an operator changes something.
func IsUnavailable(err error) bool {
	var response interface{ HTTPStatusCode() int } // of the AWS SDK
	if errors.As(err, &response) && response.HTTPStatusCode() > 0 {
		status := response.HTTPStatusCode()
		return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded)
}

func jobFolder(jobID uuid.UUID) string     { return "jobs/" + jobID.String() + "/" }
func uploadsFolder(jobID uuid.UUID) string { return jobFolder(jobID) + "uploads/" }
func manifestKey(jobID uuid.UUID) string   { return jobFolder(jobID) + "manifest.json" }

func uploadKey(jobID uuid.UUID, attempt int, name string) (string, error) {
	if attempt < 0 || !storableName(name) {
		return "", &recording.NameError{Name: name}
	}
	return uploadsFolder(jobID) + strconv.Itoa(attempt) + "/" + name, nil
}

func mediaKey(jobID uuid.UUID, name string) (string, error) {
	if !storableName(name) {
		return "", &recording.NameError{Name: name}
	}
	return jobFolder(jobID) + "media/" + name, nil
}

// unfinishedSuffix is the suffix of the temporary files of fileblob.
const unfinishedSuffix = ".tmp"

// storableName reports whether a name is a media name without a suffix that
// fileblob reserves.
func storableName(name string) bool {
	return ingest.ValidMediaName(name) && !strings.HasSuffix(name, unfinishedSuffix) && !strings.HasSuffix(name, ".attrs")
}

// contentTypes are the media types that objects are stored with, by the ends of their names.
var contentTypes = map[string]string{
	".mp4": "video/mp4", ".mp3": "audio/mpeg", ".wav": "audio/wav", ".webm": "video/webm", ".jpg": "image/jpeg",
	".json": "application/json", ".vtt": "text/vtt; charset=utf-8", ".zip": "application/zip",
}

func contentType(key string) string {
	return cmp.Or(contentTypes[path.Ext(key)], "application/octet-stream")
}

// objects lists the objects whose keys begin with prefix. The sequence ends after
// the first error.
func (r *Recordings) objects(ctx context.Context, prefix string) iter.Seq2[*blob.ListObject, error] {
	return func(yield func(*blob.ListObject, error) bool) {
		iterator := r.bucket.List(&blob.ListOptions{Prefix: prefix})
		for {
			object, err := iterator.Next(ctx)
			// At the end of the list, the library returns io.EOF itself. A broken
			// connection is an error that wraps io.EOF; treating it as the end
			// would hide stored objects.
			if err == io.EOF { //nolint:errorlint // see above
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("list %s: %w", prefix, err))
				return
			}
			if !yield(object, nil) {
				return
			}
		}
	}
}

// makeFolder creates the folder of an object in a storage folder.
func (r *Recordings) makeFolder(key string) error {
	if r.folder == "" {
		return nil
	}
	return fsutil.MkdirAll(r.folderOf(key), 0o700, r.disk.syncDir)
}

// folderOf returns the path of an object's folder in a storage folder.
func (r *Recordings) folderOf(key string) string {
	return filepath.Join(r.folder, filepath.FromSlash(path.Dir(key)))
}
