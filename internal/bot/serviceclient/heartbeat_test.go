package serviceclient_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/serviceclient"
	"standin/internal/jobs/job"
	"standin/internal/operation/host"
	"standin/internal/testing/ingesttest"
)

func TestCommandIsReceivedOnceAndAcknowledgedAtOnce(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := startBot(t, s, t.TempDir())
	s.Await("a heartbeat is held", func() bool { return s.RequestCount("wait=25") > 0 && s.HeartbeatsInFlight == 1 })

	s.command("c1", ingest.LeaveCall) // ends the wait
	if got := b.command(); got.ID != "c1" || got.Kind != ingest.LeaveCall {
		t.Fatalf("got command %+v", got)
	}
	s.Await("a heartbeat is held while the bot executes the command", func() bool {
		return s.HeartbeatsInFlight == 1 && len(s.Executing) == 1
	})
	var before int
	s.Set(func() { before = s.Heartbeats })
	for range 20 { // twenty round trips later
		b.emit(job.BotRecordingStopped) // its response repeats the command
		b.flush()
	}
	s.Set(func() {
		if s.Heartbeats != before || s.HeartbeatsInFlight != 1 {
			t.Errorf("%d heartbeats while the bot executes a command", s.Heartbeats-before)
		}
	})
	s.command("c3", ingest.StopOutput) // does not wait for the end of the first one
	if got := b.command(); got.ID != "c3" {
		t.Fatalf("beside c1 the bot received %+v, want c3", got)
	}
	b.client.Ack("c3", "")
	s.Await("the acknowledgment arrives", func() bool { return slices.Equal(s.Acked, []string{"c3"}) })
	b.client.Ack("c1", "")
	s.Await("the acknowledgment arrives", func() bool { return slices.Equal(s.Acked, []string{"c3", "c1"}) })

	s.command("c2", ingest.SendChatMessage)
	if got := b.command(); got.ID != "c2" {
		t.Fatalf("after c1 the bot received %+v, want c2", got)
	}
	b.client.Ack("c2", "")
	s.Await("the second acknowledgment arrives", func() bool { return slices.Contains(s.Acked, "c2") })
	s.Await("the next heartbeat is held again", func() bool {
		return s.HeartbeatsInFlight == 1 && strings.Contains(s.Requests[len(s.Requests)-1], "wait=25")
	})
	s.Lock()
	defer s.Unlock()
	if !slices.Equal(s.Acked, []string{"c3", "c1", "c2"}) {
		t.Errorf("acknowledged %v, want each once", s.Acked)
	}
}

func TestAcknowledgmentIsRepeatedUntilConfirmed(t *testing.T) {
	t.Parallel()
	s, dir := startService(t), t.TempDir()
	s.Set(func() { s.NextSeconds = 1 })
	b := startBot(t, s, dir)
	s.command("c1", ingest.PauseRecording)
	b.command()

	var lost atomic.Int32
	s.Set(func() {
		s.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != ingest.HeartbeatPath || lost.Add(1) > 5 {
				return false
			}
			reset(w)
			return true
		}
	})
	b.client.Ack("c1", "")
	s.Await("the acknowledgment arrives", func() bool { return slices.Contains(s.Acked, "c1") })

	// The service loses the acknowledgment. Neither the same bot nor a restarted
	// one receives the command again, and both repeat the acknowledgment.
	forget := func() {
		s.Set(func() {
			s.Acked = nil
			s.Commands = []ingest.Command{{ID: "c1", Kind: ingest.PauseRecording}}
		})
	}
	forget()
	s.Await("the same bot acknowledges again", func() bool { return slices.Contains(s.Acked, "c1") })
	b.kill()
	b.awaitEnd()
	forget()
	again := startBot(t, s, dir)
	s.Await("the restarted bot acknowledges too", func() bool { return slices.Contains(s.Acked, "c1") })
	s.command("c2", ingest.ResumeRecording)
	if got := again.command(); got.ID != "c2" {
		t.Errorf("after the restart the bot received %+v, want c2", got)
	}
}

func TestHeartbeatIntervalWithoutHolding(t *testing.T) {
	t.Parallel()
	s := startService(t)
	s.Set(func() { s.HoldHeartbeats, s.NextSeconds = false, 3600 })
	b := startBot(t, s, t.TempDir())
	b.client.SetRecordedDuration(90 * time.Second)
	b.client.SetUsage(host.ProcessUsage{Cores: 1.6, Memory: 700 << 20})
	s.Await("two heartbeats", func() bool { return s.Heartbeats == 2 })
	for range 20 { // twenty round trips later
		b.emit(job.BotJoined)
		b.flush()
	}
	s.Lock()
	if s.Heartbeats != 2 {
		t.Errorf("%d heartbeats without a pause, want 2", s.Heartbeats)
	}
	s.Unlock()
	b.record(0, "12345")
	b.flush()
	b.client.Ack("c1", "") // ends the pause
	s.Await("stats with the acknowledgment", func() bool {
		return s.Stats == ingest.Stats{BytesRecorded: 5, BytesUploaded: 5, RecordedMillis: 90_000, CoresUsed: 1.6, MemoryBytes: 700 << 20}
	})
}

func TestRunReturnsWhileHeartbeatIsHeld(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := startBot(t, s, t.TempDir())
	s.Await("a heartbeat is held", func() bool { return s.RequestCount("wait=") > 0 && s.HeartbeatsInFlight == 1 })
	began := time.Now()
	b.kill()
	if err := b.awaitEnd(); err != nil {
		t.Errorf("Run returned %v", err)
	}
	if took := time.Since(began); took > 20*time.Second { // the heartbeat is held for longer
		t.Errorf("Run took %v to end", took)
	}
}

func TestTermination(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(s *service)
		want   serviceclient.Termination // without Detail
	}{
		"event of a stale attempt": {func(s *service) { s.Stale = true },
			serviceclient.Termination{Cause: serviceclient.Stale, Status: job.InMeeting}},
		"failed job": {func(s *service) { s.Status = job.Failed },
			serviceclient.Termination{Cause: serviceclient.Ended, Status: job.Failed}},
		"event after the end": {func(s *service) {
			s.Status = job.Completed
			s.Intercept = only(ingest.EventPath)
		}, serviceclient.Termination{Cause: serviceclient.Ended, Status: job.Completed}},
		"heartbeat after the end": {func(s *service) {
			s.Status = job.Completed
			s.Intercept = only(ingest.HeartbeatPath)
		}, serviceclient.Termination{Cause: serviceclient.Ended, Status: job.Completed}},
		"heartbeat of a stale attempt": {func(s *service) {
			s.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == ingest.HeartbeatPath {
					ingesttest.WriteJSON(w, map[string]any{"ok": true, "status": job.InMeeting, "reason": job.StaleAttempt, "nextSeconds": 10})
				}
				return true
			}
		}, serviceclient.Termination{Cause: serviceclient.Stale, Status: job.InMeeting}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startService(t)
			s.Set(func() { test.change(s) })
			b := startBot(t, s, t.TempDir())
			b.emit(job.BotJoined)
			got := b.awaitTermination()
			got.Detail = ""
			if got != test.want {
				t.Errorf("termination %+v, want %+v", got, test.want)
			}
			s.Set(func() { s.Intercept = nil })
			b.record(0, "data")
			b.flush() // the recording is still delivered
		})
	}
}

// only resets the connection of requests to other paths.
func only(path string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == path {
			return false
		}
		reset(w)
		return true
	}
}

func TestCancelledJobDoesNotTerminate(t *testing.T) {
	t.Parallel()
	s := startService(t)
	s.Set(func() { s.Status = job.Cancelled })
	s.command("leave", ingest.LeaveCall)
	b := startBot(t, s, t.TempDir())
	if got := b.command(); got.Kind != ingest.LeaveCall {
		t.Fatalf("got %+v, want leave_call", got)
	}
	b.client.Ack("leave", "")
	b.emit(job.BotExited)
	b.record(0, "kept")
	b.flush()
	select {
	case <-b.client.Done():
		t.Errorf("terminated with %+v: the bot of a canceled job still delivers its recording", b.client.Termination())
	default:
	}
}

func TestPermanentRefusalEndsRun(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter){
		"unknown token": func(w http.ResponseWriter) { refuse(w, http.StatusUnauthorized, "unauthorized") },
		"not found":     func(w http.ResponseWriter) { refuse(w, http.StatusNotFound, "not_found") },
		"gone":          func(w http.ResponseWriter) { refuse(w, http.StatusGone, "gone") },
		"unknown job": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadRequest)
			ingesttest.WriteJSON(w, map[string]any{
				"error": "invalid_input", "issues": []any{map[string]any{"path": []string{"jobId"}, "code": "not_found"}},
			})
		},
	} {
		for _, path := range []string{ingest.EventPath, ingest.HeartbeatPath, ingest.MediaPath + "/"} {
			t.Run(name+" "+path, func(t *testing.T) {
				t.Parallel()
				s := startService(t)
				s.Set(func() {
					s.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
						if r.URL.Path == path || r.Method == http.MethodPut && path == ingest.MediaPath+"/" {
							answer(w)
						} else {
							reset(w)
						}
						return true
					}
				})
				b := startBot(t, s, t.TempDir())
				b.emit(job.BotJoined)
				b.record(0, "zero")
				if got := b.awaitTermination(); got.Cause != serviceclient.Refused {
					t.Errorf("termination %+v", got)
				}
				var refused *serviceclient.RefusedError
				if err := b.awaitEnd(); !errors.As(err, &refused) {
					t.Errorf("Run returned %v, want a RefusedError", err)
				}
				if err := b.client.Flush(t.Context()); !errors.As(err, &refused) {
					t.Errorf("Flush returned %v, want a RefusedError", err)
				}
				if b.spool.Events.Waiting() != 1 || b.spool.PendingFiles() != 1 {
					t.Error("undelivered data is no longer in the spool")
				}
			})
		}
	}
}

func TestProxyErrorsAreRetried(t *testing.T) {
	t.Parallel()
	for status, body := range map[int]string{
		400: "<html>no backend</html>",
		401: "",
		403: `{"message":"no route matched"}`,
		404: "404 page not found",
		410: `{"message":"gone"}`,
		413: `["too","large"]`,
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			s := startService(t)
			s.Set(func() {
				s.Intercept = func(w http.ResponseWriter, _ *http.Request) bool {
					http.Error(w, body, status)
					return true
				}
			})
			b := startBot(t, s, t.TempDir())
			b.emit(job.BotJoined)
			b.record(0, "zero")
			s.Await("all requests are retried", func() bool {
				return s.RequestCount(ingest.HeartbeatPath) > 3 && s.RequestCount("PUT") > 3 && s.RequestCount("POST "+ingest.EventPath) > 8
			})
			s.Set(func() { s.Intercept = nil })
			b.flush()
			s.Lock()
			defer s.Unlock()
			if len(s.Events) != 1 || len(s.Media) != 1 {
				t.Errorf("%d events and %d files arrived, want 1 and 1", len(s.Events), len(s.Media))
			}
		})
	}
}
