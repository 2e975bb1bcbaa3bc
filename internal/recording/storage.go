package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"

	"standin/internal/ingest"
)

// Storage keeps what belongs to recordings, each job in a folder of its own:
//
//	jobs/<jobId>/uploads/<attempt>/<name>   as the bots sent it; names that begin
//	                                        with diagnostics- are for the operator
//	jobs/<jobId>/media/<name>               what the manifest names
//	jobs/<jobId>/manifest.json
//
// An object is there whole or not at all. In a folder on disk it is also
// durable when a method that writes it returns: the blob library only renames,
// so Storage itself syncs the file before and its directories after. Object
// stores are durable by themselves.
type Storage struct {
	bucket *blob.Bucket
	folder string // of a file:// address: where it is on disk; else empty

	// committing makes the library's check-then-rename of a folder one step,
	// so that of two uploads of one name only the first is kept.
	committing sync.Mutex

	counts uploadCounts
}

// OpenStorage opens a file:///absolute/folder, which is made with mode 0700
// when it is not there, or an s3://bucket?… address as gocloud.dev describes
// it.
func OpenStorage(ctx context.Context, address string) (*Storage, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("open storage: the address is no URL") // the parse error would repeat it, keys and all
	}
	if parsed.User != nil {
		return nil, errors.New("open storage: credentials do not belong into the address") // it is shown in errors
	}
	if parsed.Scheme == fileblob.Scheme {
		return openFolder(parsed)
	}
	bucket, err := openObjects(ctx, parsed)
	if err != nil {
		return nil, fmt.Errorf("open storage at %s://%s: %w", parsed.Scheme, parsed.Host, err)
	}
	return &Storage{bucket: bucket}, nil
}

func openFolder(address *url.URL) (*Storage, error) {
	folder := filepath.FromSlash(address.Path)
	if address.Host != "" && address.Host != "localhost" || address.RawQuery != "" || !filepath.IsAbs(folder) {
		return nil, fmt.Errorf("open storage: %s is not of the form file:///absolute/folder", address)
	}
	folder = filepath.Clean(folder)
	bucket, err := fileblob.OpenBucket(folder, &fileblob.Options{
		CreateDir:   true,
		DirFileMode: 0o700,
		NoTempDir:   true, // a rename must not cross file systems
		Metadata:    fileblob.MetadataDontWrite,
	})
	if err != nil {
		return nil, fmt.Errorf("open storage in %s: %w", folder, err)
	}
	if err := syncDir(filepath.Dir(folder)); err != nil {
		return nil, fmt.Errorf("open storage in %s: %w", folder, err)
	}
	return &Storage{bucket: bucket, folder: folder}, nil
}

// Close releases the connection to the store.
func (s *Storage) Close() error { return s.bucket.Close() }

// Check reports whether the store answers.
func (s *Storage) Check(ctx context.Context) error {
	accessible, err := s.bucket.IsAccessible(ctx)
	if err != nil {
		return fmt.Errorf("check storage: %w", err)
	}
	if !accessible {
		return errors.New("check storage: the bucket or folder does not exist")
	}
	return nil
}

func jobFolder(jobID uuid.UUID) string     { return "jobs/" + jobID.String() + "/" }
func uploadsFolder(jobID uuid.UUID) string { return jobFolder(jobID) + "uploads/" }
func manifestKey(jobID uuid.UUID) string   { return jobFolder(jobID) + "manifest.json" }

func uploadKey(jobID uuid.UUID, attempt int, name string) (string, error) {
	if attempt < 0 || !storableName(name) {
		return "", &NameError{Name: name}
	}
	return uploadsFolder(jobID) + strconv.Itoa(attempt) + "/" + name, nil
}

func mediaKey(jobID uuid.UUID, name string) (string, error) {
	if !storableName(name) {
		return "", &NameError{Name: name}
	}
	return jobFolder(jobID) + "media/" + name, nil
}

// unfinishedSuffix ends the names under which fileblob writes.
const unfinishedSuffix = ".tmp"

// storableName reports whether a name can stand in storage: a media name that
// is none of those that fileblob keeps for itself.
func storableName(name string) bool {
	return ingest.ValidMediaName(name) && !strings.HasSuffix(name, unfinishedSuffix) && !strings.HasSuffix(name, ".attrs")
}

// contentType is the media type an object is stored with.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".mp4":
		return "video/mp4"
	case ".json":
		return "application/json"
	}
	return "application/octet-stream"
}

// objects lists what is stored under keys that begin with prefix. An error is
// the last that is given.
func (s *Storage) objects(ctx context.Context, prefix string) iter.Seq2[*blob.ListObject, error] {
	return func(yield func(*blob.ListObject, error) bool) {
		listed := s.bucket.List(&blob.ListOptions{Prefix: prefix})
		for {
			object, err := listed.Next(ctx)
			// The library's end of the list is io.EOF itself. A connection that
			// broke off is an error that wraps io.EOF: taken for the end, it
			// would make what is stored look as if it were not there.
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

// syncDirs makes the entries of key's directories durable.
func (s *Storage) syncDirs(key string) error {
	if s.folder == "" {
		return nil
	}
	for folder := path.Dir(key); folder != "."; folder = path.Dir(folder) {
		if err := syncDir(filepath.Join(s.folder, filepath.FromSlash(folder))); err != nil {
			return err
		}
	}
	return syncDir(s.folder)
}

// syncDir makes a directory's entries durable, where the system supports it.
func syncDir(folder string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be synced there
	}
	directory, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer directory.Close() // opened for reading
	return directory.Sync()
}
