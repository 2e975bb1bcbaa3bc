package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/recording"
	"standin/internal/recording/storage/s3"
	"standin/internal/testing/s3test"
)

// eachStorage runs a test with a folder and with an S3 server.
func eachStorage(t *testing.T, test func(t *testing.T, storage *Recordings)) {
	t.Helper()
	for name, address := range map[string]func(t *testing.T) string{
		"folder": func(t *testing.T) string { return folderAddress(filepath.Join(t.TempDir(), "deep", "storage")) },
		"S3":     func(t *testing.T) string { return s3test.Start(t).Address() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, openStorage(t, address(t)))
		})
	}
}

func folderAddress(folder string) string {
	return (&url.URL{Scheme: "file", Path: folder}).String()
}

func openStorage(t *testing.T, address string) *Recordings {
	t.Helper()
	storage, err := Open(t.Context(), address, s3.Open)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := storage.Close(); err != nil {
			t.Error(err)
		}
	})
	return storage
}

func sumText(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// put uploads content. It fails the test on an error.
func put(t *testing.T, storage *Recordings, jobID uuid.UUID, attempt int, name, content string) recording.StoredObject {
	t.Helper()
	stored, err := storage.PutUpload(t.Context(), jobID, attempt, name, strings.NewReader(content), sumText(content), 1<<30)
	if err != nil {
		t.Fatalf("upload %s: %v", name, err)
	}
	return stored
}

func TestUploads(t *testing.T) {
	t.Parallel()
	eachStorage(t, func(t *testing.T, storage *Recordings) {
		jobID := uuid.New()
		stored := put(t, storage, jobID, 0, "recording-000-000000.mp4s", "first")
		if want := (recording.StoredObject{Name: "recording-000-000000.mp4s", Bytes: 5, SHA256: sumText("first"), New: true}); stored != want {
			t.Errorf("stored %+v, want %+v", stored, want)
		}
		if again := put(t, storage, jobID, 0, "recording-000-000000.mp4s", "first"); again.New || again.Bytes != 5 {
			t.Errorf("repeated upload: stored %+v", again)
		}
		put(t, storage, jobID, 0, ingest.ReportName, "{}")
		put(t, storage, jobID, 0, ingest.ReportName, `{"attempt":0}`)
		put(t, storage, jobID, 10, "a", "")
		put(t, storage, jobID, 2, "b", "b")
		put(t, storage, uuid.New(), 0, "another-job", "x")
		got, err := storage.Uploads(t.Context(), jobID)
		if err != nil {
			t.Fatal(err)
		}
		want := []recording.AttemptUploads{
			{Attempt: 0, Files: []recording.Upload{{Name: "recording-000-000000.mp4s", Bytes: 5}, {Name: ingest.ReportName, Bytes: 13}}},
			{Attempt: 2, Files: []recording.Upload{{Name: "b", Bytes: 1}}},
			{Attempt: 10, Files: []recording.Upload{{Name: "a"}}},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("uploads = %v, want %v", got, want)
		}
	})
}

// interruptedBody returns a body that fails after its first bytes.
func interruptedBody() io.Reader {
	return io.MultiReader(strings.NewReader("fir"), failingReader{})
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestInvalidUploadsAreRejected(t *testing.T) {
	t.Parallel()
	eachStorage(t, func(t *testing.T, storage *Recordings) {
		jobID := uuid.New()
		put(t, storage, jobID, 0, "existing", "first")
		for name, test := range map[string]struct {
			attempt   int
			name      string
			content   io.Reader
			sum       string
			wantError func(error) bool
		}{
			"other checksum":   {0, "x", strings.NewReader("first"), sumText("second"), is[*recording.ChecksumError]},
			"invalid checksum": {0, "x", strings.NewReader("first"), "first", is[*recording.ChecksumError]},
			"too long":         {0, "x", strings.NewReader("much too long"), sumText("much too long"), is[*recording.TooLargeError]},
			"interrupted": {0, "x", interruptedBody(), sumText("first"), func(err error) bool {
				return errors.Is(err, io.ErrUnexpectedEOF)
			}},
			"other content":          {0, "existing", strings.NewReader("second"), sumText("second"), is[*recording.ConflictError]},
			"existing, other body":   {0, "existing", strings.NewReader("second"), sumText("first"), is[*recording.ChecksumError]},
			"existing, too long":     {0, "existing", strings.NewReader("much too long"), sumText("first"), is[*recording.TooLargeError]},
			"other path":             {0, "../../x", strings.NewReader("first"), sumText("first"), is[*recording.NameError]},
			"folder":                 {0, "a/b", strings.NewReader("first"), sumText("first"), is[*recording.NameError]},
			"reserved suffix .tmp":   {0, "x.tmp", strings.NewReader("first"), sumText("first"), is[*recording.NameError]},
			"reserved suffix .attrs": {0, "x.attrs", strings.NewReader("first"), sumText("first"), is[*recording.NameError]},
			"negative attempt":       {-1, "x", strings.NewReader("first"), sumText("first"), is[*recording.NameError]},
		} {
			_, err := storage.PutUpload(t.Context(), jobID, test.attempt, test.name, test.content, test.sum, 8)
			if !test.wantError(err) {
				t.Errorf("%s: error is %v", name, err)
			}
		}
		got, err := storage.Uploads(t.Context(), jobID)
		if err != nil {
			t.Fatal(err)
		}
		if want := []recording.AttemptUploads{{
			Attempt: 0, Files: []recording.Upload{{Name: "existing", Bytes: 5}},
		}}; !reflect.DeepEqual(got, want) {
			t.Errorf("uploads = %v, want %v", got, want)
		}
	})
}

// is reports whether err has the type E.
func is[E error](err error) bool {
	var want E
	return errors.As(err, &want)
}

// TestConcurrentUploads checks that one of several concurrent uploads with the same
// name is stored, and that uploads with other content return a recording.ConflictError.
func TestConcurrentUploads(t *testing.T) {
	t.Parallel()
	eachStorage(t, func(t *testing.T, storage *Recordings) {
		jobID := uuid.New()
		contents := []string{"one", "two", "one", "two", "one", "two"}
		errs := make([]error, len(contents))
		var requests sync.WaitGroup
		for i, content := range contents {
			requests.Go(func() {
				_, errs[i] = storage.PutUpload(t.Context(), jobID, 0, "x", strings.NewReader(content), sumText(content), 9)
			})
		}
		requests.Wait()
		reader, err := storage.OpenUpload(t.Context(), jobID, 0, "x")
		if err != nil {
			t.Fatal(err)
		}
		stored, err := io.ReadAll(reader)
		if err := errors.Join(err, reader.Close()); err != nil {
			t.Fatal(err)
		}
		for i, content := range contents {
			if content == string(stored) && errs[i] != nil || content != string(stored) && !is[*recording.ConflictError](errs[i]) {
				t.Errorf("stored %q; the upload of %q returned %v", stored, content, errs[i])
			}
		}
	})
}

func TestMedia(t *testing.T) {
	t.Parallel()
	eachStorage(t, func(t *testing.T, storage *Recordings) {
		jobID := uuid.New()
		if _, _, err := copyUpload(t.Context(), storage, jobID, 0, "recording.mp4"); !is[*recording.NotFoundError](err) {
			t.Errorf("copy a missing upload: %v", err)
		}
		if _, _, err := storage.OpenMedia(t.Context(), jobID, "recording.mp4"); !is[*recording.NotFoundError](err) {
			t.Errorf("open a missing file: %v", err)
		}
		if _, _, err := storage.OpenMedia(t.Context(), jobID, "../manifest.json"); !is[*recording.NameError](err) {
			t.Errorf("open another path: %v", err)
		}
		if err := storage.PutMedia(t.Context(), jobID, "recording.mp4", strings.NewReader("old"), sumText("old")); err != nil {
			t.Fatal(err)
		}
		put(t, storage, jobID, 0, "recording.mp4", "0123456789")
		for range 2 {
			length, sum, err := copyUpload(t.Context(), storage, jobID, 0, "recording.mp4")
			if err != nil || length != 10 || sum != sumText("0123456789") {
				t.Fatalf("copied %d bytes with the checksum %s, %v", length, sum, err)
			}
		}
		if err := storage.DeleteUploads(t.Context(), jobID); err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			content, modified, err := storage.OpenMedia(r.Context(), jobID, "recording.mp4")
			if err != nil {
				t.Errorf("OpenMedia: %v", err)
				return
			}
			defer content.Close()
			http.ServeContent(w, r, "recording.mp4", modified, content)
		}))
		t.Cleanup(server.Close)
		for byteRange, want := range map[string]string{"": "0123456789", "bytes=3-5": "345", "bytes=-2": "89", "bytes=8-": "89"} {
			if got := get(t, server.URL, byteRange); got != want {
				t.Errorf("range %q: got %q, want %q", byteRange, got, want)
			}
		}
		address, signed, err := storage.SignedURL(t.Context(), jobID, "recording.mp4", time.Minute)
		if err != nil || signed != strings.HasSuffix(t.Name(), "/S3") {
			t.Errorf("SignedURL returned %q, %v, %v", address, signed, err)
		}
		if signed {
			for byteRange, want := range map[string]string{"": "0123456789", "bytes=3-5": "345"} {
				if got := get(t, address, byteRange); got != want {
					t.Errorf("signed URL, range %q: got %q, want %q", byteRange, got, want)
				}
			}
			parsed, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			query := parsed.Query()
			if len(query.Get("X-Amz-Signature")) != 64 || query.Get("X-Amz-Expires") != "60" || query.Get("X-Amz-SignedHeaders") != "host" {
				t.Errorf("the URL is not signed for one minute: %s", address)
			}
		}
	})
}

// get returns the body of a response. byteRange is the Range header, if any.
func get(t *testing.T, address, byteRange string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if byteRange != "" {
		request.Header.Set("Range", byteRange)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestSignedURL checks the signed URL of an S3 bucket. Signing needs no network.
func TestSignedURL(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	storage := openStorage(t, "s3://recordings?region=eu-central-1")
	jobID := uuid.New()
	address, ok, err := storage.SignedURL(t.Context(), jobID, "recording.mp4", 10*time.Minute)
	if !ok || err != nil {
		t.Fatalf("no signed URL: %v", err)
	}
	signed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(signed.Path, "jobs/"+jobID.String()+"/media/recording.mp4") || signed.Query().Get("X-Amz-Expires") != "600" {
		t.Errorf("signed URL is %s", address)
	}
}

// TestSignUpload: an object store takes a signed upload once, with the signed size, sum and name, and with nothing but what was
// signed.
func TestSignUpload(t *testing.T) {
	t.Parallel()
	eachStorage(t, func(t *testing.T, storage *Recordings) {
		jobID := uuid.New()
		bot, _ := ingest.Authenticate([]byte("key"), jobID, 1, ingest.Token([]byte("key"), jobID.String(), 1))
		const name, content = "recording-000-000007.mp4s", "a segment"
		upload := ingest.DirectUpload{Name: name, Bytes: int64(len(content)), SHA256: strings.ToUpper(sumText(content))}
		sign := func(change func(*ingest.DirectUpload)) ingest.SignedUpload {
			t.Helper()
			changed := upload
			change(&changed)
			signed, err := storage.SignUpload(t.Context(), bot, changed)
			if err != nil {
				t.Fatal(err)
			}
			return signed
		}
		for why, change := range map[string]func(*ingest.DirectUpload){
			"a report, which is replaced": func(u *ingest.DirectUpload) { u.Name = ingest.ReportName },
			"another folder":              func(u *ingest.DirectUpload) { u.Name = "../2/a.mp4" },
			"an unfinished file":          func(u *ingest.DirectUpload) { u.Name = "a.tmp" },
			"nothing":                     func(u *ingest.DirectUpload) { u.Bytes = 0 },
			"more than one request has":   func(u *ingest.DirectUpload) { u.Bytes = 5<<30 + 1 },
		} {
			if signed := sign(change); signed.URL != "" {
				t.Errorf("%s is signed: %s", why, signed.URL)
			}
		}
		for _, sum := range []string{"", "x", upload.SHA256[2:], upload.SHA256 + "00"} {
			wrong := upload
			wrong.SHA256 = sum
			if signed, err := storage.SignUpload(t.Context(), bot, wrong); err == nil && signed.URL != "" {
				t.Errorf("the sum %q is signed: %s", sum, signed.URL)
			}
		}
		signed := sign(func(*ingest.DirectUpload) {})
		if !strings.HasSuffix(t.Name(), "/S3") {
			if signed.URL != "" {
				t.Errorf("a folder has signed an upload: %s", signed.URL)
			}
			return
		}
		address, err := url.Parse(signed.URL)
		if err != nil {
			t.Fatal(err)
		}
		const headers = "content-length;content-type;host;if-none-match;x-amz-checksum-sha256;x-amz-meta-sha256"
		if query := address.Query(); query.Get("X-Amz-SignedHeaders") != headers || query.Get("X-Amz-Expires") != "60" {
			t.Errorf("signed are %q for %s s", query.Get("X-Amz-SignedHeaders"), query.Get("X-Amz-Expires"))
		}
		send := func() int {
			t.Helper()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, signed.URL, strings.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			request.Header = signed.Headers
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			return response.StatusCode
		}
		if status := send(); status != http.StatusOK {
			t.Fatalf("the store responded with status %d", status)
		}
		if status := send(); status != http.StatusPreconditionFailed {
			t.Errorf("a second upload got status %d", status)
		}
		if length, sum, err := storage.StatUpload(t.Context(), jobID, 1, name); length != upload.Bytes || sum != sumText(content) || err != nil {
			t.Errorf("the store has %d bytes with the sum %s (%v)", length, sum, err)
		}
		if stored := put(t, storage, jobID, 1, name, content); stored.New { // through the service, because the response was lost
			t.Error("the upload is stored again")
		}
	})
}

// TestFolderStorage checks the mode of a storage folder, and that it contains no
// files other than complete objects.
func TestFolderStorage(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "deep", "storage")
	storage := openStorage(t, folderAddress(folder))
	info, err := os.Stat(folder)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o700 {
		t.Errorf("folder mode is %o", mode)
	}
	jobID := uuid.New()
	put(t, storage, jobID, 0, "recording.mp4", "first")
	ctx, cancel := context.WithCancel(t.Context())
	body := io.MultiReader(strings.NewReader("half"), readerFunc(func([]byte) (int, error) {
		cancel()
		return 0, io.EOF
	}))
	if _, err := storage.PutUpload(ctx, jobID, 0, "half", body, sumText("half"), 9); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted upload: %v", err)
	}
	if _, _, err := copyUpload(t.Context(), storage, jobID, 0, "recording.mp4"); err != nil {
		t.Fatal(err)
	}
	var files []string
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			relative, _ := filepath.Rel(filepath.Join(folder, "jobs", jobID.String()), path)
			files = append(files, filepath.ToSlash(relative))
		}
		return err
	})
	if want := []string{"media/recording.mp4", "uploads/0/recording.mp4"}; err != nil || !slices.Equal(files, want) {
		t.Errorf("folder contains %v, %v; want %v", files, err, want)
	}
	if err := storage.DeleteUploads(t.Context(), jobID); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "jobs", jobID.String(), "uploads")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("uploads folder: error is %v, want not found", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(buffer []byte) (int, error) { return f(buffer) }

func TestOpenRejectsInvalidAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"", "storage", "file://elsewhere/storage", "file:storage", "file:///storage?create_dir=1", "ftp://user:secret@host/x", "s3://k:secret@b%",
	} {
		storage, err := Open(t.Context(), address, s3.Open)
		if err == nil {
			t.Errorf("Open(%q) returned %+v", address, storage)
		} else if bytes.Contains([]byte(err.Error()), []byte("secret")) {
			t.Errorf("%q: error contains the secret: %v", address, err)
		}
	}
}

// copyUpload copies an upload to the job's media.
func copyUpload(ctx context.Context, s *Recordings, jobID uuid.UUID, attempt int, name string) (length int64, sum string, err error) {
	if length, sum, err = s.StatUpload(ctx, jobID, attempt, name); err != nil {
		return 0, "", err
	}
	return length, sum, s.CopyUpload(ctx, jobID, attempt, name, name, length, sum)
}

// testManifest returns a manifest with one file.
func testManifest(jobID uuid.UUID) recording.Manifest {
	return recording.Manifest{
		SchemaVersion: recording.SchemaVersion, JobID: jobID.String(), ExternalID: "meeting-1", Metadata: json.RawMessage(`{}`),
		Timeline: recording.Timeline{JoinedAt: recording.Instant{Time: time.Date(2026, 10, 19, 8, 0, 0, 0, time.UTC)}},
		Gaps:     []recording.Gap{}, MediaFaults: []recording.MediaFault{}, Participants: []recording.Participant{},
		Speech: []recording.Speech{}, Consent: []recording.Consent{},
		Media: []recording.Media{{
			File: recording.File{Name: "recording.mp4", Kind: recording.Video, ContentType: "video/mp4", Bytes: 9},
			URI:  "https://standin.example.com/media",
		}},
	}
}

func TestStoredManifest(t *testing.T) {
	t.Parallel()
	eachStorage(t, func(t *testing.T, storage *Recordings) {
		jobID := uuid.New()
		if _, err := storage.Manifest(t.Context(), jobID); !is[*recording.NotFoundError](err) {
			t.Errorf("read a missing manifest: %v", err)
		}
		manifest := testManifest(jobID)
		for range 2 {
			if err := storage.PutManifest(t.Context(), jobID, manifest); err != nil {
				t.Fatal(err)
			}
		}
		read, exists, err := storage.StoredManifest(t.Context(), jobID)
		if err != nil || !exists || !reflect.DeepEqual(read, manifest) {
			t.Errorf("read %+v, %v, %v; want %+v", read, exists, err, manifest)
		}
		if err := storage.DeleteRecording(t.Context(), jobID); err != nil {
			t.Fatal(err)
		}
		if _, err := storage.Manifest(t.Context(), jobID); !is[*recording.NotFoundError](err) {
			t.Errorf("read a deleted manifest: %v", err)
		}
		if err := storage.DeleteRecording(t.Context(), jobID); err != nil {
			t.Errorf("delete again: %v", err)
		}
	})
}
