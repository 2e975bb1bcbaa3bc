package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/launch"
	"standin/internal/launch/manual"
	"standin/internal/testing/await"
)

// TestLaunch checks that a due job gets one bot with a complete assignment. The
// target is 200 ms after the insert; the test allows more for a busy machine.
func TestLaunch(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		h.run(t)
		asked := time.Now()
		id := h.create(t, time.Time{})
		<-h.bots.entered
		// Without the notification of the insert the dispatcher would sleep for 5 s.
		if late := time.Since(asked); late > 4*time.Second {
			t.Errorf("the bot was launched %s after the insert", late)
		}
		r := h.untilLaunched(t, id, 0)
		if r.Status != job.Dispatching || r.Attempts != 1 || !r.WakeAt.After(h.clock.Now()) {
			t.Errorf("job %+v", r)
		}
		launches := h.bots.launches(id)
		if len(launches) != 1 {
			t.Fatalf("%d launches", len(launches))
		}
		a := launches[0]
		if a.Token != ingest.Token(signingKey, id.String(), 0) || a.Attempt != 0 || a.ServiceURL != "http://127.0.0.1:1" ||
			a.MeetingURL != "https://meet.google.com/abc-defg-hij" || a.Platform != job.Meet || a.DisplayName != "Standin" ||
			a.AutoLeave != job.DefaultAutoLeave() || !slices.Equal(a.AllowedHosts, []string{"meet.test"}) || a.LoopbackPeers {
			t.Errorf("assignment %+v", a)
		}
	})
}

// TestNoLaunchBeforeJoinAt checks that a job is not launched before its joinAt.
func TestNoLaunchBeforeJoinAt(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.run(t)
	joinAt := h.clock.Now().Add(time.Hour)
	later := h.create(t, joinAt)
	h.clock.Set(joinAt.Add(-time.Millisecond))
	h.launched(t) // the dispatcher has checked both jobs
	if r := h.Record(t, later); r.Status != job.Scheduled || r.Attempts != 0 {
		t.Fatalf("before joinAt: %+v", r)
	}
	h.at(joinAt)
	h.untilLaunched(t, later, 0)
}

// TestFailedLaunchIsRetried checks that launches are retried with growing delays
// while the job is dispatching, and that the failure detail contains the
// launcher's error.
func TestFailedLaunchIsRetried(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.bots.fail(errors.New("no Chromium here: install it"))
	h.run(t)
	began := h.clock.Now()
	id := h.create(t, time.Time{})
	var delays []time.Duration
	for tries := 1; ; tries++ {
		r := h.until(t, id, fmt.Sprintf("tried %d times", tries), func(r job.Record) bool {
			return r.LaunchFailures == tries || r.Status == job.Failed
		})
		if r.Status == job.Failed {
			break
		}
		if r.Status != job.Dispatching || r.Attempts != 1 || r.LaunchError != "no Chromium here: install it" {
			t.Fatalf("after %d attempts to launch: %+v", tries, r)
		}
		delays = append(delays, r.WakeAt.Sub(h.clock.Now())/time.Second)
		h.at(r.WakeAt)
	}
	if len(delays) < 5 || !slices.Equal(delays[:5], []time.Duration{1, 2, 4, 8, 16}) {
		t.Errorf("delays of %d seconds", delays)
	}
	r := h.untilCleanedUp(t, id)
	if r.FailureCode != job.DispatchTimeout || !strings.Contains(r.FailureDetail, "no Chromium here: install it") {
		t.Errorf("failed with %s: %s", r.FailureCode, r.FailureDetail)
	}
	if after := r.StatusSince.Sub(began); after < dispatch.DefaultTimeouts().Launch {
		t.Errorf("failed after %s", after)
	}
	if entries := h.Data(t, id, lifecycle.LaunchFailed); len(entries) == 0 ||
		entries[0] != `{"detail":"no Chromium here: install it","node":""}` {
		t.Errorf("failed launches on the timeline: %s", entries)
	}
	if want := []string{"dispatching", "failed", "job.failed", "job.failed"}; !slices.Equal(h.eventNames(t, id), want) {
		t.Errorf("events: %v, want %v", h.eventNames(t, id), want)
	}
}

// TestLostBotIsReplaced checks that a bot without heartbeats is stopped before the
// next one is launched with its own token, and that the job fails after the last
// attempt.
func TestLostBotIsReplaced(t *testing.T) {
	t.Parallel()
	timeouts := dispatch.DefaultTimeouts()
	timeouts.MaxAttempts = 2
	h := newHarness(t)
	h.reportStops(t)
	h.run(t, func(s *dispatch.Settings) { s.Timeouts = timeouts })
	id := h.launched(t)
	h.sendEvent(t, id, 0, job.BotInMeeting, "")
	h.beat(t, id, ingest.Stats{})
	h.at(h.clock.Now().Add(timeouts.Heartbeat))
	r := h.untilLaunched(t, id, 1)
	if r.Status != job.Dispatching || r.Attempts != 2 || !r.HeartbeatAt.IsZero() {
		t.Errorf("next attempt: %+v", r)
	}
	launches := h.bots.launches(id)
	if len(launches) != 2 || launches[1].Attempt != 1 || launches[1].Token != ingest.Token(signingKey, id.String(), 1) ||
		launches[1].Token == launches[0].Token {
		t.Fatalf("launches: %+v", launches)
	}

	h.bots.mu.Lock()
	h.bots.stopped = nil
	h.bots.mu.Unlock()
	h.at(h.clock.Now().Add(timeouts.FirstHeartbeat)) // no heartbeat at all
	if r := h.untilCleanedUp(t, id); r.Status != job.Failed || r.FailureCode != job.DispatchTimeout {
		t.Errorf("final state: %+v", r.State)
	}
	if done := h.bots.done(); !slices.Equal(done[:4], []string{"launch 0", "stop 0", "launch 1", "stop 1"}) {
		t.Errorf("done: %v", done)
	}
}

// TestHeartbeatsKeepBot checks that an event of the bot restarts its heartbeat
// timeout.
func TestHeartbeatsKeepBot(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	timeouts := dispatch.DefaultTimeouts()
	h.run(t)
	id := h.create(t, time.Time{})
	started := h.untilLaunched(t, id, 0)
	h.clock.Set(started.LaunchedAt.Add(timeouts.FirstHeartbeat - time.Second))
	h.sendEvent(t, id, 0, job.BotJoined, "")
	h.at(started.LaunchedAt.Add(timeouts.FirstHeartbeat + 20*time.Second))
	r := h.until(t, id, "rescheduled", func(r job.Record) bool { return r.WakeAt.After(h.clock.Now()) })
	if r.Attempts != 1 || !r.WakeAt.Equal(r.HeartbeatAt.Add(timeouts.Heartbeat)) {
		t.Errorf("attempt %d, next wake %s after the last heartbeat", r.Attempt, r.WakeAt.Sub(r.HeartbeatAt))
	}
}

// TestSalvage checks that the uploads of a lost bot become a partial recording.
func TestSalvage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d, _ := h.run(t, func(s *dispatch.Settings) { s.Timeouts.MaxAttempts = 1 })
	id := h.launched(t)
	h.sendEvent(t, id, 0, job.BotRecordingStarted, "")
	h.Upload(t, id, 0, ingest.SegmentName(0, 0), recorded(t))
	h.lose(t, d, id, 0)
	r := h.untilCleanedUp(t, id)
	if r.Status != job.Completed || r.ManifestURI != h.ManifestURI(id) {
		t.Fatalf("job %+v", r.State)
	}
	want := []string{"dispatching", "recording_started", "finalizing", "post_processing", "media_uploading", "completed", "job.finalized"}
	if reported := h.eventNames(t, id); !slices.Equal(reported, want) {
		t.Errorf("events: %v, want %v", reported, want)
	}
	m := h.manifest(t, id)
	if !m.Partial || m.End.Reason != "bot_lost" || len(m.Media) != 1 || m.Media[0].DurationMs < 900 {
		t.Errorf("manifest %+v", m)
	}
	if left := h.uploads(t, id); left != 0 {
		t.Errorf("%d uploads remain", left)
	}
	stored := h.Data(t, id, lifecycle.MediaStored)
	last := fmt.Sprintf(`{"bytesDone":%[1]d,"bytesTotal":%[1]d}`, m.Media[0].Bytes)
	if len(stored) < 2 || len(stored) > 12 || stored[len(stored)-1] != last {
		t.Errorf("stored: %v, want at most twelve up to %s", stored, last)
	}
}

// TestSalvageWithoutMedia checks that a job fails, or stays cancelled, without a
// manifest if the uploads of a lost bot contain no media.
func TestSalvageWithoutMedia(t *testing.T) {
	t.Parallel()
	recorded(t) // salvage needs ffmpeg
	h := newHarness(t)
	d, _ := h.run(t, func(s *dispatch.Settings) { s.Timeouts.MaxAttempts = 1 })
	for _, cancelled := range []bool{false, true} {
		id := h.launched(t)
		h.sendEvent(t, id, 0, job.BotRecordingStarted, "")
		h.Upload(t, id, 0, ingest.SegmentName(0, 0), []byte("no MP4"))
		want := job.Failed
		if cancelled {
			want = job.Cancelled
			h.cancel(t, id)
		}
		h.lose(t, d, id, 0)
		if r := h.untilCleanedUp(t, id); r.Status != want || r.ManifestURI != "" || !cancelled && r.FailureCode != job.NetworkLoss {
			t.Errorf("cancelled %v: %+v", cancelled, r.State)
		}
	}
}

// salvager is a Finalizer whose salvages end as a test wants.
type salvager struct {
	*dispatch.Finalizer
	salvage func(ctx context.Context) error
}

func (s salvager) Salvage(ctx context.Context, _ job.Record, _ string, _ func(dispatch.Progress) error) error {
	return s.salvage(ctx)
}

// TestFailedSalvageIsRetried checks that a failed salvage is retried a limited
// number of times and that the uploads are kept.
func TestFailedSalvageIsRetried(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d, _ := h.run(t, func(s *dispatch.Settings) {
		s.Timeouts.MaxAttempts = 1
		s.Recordings = salvager{h.Finalizer, func(context.Context) error { return errors.New("the disk is full") }}
	})
	id := h.launched(t)
	h.sendEvent(t, id, 0, job.BotRecordingStarted, "")
	h.Upload(t, id, 0, ingest.SegmentName(0, 0), []byte("media"))
	h.lose(t, d, id, 0)
	var first, again job.Record
	await.Until(t, "it is salvaged", func() bool { first = h.Record(t, id); return first.Status == job.Finalizing })
	h.at(first.WakeAt) // the lease has expired
	await.Until(t, "it is salvaged again", func() bool { again = h.Record(t, id); return again.WakeAt.After(first.WakeAt) })
	h.at(again.StatusSince.Add(2 * dispatch.DefaultTimeouts().Teardown))
	r := h.untilCleanedUp(t, id)
	if r.Status != job.Failed || r.FailureCode != job.InternalError || strings.Contains(r.FailureDetail, "disk") {
		t.Errorf("final state: %+v", r.State)
	}
	if left := h.uploads(t, id); left != 1 {
		t.Errorf("%d uploads remain", left)
	}
}

// TestStuckSalvagesEnd checks that salvages without progress end, so that more of them
// than run at once hold no job, and that the uploads are kept.
func TestStuckSalvagesEnd(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d, _ := h.run(t, func(s *dispatch.Settings) {
		s.Timeouts.MaxAttempts, s.Timeouts.Teardown = 1, 20*time.Millisecond
		s.Recordings = salvager{h.Finalizer, func(ctx context.Context) error {
			<-ctx.Done() // as with a store that answers a byte at a time
			return ctx.Err()
		}}
	})
	var jobs []uuid.UUID
	for range 6 {
		id := h.launched(t)
		h.sendEvent(t, id, 0, job.BotRecordingStarted, "")
		h.Upload(t, id, 0, ingest.SegmentName(0, 0), []byte("media"))
		h.bots.setState(id, 0, launch.Gone)
		jobs = append(jobs, id)
	}
	for _, id := range jobs {
		d.BotStateChanged(t.Context(), id)
	}
	for _, id := range jobs {
		if r := h.untilCleanedUp(t, id); r.Status != job.Failed || r.FailureCode != job.InternalError || h.uploads(t, id) != 1 {
			t.Errorf("%s with %s (%s), %d uploads", r.Status, r.FailureCode, r.FailureDetail, h.uploads(t, id))
		}
	}
}

// TestCancelledJob checks that the bot of a cancelled job gets time to leave and
// that its uploads are then deleted.
func TestCancelledJob(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d, _ := h.run(t)
	id := h.launched(t)
	h.sendEvent(t, id, 0, job.BotEnteringLobby, "")
	h.Upload(t, id, 0, ingest.ReportName, []byte(`{}`))
	h.cancel(t, id)
	h.at(h.Record(t, id).WakeAt)
	h.until(t, id, "rescheduled", func(r job.Record) bool { return r.WakeAt.After(h.clock.Now()) })
	if done := h.bots.done(); !slices.Equal(done, []string{"launch 0"}) {
		t.Errorf("the bot was stopped too early: %v", done)
	}
	h.lose(t, d, id, 0)
	if r := h.untilCleanedUp(t, id); r.Status != job.Cancelled || r.Attempts != 1 {
		t.Errorf("job %+v", r.State)
	}
	if left := h.uploads(t, id); left != 0 {
		t.Errorf("%d uploads remain", left)
	}
}

// TestCompletedJob checks that a bot that does not exit after its job completes is
// stopped.
func TestCompletedJob(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d, _ := h.run(t)
	for _, stays := range []bool{false, true} {
		id := h.launched(t)
		h.sendEvent(t, id, 0, job.ManifestFinalized, "")
		r := h.until(t, id, "monitored", func(r job.Record) bool { return r.WakeAt.After(h.clock.Now()) })
		if stays {
			h.at(r.WakeAt)
		} else {
			h.lose(t, d, id, 0)
		}
		h.untilCleanedUp(t, id)
		if state := h.bots.State(id, 0); state != launch.Gone {
			t.Errorf("the bot is %s (keeps running %v)", state, stays)
		}
	}
}

// TestJobOfCrashedDispatcherIsClaimed crashes a dispatcher in the middle of a
// launch. Its own node continues the attempt when it restarts. Another node waits
// until the lease has expired and the node is gone, and then starts a new attempt,
// because the first bot may still start.
func TestJobOfCrashedDispatcherIsClaimed(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(*dispatch.Settings){
		"alone":         func(s *dispatch.Settings) { s.SingleNode, s.Node.ID = true, "a" },
		"the same node": func(s *dispatch.Settings) { s.Node.ID = "a" },
		"another node":  func(s *dispatch.Settings) { s.Node.ID = "b" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			release := h.bots.block()
			_, stop := h.run(t, func(s *dispatch.Settings) { s.Node.ID = "a" })
			id := h.create(t, time.Time{})
			<-h.bots.entered
			stop()
			left := h.Record(t, id)
			if left.Lease == "" || left.Node != "a" || !left.LaunchedAt.IsZero() || left.Status != job.Dispatching {
				t.Fatalf("after the crash: %+v", left)
			}
			close(release)
			h.run(t, again)
			attempt := 0
			if name == "another node" {
				attempt = 1
				h.launched(t)
				if launches := h.bots.launches(id); len(launches) != 0 {
					t.Error("the job was claimed before its lease expired")
				}
				h.at(left.WakeAt)
			}
			r := h.untilLaunched(t, id, attempt)
			if launches := h.bots.launches(id); r.Attempts != attempt+1 || len(launches) != 1 || launches[0].Attempt != attempt {
				t.Errorf("job %+v after %+v", r, launches)
			}
		})
	}
}

// TestLostLease checks that a dispatcher whose lease expired in the middle of a
// step does not change the job. It stops the bot that it launched only when another
// attempt has made the bot's token void: with a valid token, the bot would report
// that as the end of the job.
func TestLostLease(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(context.Context, *lifecycle.Change)
		want   []string
	}{
		"same attempt":    {func(context.Context, *lifecycle.Change) {}, []string{"launch 0"}},
		"another attempt": {func(ctx context.Context, c *lifecycle.Change) { c.Attempt++ }, []string{"launch 0", "stop 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.reportStops(t)
			release := h.bots.block()
			log := &errorLog{text: `"action":"start attempt"`}
			h.run(t, func(s *dispatch.Settings) { s.Log = slog.New(slog.NewJSONHandler(log, nil)) })
			id := h.create(t, time.Time{})
			<-h.bots.entered
			taken, err := h.Change(t.Context(), id, func(ctx context.Context, c *lifecycle.Change) error {
				c.Lease, c.WakeAt = "another dispatcher's", c.Now.Add(time.Hour)
				test.change(ctx, c)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			close(release)
			log.until(t, 1) // the step has ended
			if r := h.Record(t, id); r.State != taken.State || r.Lease != taken.Lease || !r.LaunchedAt.IsZero() || !r.WakeAt.Equal(taken.WakeAt) {
				t.Errorf("job %+v", r)
			}
			if done := h.bots.done(); !slices.Equal(done, test.want) {
				t.Errorf("bots %v, want %v", done, test.want)
			}
		})
	}
}

// TestManualBot checks that a bot of the manual launcher may join before joinAt and
// is then monitored like any other bot.
func TestManualBot(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	timeouts := dispatch.DefaultTimeouts().Manual()
	h.run(t, func(s *dispatch.Settings) { s.Launcher, s.Timeouts = manual.Launcher{}, timeouts })
	id := h.create(t, h.clock.Now().Add(time.Hour))
	h.sendEvent(t, id, 0, job.BotRecordingStarted, "")
	h.at(h.Record(t, id).WakeAt)
	r := h.until(t, id, "monitored", func(r job.Record) bool { return r.WakeAt.After(h.clock.Now()) })
	if r.Status != job.RecordingStarted || !r.WakeAt.Equal(r.HeartbeatAt.Add(timeouts.Heartbeat)) {
		t.Errorf("job %+v", r)
	}
}
