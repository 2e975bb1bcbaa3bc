package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording"
	recordingbuild "standin/internal/recording/build"
	"standin/internal/store"
)

// TestRecordingsFinish checks that the recording of a job that failed is made from its
// uploads, once, while the service runs.
func TestRecordingsFinish(t *testing.T) {
	t.Parallel()
	if _, err := recordingbuild.FindTools(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := newDataDir(t)
	id := simulated(t, dir)
	if code, _, stderr := command("recordings", "finish", "--data-dir", dir, id); code != 1 || !strings.Contains(stderr, "has a recording") {
		t.Errorf("a finished recording: exit code %d, %s", code, stderr)
	}
	failBeforeFinish(t, dir, id)
	code, out, stderr := command("recordings", "finish", "--data-dir", dir, "--base-url", "https://standin.test/", id)
	if want := "finished: https://standin.test/api/v1/jobs/" + id + "/manifest\n"; code != 0 || out != want {
		t.Fatalf("exit code %d, %q, want %q; %s", code, out, want, stderr)
	}
	if code, out, _ := command("recordings", "verify", "--data-dir", dir, id); code != 0 || !strings.Contains(out, "1 valid") {
		t.Errorf("verify: exit code %d, %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "recordings", "jobs", id, "uploads")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the uploads are left: %v", err)
	}
	for args, want := range map[string]string{id: "has a recording", uuid.NewString(): "no such job", "weekly-17": "is not a job ID"} {
		if code, _, stderr := command("recordings", "finish", "--data-dir", dir, args); code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("finish %s: exit code %d, %s", args, code, stderr)
		}
	}
}

// failBeforeFinish makes a completed job look as if its recording could not be finished.
func failBeforeFinish(t *testing.T, dir, id string) {
	t.Helper()
	folder := filepath.Join(dir, "recordings", "jobs", id)
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
		Report: ingest.Report{Parts: []ingest.RecordingPart{{StartedAt: began, EndedAt: began.Add(20 * time.Second), Segments: 20, Complete: true}}},
		Media:  []recording.File{manifest.Media[0].File},
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
	)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), filepath.Join(dir, "standin.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.LockJob(ctx, uuid.MustParse(id))
		r.Status, r.FailureCode, r.ManifestURI, r.FinalizedAt = job.Failed, job.InternalError, "", time.Time{}
		return errors.Join(err, tx.SaveJob(ctx, r))
	})
	if err != nil {
		t.Fatal(err)
	}
}
