package recording

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/ingest"
	"standin/internal/testing/s3test"
)

// maxRequests is how many requests one call may make at most, tries included:
// a look, and a write, each three times, and as much again to confirm.
const maxRequests = 12

// random is content that no compression helps and no two calls share.
func random(seed uint64, length int) []byte {
	content := make([]byte, length)
	generator := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = generator.Read(content) // does not fail
	return content
}

func sumBytes(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// on lays a fault on requests of a kind.
func on(method string, every int64, fault s3test.Fault) func(*http.Request, int64) s3test.Fault {
	var mu sync.Mutex
	var seen int64
	return func(r *http.Request, _ int64) s3test.Fault {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != method {
			return s3test.Fault{}
		}
		if seen++; seen%every == 0 {
			return fault
		}
		return s3test.Fault{}
	}
}

// TestUploadsOverABadLine holds that whatever happens on the way to the store,
// what was acknowledged is there, whole, and what was not can be sent again.
func TestUploadsOverABadLine(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]func(r *http.Request, nth int64) s3test.Fault{
		"internal errors":            on(http.MethodPut, 2, s3test.Fault{Status: http.StatusInternalServerError}),
		"slow down":                  on(http.MethodPut, 2, s3test.Fault{Status: http.StatusServiceUnavailable}),
		"errors when it looks":       on(http.MethodHead, 2, s3test.Fault{Status: http.StatusServiceUnavailable}),
		"cut at the beginning":       on(http.MethodPut, 2, s3test.Fault{CutBody: 1}),
		"cut in mid-upload":          on(http.MethodPut, 2, s3test.Fault{CutBody: 40_000}),
		"cut in the second part":     on(http.MethodPut, 3, s3test.Fault{CutBody: 2_000_000}),
		"refused":                    on(http.MethodPut, 2, s3test.Fault{Refuse: true}),
		"the answer lost":            on(http.MethodPut, 2, s3test.Fault{LoseAnswer: true}),
		"the answer to the end lost": on(http.MethodPost, 2, s3test.Fault{LoseAnswer: true}),
		"slow":                       on(http.MethodPut, 1, s3test.Fault{Slow: 8 << 20}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := objects.FaultProxy(t)
			storage := openStorage(t, proxy.Address())
			jobID := uuid.New()
			proxy.Lay(faults)
			var contents [][]byte
			for i, length := range []int{60_000, 1, 0, 100_000, 70_000, 20 << 20, 50_000} { // the long one goes in parts
				content := random(uint64(i), length)
				contents = append(contents, content)
				uploadAnyway(t, proxy, storage, jobID, ingest.SegmentName(0, i), content)
			}
			proxy.Heal()
			for i, content := range contents {
				length, sum := readBack(t, storage, jobID, ingest.SegmentName(0, i))
				if length != int64(len(content)) || sum != sumBytes(content) {
					t.Errorf("file %d: %d bytes of sum %s, want %d of %s", i, length, sum, len(content), sumBytes(content))
				}
			}
			uploads, err := storage.Uploads(t.Context(), jobID)
			if err != nil || len(uploads) != 1 || len(uploads[0].Files) != len(contents) {
				t.Errorf("uploads are %v, %v", uploads, err)
			}
		})
	}
}

// uploadAnyway sends a file as a bot does: again until it is acknowledged. It
// holds that no call tries without end.
func uploadAnyway(t *testing.T, text *s3test.FaultProxy, storage *Storage, jobID uuid.UUID, name string, content []byte) {
	t.Helper()
	for range 10 {
		before := text.Requests()
		stored, err := storage.PutUpload(t.Context(), jobID, 0, name, bytes.NewReader(content), sumBytes(content), 1<<30)
		made := text.Requests() - before
		if parts := int64(len(content)>>20) + 1; made > maxRequests*parts {
			t.Fatalf("%s took %d requests", name, made)
		}
		if err == nil {
			if stored.Bytes != int64(len(content)) || stored.SHA256 != sumBytes(content) {
				t.Fatalf("%s is acknowledged as %+v", name, stored)
			}
			return
		}
		if is[*ConflictError](err) || is[*ChecksumError](err) || is[*NotFoundError](err) {
			t.Fatalf("%s: the store's failure is reported as %v", name, err)
		}
	}
	t.Fatalf("%s was never acknowledged", name)
}

// readBack reads an upload and tells its length and sum as it is.
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

// TestStoreDownForAWhile: nothing is acknowledged meanwhile, the error says
// what the store said, and afterwards all goes on.
func TestStoreDownForAWhile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		down     s3test.Fault
		reported string
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
			proxy.Lay(func(*http.Request, int64) s3test.Fault { return test.down })
			for what, call := range map[string]func() error{
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
				// A HEAD has no body, so that the store's code is not told there.
				if err == nil || is[*NotFoundError](err) || !strings.Contains(err.Error(), test.reported) && !strings.Contains(err.Error(), "StatusCode") {
					t.Errorf("%s: the error is %v", what, err)
				}
				if made := proxy.Requests() - before; made > maxRequests {
					t.Errorf("%s took %d requests", what, made)
				}
			}
			proxy.Heal()
			put(t, storage, jobID, 0, "x", "x")
			if uploads, err := storage.Uploads(t.Context(), jobID); err != nil || len(uploads) != 1 || len(uploads[0].Files) != 2 {
				t.Errorf("uploads are %v, %v", uploads, err)
			}
		})
	}
}

// TestStalledStore holds that a store which takes a request and never answers
// is given up.
func TestStalledStore(t *testing.T) {
	t.Parallel()
	silent := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-silent:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(silent); server.Close() })
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
	for what, call := range map[string]func() error{
		"a question": func() error { return storage.Check(t.Context()) },
		"an upload": func() error {
			return storage.write(t.Context(), "x", newHashingReader(strings.NewReader("x"), 9), sumText("x"), true)
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s: the error is %v", what, err)
		}
	}
}

// left by a lost bot in a bucket of its own, reached over a line.
func lostInS3(t *testing.T, segments [][]byte) (finisherHarness, *s3test.FaultProxy) {
	t.Helper()
	proxy := objects.FaultProxy(t)
	finisher := newFinisherHarness(t)
	finisher.Storage = openStorage(t, proxy.Address())
	finisher.upload(t, 0, 0, segments)
	finisher.report(t, lost(0, torn(0, 0)))
	finisher.upload(t, 1, 0, segments[:3])
	return finisher, proxy
}

// TestFinishingIsInterruptedAnywhere ends a run at each of its requests in
// turn, as a service that is killed does, and holds that the next run finishes
// all the same, and with the same result.
func TestFinishingIsInterruptedAnywhere(t *testing.T) {
	t.Parallel()
	segments := cut(t, record(t, source{Seconds: 4}))
	finisher, text := lostInS3(t, segments)
	text.Heal() // counts from here
	manifest, err := finisher.Salvage(t.Context(), finisher.facts, "bot_lost", nil)
	if err != nil {
		t.Fatal(err)
	}
	all := text.Requests()
	if all < 10 {
		t.Fatalf("finishing takes %d requests", all)
	}
	for last := int64(1); last <= all; last++ {
		service2, row := lostInS3(t, segments)
		ctx, interrupt := context.WithCancel(t.Context())
		row.Lay(func(_ *http.Request, nth int64) s3test.Fault {
			if nth < last {
				return s3test.Fault{}
			}
			interrupt()
			return s3test.Fault{LoseAnswer: true} // whether it was done, nobody knows
		})
		if _, err := service2.Salvage(ctx, service2.facts, "bot_lost", nil); err == nil {
			t.Errorf("interrupted at request %d of %d: no error", last, all)
		}
		interrupt()
		row.Heal()
		again, err := service2.Salvage(t.Context(), service2.facts, "bot_lost", nil)
		if err != nil {
			t.Fatalf("interrupted at request %d of %d, and again: %v", last, all, err)
		}
		if again.Media[0].SHA256 != manifest.Media[0].SHA256 || again.Partial != manifest.Partial {
			t.Errorf("interrupted at request %d of %d: %+v, want %+v", last, all, again, manifest)
		}
		service2.check(t, again)
	}
}

// TestFinishingOverABadLine: faults that pass are got over within one run.
func TestFinishingOverABadLine(t *testing.T) {
	t.Parallel()
	segments := cut(t, record(t, source{Seconds: 4}))
	for name, faults := range map[string]func(r *http.Request, nth int64) s3test.Fault{
		"each third request refused":       func(_ *http.Request, nth int64) s3test.Fault { return s3test.Fault{Refuse: nth%3 == 0} },
		"each third answered by slow down": func(_ *http.Request, nth int64) s3test.Fault { return s3test.Fault{Status: slowDown(nth%3 == 0)} },
		"each second download cut":         on(http.MethodGet, 2, s3test.Fault{CutAnswer: 500}),
		"each second upload cut":           on(http.MethodPut, 2, s3test.Fault{CutBody: 5000}),
		"each second answer lost":          on(http.MethodPut, 2, s3test.Fault{LoseAnswer: true}),
		"slow":                             func(*http.Request, int64) s3test.Fault { return s3test.Fault{Slow: 256 << 10} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finisher, text := lostInS3(t, segments)
			text.Lay(faults)
			manifest, err := finisher.Salvage(t.Context(), finisher.facts, "bot_lost", nil)
			if err != nil {
				t.Fatal(err)
			}
			text.Heal()
			finisher.check(t, manifest)
			if lasts := manifest.Media[0].DurationMs; lasts < 5900 || lasts > 6600 {
				t.Errorf("lasts %d ms, want both attempts' 6 s", lasts)
			}
		})
	}
}

func slowDown(yes bool) int {
	if yes {
		return http.StatusServiceUnavailable
	}
	return 0
}

// TestDownloadsAreNeverShort: a download that is cut is an error, never a
// shorter file.
func TestDownloadsAreNeverShort(t *testing.T) {
	t.Parallel()
	proxy := objects.FaultProxy(t)
	storage := openStorage(t, proxy.Address())
	jobID := uuid.New()
	content := random(7, 300_000)
	put(t, storage, jobID, 0, "x", string(content))
	for _, after := range []int64{1, 1000, 299_999} {
		proxy.Lay(func(*http.Request, int64) s3test.Fault { return s3test.Fault{CutAnswer: after} })
		reader, err := storage.openUpload(t.Context(), jobID, 0, "x")
		if err == nil {
			var read int64
			read, err = io.Copy(io.Discard, reader)
			err = errors.Join(err, reader.Close())
			if err == nil {
				t.Errorf("cut after %d bytes: %d bytes were read without an error", after, read)
			}
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut after %d bytes: the error is %v", after, err)
		}
	}
	proxy.Heal()
	if length, sum := readBack(t, storage, jobID, "x"); length != 300_000 || sum != sumBytes(content) {
		t.Errorf("afterwards %d bytes of sum %s", length, sum)
	}
}
