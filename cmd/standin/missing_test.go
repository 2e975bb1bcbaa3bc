package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/dispatch"
	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/lifecycle"
	"standin/internal/service"
	"standin/internal/store"
)

// lockedBuffer is a buffer for concurrent writers.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// TestMissingBrowser checks that a service without a browser logs at start what to
// install, and that a job fails with the same advice after several launch
// attempts.
func TestMissingBrowser(t *testing.T) {
	t.Parallel()
	log := &lockedBuffer{}
	timeouts := dispatch.DefaultTimeouts()
	timeouts.Launch = 2500 * time.Millisecond
	s, err := service.Start(t.Context(), service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{DataDir: newDataDir(t)}, Executable: "/nowhere/standin", Timeouts: timeouts,
		Bots: launch.BotSettings{Browser: filepath.Join(t.TempDir(), "no-chromium-here")}, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	const advice = "apt-get install chromium"
	if !strings.Contains(log.String(), advice) {
		t.Errorf("the log at start does not contain %q:\n%s", advice, log.String())
	}
	key, _, err := s.Keys.Issue(t.Context(), "acme", "", job.Live)
	if err != nil {
		t.Fatal(err)
	}
	record := awaitEnd(t, s.Store(), create(t, s.Store(), key))
	if record.Status != job.Failed || record.FailureCode != job.DispatchTimeout || !strings.Contains(record.FailureDetail, advice) {
		t.Errorf("the job is %s, %s: %s", record.Status, record.FailureCode, record.FailureDetail)
	}
	if record.LaunchFailures < 2 {
		t.Errorf("the launch was attempted %d times, want at least 2", record.LaunchFailures)
	}
}

// create creates a job that is due now, as the API does.
func create(t *testing.T, s *store.Store, key account.Key) job.Job {
	t.Helper()
	jobs := lifecycle.New(lifecycle.Settings{Store: s, Now: time.Now})
	created, _, err := jobs.Create(t.Context(), account.Caller{KeyID: key.ID, ConsumerID: key.ConsumerID, Mode: key.Mode}, lifecycle.NewJob{
		ExternalID: "1", MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet,
		DisplayName: job.DefaultDisplayName, Metadata: json.RawMessage(`{}`), AutoLeave: job.DefaultAutoLeave(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// awaitEnd waits until a job has ended.
func awaitEnd(t *testing.T, s *store.Store, j job.Job) job.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		record, err := s.Job(ctx, j.ID)
		if err != nil {
			t.Fatal(err)
		}
		if record.Status.Terminal() {
			return record
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("the job is still %s", record.Status)
		}
	}
}
