package recording

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/ingest"
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

// faultOn returns fault for every n-th request with a method.
func faultOn(method string, n int64, fault s3test.Fault) func(*http.Request, int64) s3test.Fault {
	var mu sync.Mutex
	var count int64
	return func(r *http.Request, _ int64) s3test.Fault {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != method {
			return s3test.Fault{}
		}
		if count++; count%n == 0 {
			return fault
		}
		return s3test.Fault{}
	}
}

// TestUploadsWithFaults checks that acknowledged uploads are stored completely and
// that failed uploads can be repeated.
func TestUploadsWithFaults(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]func(r *http.Request, nth int64) s3test.Fault{
		"internal errors":          faultOn(http.MethodPut, 2, s3test.Fault{Status: http.StatusInternalServerError}),
		"slow down":                faultOn(http.MethodPut, 2, s3test.Fault{Status: http.StatusServiceUnavailable}),
		"errors of HEAD requests":  faultOn(http.MethodHead, 2, s3test.Fault{Status: http.StatusServiceUnavailable}),
		"cut at the beginning":     faultOn(http.MethodPut, 2, s3test.Fault{CutBody: 1}),
		"cut in mid-upload":        faultOn(http.MethodPut, 2, s3test.Fault{CutBody: 40_000}),
		"cut in the second part":   faultOn(http.MethodPut, 3, s3test.Fault{CutBody: 2_000_000}),
		"refused":                  faultOn(http.MethodPut, 2, s3test.Fault{Refuse: true}),
		"response dropped":         faultOn(http.MethodPut, 2, s3test.Fault{DropResponse: true}),
		"response to POST dropped": faultOn(http.MethodPost, 2, s3test.Fault{DropResponse: true}),
		"slow":                     faultOn(http.MethodPut, 1, s3test.Fault{Slow: 8 << 20}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := objects.FaultProxy(t)
			storage := openStorage(t, proxy.Address())
			jobID := uuid.New()
			proxy.SetFaults(faults)
			var contents [][]byte
			for i, length := range []int{60_000, 1, 0, 100_000, 70_000, 8 << 20, 50_000} { // the 8 MiB upload is a multipart upload of 5 and 3 MiB
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
func uploadWithRetry(t *testing.T, proxy *s3test.FaultProxy, storage *Storage, jobID uuid.UUID, name string, content []byte) {
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
		if is[*ConflictError](err) || is[*ChecksumError](err) || is[*NotFoundError](err) {
			t.Fatalf("%s: error is %v", name, err)
		}
	}
	t.Fatalf("%s: every upload failed", name)
}

// readBack returns the length and SHA-256 of a stored upload.
func readBack(t *testing.T, storage *Storage, jobID uuid.UUID, name string) (int64, string) {
	t.Helper()
	reader, err := storage.openUpload(t.Context(), jobID, 0, name)
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := objects.FaultProxy(t)
			storage := openStorage(t, proxy.Address())
			jobID := uuid.New()
			put(t, storage, jobID, 0, "before", "before")
			proxy.SetFaults(func(*http.Request, int64) s3test.Fault { return test.fault })
			for operation, call := range map[string]func() error{
				"upload": func() error {
					_, err := storage.PutUpload(t.Context(), jobID, 0, "x", strings.NewReader("x"), sumText("x"), 9)
					return err
				},
				"upload again": func() error {
					_, err := storage.PutUpload(t.Context(), jobID, 0, "before", strings.NewReader("before"), sumText("before"), 9)
					return err
				},
				"list":     func() error { _, err := storage.Uploads(t.Context(), jobID); return err },
				"manifest": func() error { _, err := storage.Manifest(t.Context(), jobID); return err },
				"media":    func() error { _, _, _, err := storage.OpenMedia(t.Context(), jobID, "x"); return err },
				"delete":   func() error { return storage.DeleteRecording(t.Context(), jobID) },
				"check":    func() error { return storage.Check(t.Context()) },
			} {
				before := proxy.Requests()
				err := call()
				// A response to HEAD has no body, so it has no error code of the store.
				if err == nil || is[*NotFoundError](err) || !strings.Contains(err.Error(), test.wantError) && !strings.Contains(err.Error(), "StatusCode") {
					t.Errorf("%s: error is %v", operation, err)
				}
				if requests := proxy.Requests() - before; requests > maxRequests {
					t.Errorf("%s made %d requests", operation, requests)
				}
			}
			proxy.ClearFaults()
			put(t, storage, jobID, 0, "x", "x")
			if uploads, err := storage.Uploads(t.Context(), jobID); err != nil || len(uploads) != 1 || len(uploads[0].Files) != 2 {
				t.Errorf("uploads are %v, %v", uploads, err)
			}
		})
	}
}

// TestStalledConnectionFails checks that an operation fails when the store accepts
// a request and never responds.
func TestStalledConnectionFails(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(release); server.Close() })
	address, err := url.Parse("s3://bucket?region=x&use_path_style=true&endpoint=" + server.URL)
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := openS3(t.Context(), address, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	storage := &Storage{bucket: bucket}
	t.Cleanup(func() { storage.Close() })
	for operation, call := range map[string]func() error{
		"check": func() error { return storage.Check(t.Context()) },
		"upload": func() error {
			return storage.write(t.Context(), "x", newHashingReader(strings.NewReader("x"), 9), sumText("x"), true)
		},
	} {
		// The connection may be closed while the request is still written.
		if err := call(); err == nil || !strings.Contains(err.Error(), "timeout") && !strings.Contains(err.Error(), net.ErrClosed.Error()) {
			t.Errorf("%s: error is %v", operation, err)
		}
	}
}

// newLostBotHarness returns a finisher with the uploads of a lost bot in a new
// bucket, and the proxy to that bucket.
func newLostBotHarness(t *testing.T, segments [][]byte) (finisherHarness, *s3test.FaultProxy) {
	t.Helper()
	proxy := objects.FaultProxy(t)
	finisher := newFinisherHarness(t)
	finisher.Storage = openStorage(t, proxy.Address())
	finisher.upload(t, 0, 0, segments)
	finisher.report(t, lostReport(0, openPart(0, 0)))
	finisher.upload(t, 1, 0, segments[:3])
	return finisher, proxy
}

// TestInterruptedFinishingCanBeRepeated interrupts a run at its first request and at
// each request that writes, as when the service is killed, and checks that the next
// run has the same result as an uninterrupted one. Interruptions at other requests
// leave the same storage.
func TestInterruptedFinishingCanBeRepeated(t *testing.T) {
	t.Parallel()
	segments := splitSegments(t, encodeRecording(t, source{Seconds: 4}))
	finisher, proxy := newLostBotHarness(t, segments)
	var writes atomic.Int64
	proxy.SetFaults(func(r *http.Request, _ int64) s3test.Fault {
		writes.Add(written(r))
		return s3test.Fault{}
	})
	manifest, err := finisher.Salvage(t.Context(), finisher.input, "bot_lost", nil)
	if err != nil {
		t.Fatal(err)
	}
	total := writes.Load()
	finisher.check(t, manifest)
	if total < 2 { // the media and the manifest
		t.Fatalf("finishing wrote %d times", total)
	}
	t.Logf("%d of %d requests write", total, proxy.Requests())
	for last := range total + 1 {
		interrupted, proxy := newLostBotHarness(t, segments)
		ctx, interrupt := context.WithCancel(t.Context())
		var writes atomic.Int64
		proxy.SetFaults(func(r *http.Request, _ int64) s3test.Fault {
			if writes.Add(written(r)) < last {
				return s3test.Fault{}
			}
			interrupt()
			return s3test.Fault{DropResponse: true} // the result of the request is unknown
		})
		if _, err := interrupted.Salvage(ctx, interrupted.input, "bot_lost", nil); err == nil {
			t.Errorf("interrupted at write %d of %d: no error", last, total)
		}
		interrupt()
		proxy.ClearFaults()
		again, err := interrupted.Salvage(t.Context(), interrupted.input, "bot_lost", nil)
		if err != nil {
			t.Fatalf("repeated after an interruption at write %d of %d: %v", last, total, err)
		}
		if again.Media[0].SHA256 != manifest.Media[0].SHA256 || again.Partial != manifest.Partial {
			t.Errorf("interrupted at write %d of %d: %+v, want %+v", last, total, again, manifest)
		}
		interrupted.check(t, again)
	}
}

// written returns 1 for a request that writes, else 0.
func written(r *http.Request) int64 {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return 0
	}
	return 1
}

// TestFinishingWithFaults checks that one run finishes a job despite temporary
// faults.
func TestFinishingWithFaults(t *testing.T) {
	t.Parallel()
	segments := splitSegments(t, encodeRecording(t, source{Seconds: 4}))
	for name, faults := range map[string]func(r *http.Request, nth int64) s3test.Fault{
		"every third request refused":     func(_ *http.Request, nth int64) s3test.Fault { return s3test.Fault{Refuse: nth%3 == 0} },
		"every third request slowed down": func(_ *http.Request, nth int64) s3test.Fault { return s3test.Fault{Status: slowDown(nth%3 == 0)} },
		"every second download cut":       faultOn(http.MethodGet, 2, s3test.Fault{CutResponse: 500}),
		"every second upload cut":         faultOn(http.MethodPut, 2, s3test.Fault{CutBody: 5000}),
		"every second response dropped":   faultOn(http.MethodPut, 2, s3test.Fault{DropResponse: true}),
		"slow":                            func(*http.Request, int64) s3test.Fault { return s3test.Fault{Slow: 256 << 10} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finisher, proxy := newLostBotHarness(t, segments)
			proxy.SetFaults(faults)
			manifest, err := finisher.Salvage(t.Context(), finisher.input, "bot_lost", nil)
			if err != nil {
				t.Fatal(err)
			}
			proxy.ClearFaults()
			finisher.check(t, manifest)
			if duration := manifest.Media[0].DurationMs; duration < 5900 || duration > 6600 {
				t.Errorf("duration is %d ms, want about 6 s from both attempts", duration)
			}
		})
	}
}

// slowDown returns the status of SlowDown, or 0.
func slowDown(yes bool) int {
	if yes {
		return http.StatusServiceUnavailable
	}
	return 0
}

// TestInterruptedDownloadIsAnError checks that an interrupted download returns an
// error instead of a truncated file.
func TestInterruptedDownloadIsAnError(t *testing.T) {
	t.Parallel()
	proxy := objects.FaultProxy(t)
	storage := openStorage(t, proxy.Address())
	jobID := uuid.New()
	content := randomBytes(7, 300_000)
	put(t, storage, jobID, 0, "x", string(content))
	for _, after := range []int64{1, 1000, 299_999} {
		proxy.SetFaults(func(*http.Request, int64) s3test.Fault { return s3test.Fault{CutResponse: after} })
		reader, err := storage.openUpload(t.Context(), jobID, 0, "x")
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
