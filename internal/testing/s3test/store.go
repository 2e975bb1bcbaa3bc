package s3test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3afero"
	"github.com/spf13/afero"
)

// Fault is a failure that a Store injects into a request. The zero Fault is
// no failure.
type Fault struct {
	// Status is the status code of an error response that the store sends
	// instead of handling the request.
	Status int
	// CutBody is the number of bytes of the request body after which the store
	// closes the connection. A shorter body is read completely.
	CutBody int64
	// CutResponse is the same for the response body.
	CutResponse int64
	// DropResponse closes the connection after the request was handled, without a
	// response.
	DropResponse bool
	// Refuse closes the connection without handling the request.
	Refuse bool
	// Lose answers the request with success without handling it.
	Lose bool
	// Slow limits the bodies to this number of bytes per second in each
	// direction.
	Slow int64
}

// Store is a running object store with one bucket that injects faults.
type Store struct {
	server   *httptest.Server
	folder   string
	handler  http.Handler
	requests atomic.Int64

	mu     sync.Mutex
	faults func(r *http.Request, nth int64) Fault
}

// Start starts a store with an empty bucket, without faults. It stops when the test ends.
func Start(t *testing.T) *Store {
	t.Helper()
	directory := t.TempDir()
	s := &Store{folder: filepath.Join(directory, "objects"), faults: noFault}
	metadata := filepath.Join(directory, "metadata")
	for _, path := range []string{s.folder, metadata} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	files := afero.NewOsFs()
	backend, err := s3afero.SingleBucket(bucket, afero.NewBasePathFs(files, s.folder), afero.NewBasePathFs(files, metadata))
	if err != nil {
		t.Fatalf("make an object store: %v", err)
	}
	objects := &listing{Backend: backend, folder: s.folder}
	s.handler = gofakes3.New(objects, gofakes3.WithoutVersioning(), gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.server.Close)
	return s
}

// listing lists the objects with a prefix from their folder alone. The backend reads all objects
// of the bucket, one list after the other, which takes minutes when there are thousands.
type listing struct {
	gofakes3.Backend
	folder string
	mu     sync.RWMutex // a list sees objects whole or not at all
}

// PutObject implements gofakes3.Backend.
func (l *listing) PutObject(name, key string, metadata map[string]string, input io.Reader, size int64, conditions *gofakes3.PutConditions) (
	gofakes3.PutObjectResult, error,
) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Backend.PutObject(name, key, metadata, input, size, conditions)
}

// ListBucket implements gofakes3.Backend.
func (l *listing) ListBucket(name string, prefix *gofakes3.Prefix, page gofakes3.ListBucketPage) (*gofakes3.ObjectList, error) {
	switch {
	case prefix == nil || prefix.HasDelimiter:
		return l.Backend.ListBucket(name, prefix, page)
	case !page.IsEmpty():
		return nil, gofakes3.ErrInternalPageNotImplemented
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	found := gofakes3.NewObjectList()
	root := filepath.Join(l.folder, filepath.FromSlash(path.Dir(prefix.Prefix+"-")))
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(l.folder, file)
		if key := filepath.ToSlash(relative); err == nil && strings.HasPrefix(key, prefix.Prefix) {
			if info, err := entry.Info(); err == nil { // else it was deleted
				found.Add(&gofakes3.Content{Key: key, LastModified: gofakes3.NewContentTime(info.ModTime()), Size: info.Size()})
			}
		}
		return err
	})
	return found, err
}

// Address returns the URL of the bucket, for gocloud.dev.
func (s *Store) Address() string { return address(s.server.Listener.Addr().String()) }

// Folder returns the folder of the bucket. Its files are the objects.
func (s *Store) Folder() string { return s.folder }

// Requests returns the number of requests since the last SetFaults.
func (s *Store) Requests() int64 { return s.requests.Load() }

// SetFaults sets the function that returns the fault of each further request; nth
// counts the requests from 1. The function is called concurrently.
func (s *Store) SetFaults(faults func(r *http.Request, nth int64) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = faults
	s.requests.Store(0)
}

// ClearFaults removes the faults and resets the number of requests.
func (s *Store) ClearFaults() { s.SetFaults(noFault) }

func noFault(*http.Request, int64) Fault { return Fault{} }

// serve handles a request with its fault.
func (s *Store) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	faults := s.faults
	nth := s.requests.Add(1)
	s.mu.Unlock()
	fault := faults(r, nth)
	switch {
	case fault.Refuse:
		panic(http.ErrAbortHandler) // closes the connection
	case fault.Lose:
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("ETag", `"d41d8cd98f00b204e9800998ecf8427e"`)
		return
	case fault.Status > 0:
		_, _ = io.Copy(io.Discard, r.Body)
		writeError(w, fault.Status)
		return
	}
	// The store writes what it reads; objects appear whole or not at all.
	body, err := io.ReadAll(&faultyBody{ReadCloser: r.Body, request: r, fault: fault, left: fault.CutBody})
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.handler.ServeHTTP(&faultyWriter{ResponseWriter: w, request: r, fault: fault, left: fault.CutResponse}, r)
	if fault.DropResponse {
		panic(http.ErrAbortHandler)
	}
}

// writeError writes an error response in the format of S3.
func writeError(w http.ResponseWriter, status int) {
	code := map[int]string{http.StatusServiceUnavailable: "SlowDown", http.StatusInternalServerError: "InternalError"}[status]
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>Please try again.</Message></Error>`, code)
}

// faultyBody is a request body that fails after some bytes, or is read slowly.
type faultyBody struct {
	io.ReadCloser
	request *http.Request
	fault   Fault
	left    int64 // bytes until the body is cut
}

func (b *faultyBody) Read(buffer []byte) (int, error) {
	if b.fault.CutBody > 0 {
		if b.left == 0 {
			return 0, io.ErrUnexpectedEOF
		}
		buffer = buffer[:min(int64(len(buffer)), b.left)]
	}
	if b.fault.Slow > 0 {
		buffer = buffer[:min(int64(len(buffer)), slowChunk(b.fault.Slow))]
	}
	n, err := b.ReadCloser.Read(buffer)
	b.left -= int64(n)
	if b.fault.Slow > 0 {
		throttle(b.request, int64(n), b.fault.Slow)
	}
	return n, err
}

// slowChunk returns the size of a read or write at a rate: 1/20 of a second.
func slowChunk(rate int64) int64 { return max(1, rate/20) }

// throttle waits for the transfer time of a number of bytes at a rate.
func throttle(r *http.Request, bytes, rate int64) {
	timer := time.NewTimer(time.Duration(bytes) * time.Second / time.Duration(rate))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

// faultyWriter writes a response with a fault.
type faultyWriter struct {
	http.ResponseWriter
	request *http.Request
	fault   Fault
	left    int64 // bytes until the response is cut
}

func (w *faultyWriter) WriteHeader(status int) {
	if !w.fault.DropResponse {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *faultyWriter) Write(data []byte) (int, error) {
	if w.fault.DropResponse {
		return len(data), nil
	}
	if w.fault.CutResponse > 0 && int64(len(data)) >= w.left {
		_, _ = w.ResponseWriter.Write(data[:w.left])
		_ = http.NewResponseController(w.ResponseWriter).Flush() // send the data written so far
		panic(http.ErrAbortHandler)
	}
	w.left -= int64(len(data))
	if w.fault.Slow == 0 {
		return w.ResponseWriter.Write(data)
	}
	written := 0
	for chunk := range slices.Chunk(data, int(slowChunk(w.fault.Slow))) {
		n, err := w.ResponseWriter.Write(chunk)
		written += n
		if err != nil {
			return written, err
		}
		throttle(w.request, int64(n), w.fault.Slow)
	}
	return written, nil
}

// EveryNth returns fault for every n-th request with a method.
func EveryNth(method string, n int64, fault Fault) func(*http.Request, int64) Fault {
	var mu sync.Mutex
	var count int64
	return func(r *http.Request, _ int64) Fault {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != method {
			return Fault{}
		}
		if count++; count%n == 0 {
			return fault
		}
		return Fault{}
	}
}
