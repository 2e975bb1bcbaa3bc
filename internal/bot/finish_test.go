package bot

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/hostpolicy"
	"standin/internal/bot/serviceclient"
	"standin/internal/bot/spool"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/testing/ingesttest"
)

const testJob = "0193a1b2-0000-7000-8000-000000000001"

// service is the ingest surface as a bot sees it.
type service struct{ *ingesttest.Service }

func newService(t *testing.T, attempt int) *service {
	t.Helper()
	return &service{ingesttest.Start(t, testJob, attempt, "token")}
}

// heard are the kinds of the events that came.
func (s *service) heard() []job.Trigger {
	s.Lock()
	defer s.Unlock()
	return s.EventKinds()
}

// last is the data of the last event.
func (s *service) last() ingest.EventData {
	events := s.ReceivedEvents()
	return ingest.ParseEventData(events[len(events)-1].Data)
}

func (s *service) uploaded(name string) bool {
	_, ok := s.Uploaded(name)
	return ok
}

// newTestBot returns a bot of the attempt whose channel talks to the service.
func newTestBot(t *testing.T, s *service, attempt int) *bot {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	b := newBot(Settings{Attempt: attempt, Dir: t.TempDir(), Log: log})
	var err error
	if b.spool, err = spool.Open(filepath.Join(b.Dir, "spool"), spool.Settings{}); err != nil {
		t.Fatal(err)
	}
	b.channel, err = serviceclient.New(serviceclient.Settings{ServiceURL: s.URL(), JobID: testJob, Attempt: attempt, Token: "token", Spool: b.spool, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	b.report = newReport(attempt, "v9", b.spool, b.clock)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var talk sync.WaitGroup
	talk.Go(func() {
		if err := b.channel.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		talk.Wait()
		if err := b.spool.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// record puts a segment into the bot's spool that is no MP4.
func (b *bot) record(t *testing.T) {
	t.Helper()
	if err := b.spool.AppendSegment(0, 0, []byte("no MP4")); err != nil {
		t.Fatal(err)
	}
	b.report.began(0, began)
	b.report.recordedSegment(0, 0)
	b.report.ended(after(10), nil)
}

// deliver is as long as these tests wait for a delivery.
func deliver(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// TestHandInNothing: a visit of which nothing was recorded fails the job, with
// a code for every end.
func TestHandInNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  ending
		want job.FailureCode
	}{
		"not let in":          {failed(job.LobbyTimeout, "Nobody came."), job.LobbyTimeout},
		"told to leave":       {ending{reason: reasonCommand, detail: "told to leave"}, job.MeetingEnded},
		"told to end":         {shutdown(), job.InternalError},
		"no reason was given": {ending{}, job.MeetingEnded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, 0)
			b := newTestBot(t, s, 0)
			if err := b.handIn(deliver(t), test.end); err != nil {
				t.Fatal(err)
			}
			if heard := s.heard(); !slices.Equal(heard, []job.Trigger{job.BotExited}) {
				t.Fatalf("heard: %v", heard)
			}
			if data := s.last(); data.FailureCode != string(test.want) || data.FailureDetail != test.end.detail || data.EndReason != test.end.reason {
				t.Errorf("told: %+v", data)
			}
		})
	}
}

// TestHandInForTheService: where only the service has all that was recorded, the
// bot packs nothing; it leaves once its segments are there.
func TestHandInForTheService(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		attempt int
		reason  string
	}{"a later attempt": {1, reasonHostEnded}, "another has taken over": {0, reasonSuperseded}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, test.attempt)
			b := newTestBot(t, s, test.attempt)
			b.record(t)
			if err := b.handIn(deliver(t), ending{reason: test.reason}); err != nil {
				t.Fatal(err)
			}
			if heard := s.heard(); !slices.Equal(heard, []job.Trigger{job.BotRecordingStopped, job.BotExited}) {
				t.Errorf("heard: %v", heard)
			}
			if !s.uploaded(ingest.SegmentName(0, 0)) || !s.uploaded(ingest.ReportName) {
				t.Errorf("uploaded: %v", s.Uploads)
			}
			if data := s.last(); data.FailureCode != "" || data.EndReason != test.reason {
				t.Errorf("told: %+v", data)
			}
		})
	}
}

// TestHandInWhatCannotBePacked: the service gets the segments and every event
// before the bot ends with its error.
func TestHandInWhatCannotBePacked(t *testing.T) {
	t.Parallel()
	s := newService(t, 0)
	b := newTestBot(t, s, 0)
	b.record(t)
	err := b.handIn(deliver(t), ending{reason: reasonHostEnded})
	if err == nil || !strings.Contains(err.Error(), "put the recording together") {
		t.Errorf("got %v", err)
	}
	want := []job.Trigger{job.BotRecordingStopped, job.BotExited, job.BotPostProcessing}
	if heard := s.heard(); !slices.Equal(heard, want) || !s.uploaded(ingest.SegmentName(0, 0)) {
		t.Errorf("heard %v and got %v", heard, s.Uploads)
	}
}

// TestRunRefused takes a bot from its start to its end with an address that it
// may not open: no browser starts, the service hears why, nothing is left.
func TestRunRefused(t *testing.T) {
	t.Parallel()
	s := newService(t, 0)
	dir := t.TempDir()
	err := Run(deliver(t), Settings{
		JobID: testJob, Token: "token", ServiceURL: s.URL(), MeetingURL: "https://evil.test/abc", Platform: job.Meet,
		AutoLeave: job.DefaultAutoLeave(), Dir: dir, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if data := s.last(); data.FailureCode != string(job.MeetingNotFound) || !strings.Contains(data.FailureDetail, hostpolicy.AllowedHostsSetting) {
		t.Errorf("told: %+v", data)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v (%v)", left, err)
	}
}

// TestToldToEnd: a bot that is told to end before it has begun still tells so.
func TestToldToEnd(t *testing.T) {
	t.Parallel()
	s := newService(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Run(ctx, Settings{
		JobID: testJob, Token: "token", ServiceURL: s.URL(), MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet,
		BrowserPath: "/bin/true", AutoLeave: job.DefaultAutoLeave(), Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if data := s.last(); data.FailureCode != string(job.InternalError) || data.EndReason != reasonShutdown {
		t.Errorf("told: %+v", data)
	}
}

// TestTellOnce: what comes once in an attempt is told once, whatever comes
// back.
func TestTellOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, 0)
	b := newTestBot(t, s, 0)
	for range 2 {
		for _, kind := range []job.Trigger{job.BotJoined, job.BotEnteringLobby, job.BotInMeeting, job.BotRecordingStarted, job.BotRecordingStopped} {
			if err := b.tell(kind, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := b.flush(deliver(t)); err != nil {
		t.Fatal(err)
	}
	want := []job.Trigger{
		job.BotJoined, job.BotEnteringLobby, job.BotInMeeting, job.BotRecordingStarted, job.BotRecordingStopped, job.BotRecordingStarted,
	}
	if heard := s.heard(); !slices.Equal(heard, want) {
		t.Errorf("heard: %v", heard)
	}
}
