package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/recording"
	"standin/internal/testing/s3test"
)

// maxRequests is the maximum number of requests of one call: a check and a write
// with three attempts each, and the same again for the confirmation.
const maxRequests = 12

// randomBytes returns incompressible content that is different for each seed.
func randomBytes(seed uint64, length int) []byte {
	content := make([]byte, length)
	generator := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = generator.Read(content) // never fails
	return content
}

func sumBytes(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// TestUploadsWithFaults checks that acknowledged uploads are stored completely and
// that failed uploads can be repeated.
func TestUploadsWithFaults(t *testing.T) {
	t.Parallel()
	const small, multipart = 100_000, 8 << 20 // a multipart upload has parts of 5 and 3 MiB
	for name, test := range map[string]struct {
		largest int // bytes
		faults  func(r *http.Request, nth int64) s3test.Fault
	}{
		"internal errors":          {multipart, s3test.EveryNth(http.MethodPut, 2, s3test.Fault{Status: http.StatusInternalServerError})},
		"slow down":                {small, s3test.EveryNth(http.MethodPut, 2, s3test.Fault{Status: http.StatusServiceUnavailable})},
		"errors of HEAD requests":  {small, s3test.EveryNth(http.MethodHead, 2, s3test.Fault{Status: http.StatusServiceUnavailable})},
		"cut at the beginning":     {small, s3test.EveryNth(http.MethodPut, 2, s3test.Fault{CutBody: 1})},
		"cut in mid-upload":        {small, s3test.EveryNth(http.MethodPut, 2, s3test.Fault{CutBody: 40_000})},
		"cut in the second part":   {multipart, s3test.EveryNth(http.MethodPut, 3, s3test.Fault{CutBody: 2_000_000})},
		"refused":                  {small, s3test.EveryNth(http.MethodPut, 2, s3test.Fault{Refuse: true})},
		"response dropped":         {small, s3test.EveryNth(http.MethodPut, 2, s3test.Fault{DropResponse: true})},
		"response to POST dropped": {multipart, s3test.EveryNth(http.MethodPost, 2, s3test.Fault{DropResponse: true})},
		"slow":                     {small, s3test.EveryNth(http.MethodPut, 1, s3test.Fault{Slow: 1 << 20})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := s3test.Start(t)
			storage := openStorage(t, proxy.Address())
			jobID := uuid.New()
			proxy.SetFaults(test.faults)
			var contents [][]byte
			for i, length := range []int{60_000, 1, 0, 70_000, test.largest, 50_000} {
				content := randomBytes(uint64(i), length)
				contents = append(contents, content)
				uploadWithRetry(t, proxy, storage, jobID, ingest.SegmentName(0, i), content)
			}
			proxy.ClearFaults()
			for i, content := range contents {
				length, sum := readBack(t, storage, jobID, ingest.SegmentName(0, i))
				if length != int64(len(content)) || sum != sumBytes(content) {
					t.Errorf("file %d: %d bytes with checksum %s, want %d with %s", i, length, sum, len(content), sumBytes(content))
				}
			}
			uploads, err := storage.Uploads(t.Context(), jobID)
			if err != nil || len(uploads) != 1 || len(uploads[0].Files) != len(contents) {
				t.Errorf("uploads are %v, %v", uploads, err)
			}
		})
	}
}

// uploadWithRetry repeats an upload until it succeeds, as a bot does. It checks
// the number of requests of each call.
func uploadWithRetry(t *testing.T, proxy *s3test.Store, storage *Recordings, jobID uuid.UUID, name string, content []byte) {
	t.Helper()
	for range 10 {
		before := proxy.Requests()
		stored, err := storage.PutUpload(t.Context(), jobID, 0, name, bytes.NewReader(content), sumBytes(content), 1<<30)
		requests := proxy.Requests() - before
		if parts := int64(len(content)>>20) + 1; requests > maxRequests*parts {
			t.Fatalf("%s made %d requests", name, requests)
		}
		if err == nil {
			if stored.Bytes != int64(len(content)) || stored.SHA256 != sumBytes(content) {
				t.Fatalf("%s: stored object is %+v", name, stored)
			}
			return
		}
		if is[*recording.ConflictError](err) || is[*recording.ChecksumError](err) || is[*recording.NotFoundError](err) {
			t.Fatalf("%s: error is %v", name, err)
		}
	}
	t.Fatalf("%s: every upload failed", name)
}

// readBack returns the length and SHA-256 of a stored upload.
func readBack(t *testing.T, storage *Recordings, jobID uuid.UUID, name string) (int64, string) {
	t.Helper()
	reader, err := storage.OpenUpload(t.Context(), jobID, 0, name)
	if err != nil {
		t.Fatal(err)
	}
	hasher := sha256.New()
	length, err := io.Copy(hasher, reader)
	if err := errors.Join(err, reader.Close()); err != nil {
		t.Fatal(err)
	}
	return length, hex.EncodeToString(hasher.Sum(nil))
}

// TestStoreUnavailable checks that operations fail with the store's error while
// the store is unavailable, and succeed afterwards.
func TestStoreUnavailable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault     s3test.Fault
		wantError string
	}{
		"no connection": {s3test.Fault{Refuse: true}, "EOF"},
		"slow down":     {s3test.Fault{Status: http.StatusServiceUnavailable}, "SlowDown"},
		"errors":        {s3test.Fault{Status: http.StatusInternalServerError}, "InternalError"},
	} {
		for operation, call := range map[string]func(ctx context.Context, storage *Recordings, jobID uuid.UUID) error{
			"upload": func(ctx context.Context, storage *Recordings, jobID uuid.UUID) error {
				_, err := storage.PutUpload(ctx, jobID, 0, "x", strings.NewReader("x"), sumText("x"), 9)
				return err
			},
			"upload again": func(ctx context.Context, storage *Recordings, jobID uuid.UUID) error {
				_, err := storage.PutUpload(ctx, jobID, 0, "before", strings.NewReader("before"), sumText("before"), 9)
				return err
			},
			"list": func(ctx context.Context, storage *Recordings, jobID uuid.UUID) error {
				_, err := storage.Uploads(ctx, jobID)
				return err
			},
			"manifest": func(ctx context.Context, storage *Recordings, jobID uuid.UUID) error {
				_, err := storage.Manifest(ctx, jobID)
				return err
			},
			"media": func(ctx context.Context, storage *Recordings, jobID uuid.UUID) error {
				_, _, err := storage.OpenMedia(ctx, jobID, "x")
				return err
			},
			"delete": func(ctx context.Context, storage *Recordings, jobID uuid.UUID) error {
				return storage.DeleteRecording(ctx, jobID)
			},
			"check": func(ctx context.Context, storage *Recordings, _ uuid.UUID) error { return storage.Check(ctx) },
		} {
			t.Run(name+", "+operation, func(t *testing.T) {
				t.Parallel()
				proxy := s3test.Start(t)
				storage := openStorage(t, proxy.Address())
				jobID := uuid.New()
				put(t, storage, jobID, 0, "before", "before")
				proxy.SetFaults(func(*http.Request, int64) s3test.Fault { return test.fault })
				before := proxy.Requests()
				err := call(t.Context(), storage, jobID)
				// A response to HEAD has no body, so it has no error code of the store.
				if err == nil || is[*recording.NotFoundError](err) || !strings.Contains(err.Error(), test.wantError) &&
					!strings.Contains(err.Error(), "StatusCode") {
					t.Errorf("error is %v", err)
				}
				if requests := proxy.Requests() - before; requests > maxRequests {
					t.Errorf("made %d requests", requests)
				}
				proxy.ClearFaults()
				put(t, storage, jobID, 0, "x", "x")
				if uploads, err := storage.Uploads(t.Context(), jobID); err != nil || len(uploads) != 1 || len(uploads[0].Files) != 2 {
					t.Errorf("uploads are %v, %v", uploads, err)
				}
			})
		}
	}
}

// TestInterruptedDownloadIsAnError checks that an interrupted download returns an
// error instead of a truncated file.
func TestInterruptedDownloadIsAnError(t *testing.T) {
	t.Parallel()
	proxy := s3test.Start(t)
	storage := openStorage(t, proxy.Address())
	jobID := uuid.New()
	content := randomBytes(7, 300_000)
	put(t, storage, jobID, 0, "x", string(content))
	for _, after := range []int64{1, 1000, 299_999} {
		proxy.SetFaults(func(*http.Request, int64) s3test.Fault { return s3test.Fault{CutResponse: after} })
		reader, err := storage.OpenUpload(t.Context(), jobID, 0, "x")
		if err == nil {
			var read int64
			read, err = io.Copy(io.Discard, reader)
			err = errors.Join(err, reader.Close())
			if err == nil {
				t.Errorf("cut after %d bytes: read %d bytes without an error", after, read)
			}
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut after %d bytes: error is %v", after, err)
		}
	}
	proxy.ClearFaults()
	if length, sum := readBack(t, storage, jobID, "x"); length != 300_000 || sum != sumBytes(content) {
		t.Errorf("without faults: read %d bytes with checksum %s", length, sum)
	}
}
