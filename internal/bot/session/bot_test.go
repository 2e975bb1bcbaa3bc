package session

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/browser/network"
	"standin/internal/bot/ingest"
	"standin/internal/bot/recorder"
	"standin/internal/bot/report"
	"standin/internal/bot/serviceclient"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/testing/ingesttest"
)

const testJob = "0193a1b2-0000-7000-8000-000000000001"

// start is when the test meetings start.
var start = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// after returns the time so many seconds into the meeting.
func after(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// newTestSpool returns a spool that is closed when the test ends.
func newTestSpool(t *testing.T) *spool.Spool {
	t.Helper()
	store, err := spool.Open(filepath.Join(t.TempDir(), "spool"), spool.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// newTestReport returns a report with its own spool.
func newTestReport(t *testing.T) *report.Report {
	t.Helper()
	return report.New(0, "v9", false, newTestSpool(t), report.NewClock())
}

// newTestEvents returns events that stay in a spool.
func newTestEvents(t *testing.T) events {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	client, err := serviceclient.New(serviceclient.Settings{
		ServiceURL: "http://127.0.0.1:1", JobID: testJob, Token: "token", Spool: newTestSpool(t), Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	return events{report.NewEmitter(log, client)}
}

// startService returns a fake service for the first attempt.
func startService(t *testing.T) *ingesttest.Service {
	t.Helper()
	return ingesttest.Start(t, testJob, 0, "token")
}

// lastData returns the data of the last event.
func lastData(s *ingesttest.Service) ingest.EventData {
	events := s.ReceivedEvents()
	return ingest.ParseEventData(events[len(events)-1].Data)
}

// TestRecorderSettings: the recorder gets what the configuration of the bot says.
func TestRecorderSettings(t *testing.T) {
	t.Parallel()
	settings := Settings{BotConfig: launch.BotConfig{BotSettings: launch.BotSettings{SpoolMiB: 100, Recording: launch.Recording{
		Mode: job.RecordAudio, Picture: launch.PictureSize{Width: 640, Height: 360}, FrameRate: 10, VideoBitRate: 500_000,
		Output: true,
	}}}}.withDefaults()
	want := recorder.Settings{
		AudioOnly: true, Width: 640, Height: 360, FramesPerSecond: 10, VideoBitsPerSecond: 500_000,
		Voice: true,
	}
	if got := settings.recorder(); !reflect.DeepEqual(got, want) || settings.SpoolLimit != 100<<20 {
		t.Errorf("the recorder's settings are %+v, want %+v; the spool's limit is %d", got, want, settings.SpoolLimit)
	}
}

// newTestSettings returns the settings of a bot on Meet.
func newTestSettings(s *ingesttest.Service, meetingURL, dir string) Settings {
	return Settings{
		BotConfig: launch.BotConfig{Dir: dir, Assignment: launch.Assignment{
			JobID: uuid.MustParse(testJob), Token: "token", ServiceURL: s.URL(), MeetingURL: meetingURL, Platform: job.Meet,
			AutoLeave: job.DefaultAutoLeave(),
		}},
		Log: slog.New(slog.DiscardHandler),
	}
}

// TestRunRefusedAddress: no browser starts, the service receives the reason, and
// the folder is empty.
func TestRunRefusedAddress(t *testing.T) {
	t.Parallel()
	s := startService(t)
	dir := t.TempDir()
	err := Run(t.Context(), newTestSettings(s, "https://evil.test/abc", dir))
	if err != nil {
		t.Fatal(err)
	}
	if data := lastData(s); data.FailureCode != string(job.MeetingNotFound) ||
		!strings.Contains(data.FailureDetail, network.AllowedHostsSetting) {
		t.Errorf("data: %+v", data)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("files: %v (%v)", left, err)
	}
}

// TestRunStopped: a bot that is stopped before it starts reports that, and no failure.
func TestRunStopped(t *testing.T) {
	t.Parallel()
	s := startService(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	settings := newTestSettings(s, "https://meet.google.com/abc-defg-hij", t.TempDir())
	settings.Browser = "/bin/true"
	err := Run(ctx, settings)
	if err != nil {
		t.Fatal(err)
	}
	if data := lastData(s); data.FailureCode != "" || data.EndReason != report.ReasonShutdown {
		t.Errorf("data: %+v", data)
	}
}
