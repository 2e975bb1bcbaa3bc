package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/recording"
	recordingbuild "standin/internal/recording/build"
	"standin/internal/store"
)

// TestDownload downloads a recording. Another run fetches only what is missing, and notices data
// that a proxy or an earlier run has made wrong. The client's own rows break connections.
func TestDownload(t *testing.T) {
	t.Parallel()
	c := newCLI(t, job.Test)
	target, err := url.Parse(c.values["BASE"])
	if err != nil {
		t.Fatal(err)
	}
	var corrupt atomic.Bool
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(answer *http.Response) error {
		if corrupt.Load() && strings.Contains(answer.Request.URL.Path, "/media/") {
			answer.Body = io.NopCloser(io.MultiReader(strings.NewReader("x"), io.LimitReader(answer.Body, answer.ContentLength-1)))
		}
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	c.keep("", server.URL, c.values["KEY"])
	dir := filepath.Join(t.TempDir(), "recording")
	c.values["DIR"] = dir
	fetch := func() (fetched, size int64, path string) {
		t.Helper()
		var downloads []downloaded
		if err := json.Unmarshal([]byte(c.row(row{"recordings download $ID --dir $DIR --json", 0, ``, ``})), &downloads); err != nil ||
			len(downloads) != 1 {
			t.Fatalf("%v: %+v", err, downloads)
		}
		return downloads[0].Fetched, downloads[0].Bytes, downloads[0].Path
	}
	c.rows(row{"jobs create $MEET $FAST --json", 0, `"id": "(?P<ID>[^"]+)"`, ``}, row{"jobs watch $ID", 0, ``, ``})
	fetched, size, path := fetch()
	if again, _, _ := fetch(); fetched != size || again != 0 {
		t.Errorf("%d of %d bytes are fetched, and then %d again", fetched, size, again)
	}
	for name, want := range map[string]int{"*.part": 0, "manifest.json": 1} {
		if found, err := filepath.Glob(filepath.Join(dir, name)); err != nil || len(found) != want {
			t.Errorf("there are %q (%v)", found, err)
		}
	}
	content, err := os.ReadFile(path)
	if err := errors.Join(err, os.WriteFile(path+".part", content[:1000], 0o600), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	if fetched, _, _ := fetch(); fetched != size-1000 {
		t.Errorf("another run fetched %d of %d bytes", fetched, size-1000)
	}
	if err := errors.Join(os.WriteFile(path+".part", make([]byte, 10), 0o600), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	const differs = `SHA-256 of the manifest`
	c.rows(row{"recordings download $ID --dir $DIR", exitFailed, ``, differs}) // the beginning is of something else
	corrupt.Store(true)
	c.rows(row{"recordings download $ID --dir $DIR", exitFailed, ``, differs})
	if left, err := filepath.Glob(filepath.Join(dir, "*.mp4*")); err != nil || len(left) > 0 {
		t.Errorf("a file that was changed on the proxy is left: %q, %v", left, err)
	}
}

// TestRecordingsVerify verifies recordings, and one that was truncated on disk. The recording of
// a job that failed is made from its uploads, once. The service runs meanwhile.
func TestRecordingsVerify(t *testing.T) {
	long(t)
	t.Parallel()
	needTools(t)
	a := newAdmin(t)
	s, err := startService(t.Context(), a.values["DATA"])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	c := signedIn(t, s, job.Test)
	c.rows(row{"jobs create $MEET --external-id weekly-17 $FAST --json", 0, `"id": "(?P<ID>[^"]+)"`, ``}, row{"jobs watch $ID", 0, ``, ``})
	id := c.values["ID"]
	a.values["ID"], a.values["UNKNOWN"] = id, uuid.NewString()
	const valid = `$ID  valid  "weekly-17".*1 valid, 0 invalid\n$`
	a.rows(
		row{"recordings verify", 0, valid, ``}, row{"recordings verify $ID", 0, valid, ``},
		row{"recordings verify $UNKNOWN", exitFailed, ``, `no such job`},
		row{"recordings finish $ID", exitFailed, ``, `has a recording`},
	)
	folder := filepath.Join(a.values["DATA"], "recordings", "jobs", id)
	failBeforeFinish(t, s.Store(), folder, id)
	a.rows(
		row{"recordings finish --base-url https://standin.test/ $ID", 0, `^finished: https://standin\.test/api/v1/jobs/$ID/manifest\n$`, ``},
		row{"recordings verify $ID", 0, `1 valid`, ``},
		row{"recordings finish $ID", exitFailed, ``, `has a recording`},
		row{"recordings finish $UNKNOWN", exitFailed, ``, `no such job`},
		row{"recordings finish weekly-17", exitFailed, ``, `is not a job ID`},
	)
	if _, err := os.Stat(filepath.Join(folder, "uploads")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the uploads are left: %v", err)
	}
	if err := os.Truncate(filepath.Join(folder, "media", "recording.mp4"), 1000); err != nil {
		t.Fatal(err)
	}
	a.rows(
		row{"recordings verify", exitFailed, `INVALID.*SHA-256 is`, `1 recordings do not match`},
		row{"recordings verify $ID --json", exitFailed, `"jobId":"$ID"`, ``},
	)
}

// failBeforeFinish makes a completed job look as if its recording could not be finished.
func failBeforeFinish(t *testing.T, s *store.Store, folder, id string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest recording.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	began := manifest.Timeline.RecordingStartedAt.Time
	report, err := json.Marshal(recordingbuild.FinalReport{
		Report: ingest.Report{Parts: []ingest.RecordingPart{{
			StartedAt: began, EndedAt: began.Add(20 * time.Second), Segments: 20, Complete: true,
		}}},
		Media: []recording.File{manifest.Media[0].File},
	})
	if err != nil {
		t.Fatal(err)
	}
	uploads := filepath.Join(folder, "uploads", "0")
	err = errors.Join(
		os.MkdirAll(uploads, 0o700),
		os.Rename(filepath.Join(folder, "media", manifest.Media[0].Name), filepath.Join(uploads, manifest.Media[0].Name)),
		os.WriteFile(filepath.Join(uploads, ingest.ReportName), report, 0o600),
		os.Remove(filepath.Join(folder, "manifest.json")),
		s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			r, err := tx.LockJob(ctx, uuid.MustParse(id))
			r.Status, r.FailureCode, r.ManifestURI, r.FinalizedAt = job.Failed, job.InternalError, "", time.Time{}
			return errors.Join(err, tx.SaveJob(ctx, store.JobChange{Record: r}))
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
}
