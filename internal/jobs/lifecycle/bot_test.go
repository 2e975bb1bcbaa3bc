package lifecycle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
)

// TestMessagesOfBots checks what each message of a bot does: from the current bot of a job, from
// one that was replaced, after the job has ended, and when the token has expired. A row says the
// code of the error, and what has changed: entries of the timeline, webhooks, waiting commands,
// the time of the heartbeat, texts, and the time at which the dispatcher looks at the job.
func TestMessagesOfBots(t *testing.T) {
	t.Parallel()
	const current, replaced, ended, expired = 0, 1, 2, 3
	refused := func(code job.ErrorCode) string { return string(code) }
	roster := &ingest.Stats{Roster: &ingest.LiveRoster{Participants: []ingest.LiveParticipant{{ID: "p1", Name: "Ada"}}}}
	messages := []struct {
		name string
		want [4]string // current, replaced, ended, expired
		send func(ctx context.Context, s *lifecycle.Service, from ingest.Bot, command string) error
	}{
		{
			"event", [4]string{"entry webhook heartbeat wake", "entry", "entry", refused(job.Unauthorized)},
			func(ctx context.Context, s *lifecycle.Service, from ingest.Bot, _ string) error {
				_, err := s.Ingest(ctx, from, botEvent(from.JobID(), from.Attempt(), 9, job.BotCompetingDetected, `{"detectedBotName":"Rival"}`))
				return err
			},
		},
		{
			"end of the bot", [4]string{"entry webhook heartbeat wake command", "entry", "entry", refused(job.Unauthorized)},
			func(ctx context.Context, s *lifecycle.Service, from ingest.Bot, _ string) error {
				_, err := s.Ingest(ctx, from, botEvent(from.JobID(), from.Attempt(), 9, job.BotExited, `{"failureCode":"internal_error"}`))
				return err
			},
		},
		{
			"heartbeat", [4]string{"heartbeat", "", "heartbeat", refused(job.Unauthorized)},
			func(ctx context.Context, s *lifecycle.Service, from ingest.Bot, _ string) error {
				_, err := s.Heartbeat(ctx, from, ingest.Heartbeat{}, 0)
				return err
			},
		},
		{
			"acknowledgement", [4]string{"entry webhook command heartbeat", "", "heartbeat", refused(job.Unauthorized)},
			func(ctx context.Context, s *lifecycle.Service, from ingest.Bot, command string) error {
				_, err := s.Heartbeat(ctx, from, ingest.Heartbeat{Acked: []string{command}}, 0)
				return err
			},
		},
		{
			"roster", [4]string{"webhook heartbeat", "", "heartbeat", refused(job.Unauthorized)},
			func(ctx context.Context, s *lifecycle.Service, from ingest.Bot, _ string) error {
				_, err := s.Heartbeat(ctx, from, ingest.Heartbeat{Stats: roster}, 0)
				return err
			},
		},
		{
			"chat", [4]string{"webhook text", "", "text", refused(job.Unauthorized)},
			func(ctx context.Context, s *lifecycle.Service, from ingest.Bot, _ string) error {
				_, err := s.IngestTexts(ctx, from, ingest.Texts{Texts: []ingest.Text{{
					ID: "1", Kind: job.ChatText, Text: "Hello", StartedAt: started, EndedAt: started,
				}}})
				return err
			},
		},
		{
			"upload", [4]string{"", "", "", refused(job.Unauthorized)},
			func(ctx context.Context, s *lifecycle.Service, from ingest.Bot, _ string) error {
				_, err := s.AdmitUpload(ctx, from)
				return err
			},
		},
		{
			"sound", [4]string{"", refused(job.InvalidState), refused(job.InvalidState), refused(job.Unauthorized)},
			func(ctx context.Context, s *lifecycle.Service, from ingest.Bot, _ string) error {
				return s.AdmitSound(ctx, from)
			},
		},
		{
			"reading output", [4]string{"", refused(job.InvalidState), refused(job.InvalidState), refused(job.Unauthorized)},
			func(ctx context.Context, s *lifecycle.Service, from ingest.Bot, _ string) error {
				_, _, err := s.AdmitOutput(ctx, from)
				return err
			},
		},
		{
			"picture", [4]string{"", refused(job.InvalidState), refused(job.InvalidState), refused(job.Unauthorized)},
			func(ctx context.Context, s *lifecycle.Service, from ingest.Bot, _ string) error {
				return s.SaveScreenshot(ctx, from, []byte("a picture"))
			},
		},
	}
	onBoth(t, func(t *testing.T, h *harness) {
		h.registerEndpoint(t, h.Caller, "https://hooks.test/all", "*")
		for standing, name := range []string{"current", "replaced", "ended", "expired"} {
			for _, message := range messages {
				t.Run(fmt.Sprintf("%s of a bot that is %s", message.name, name), func(t *testing.T) {
					t.Parallel()
					id := h.begun(t)
					h.walk(t, id, job.BotJoined, job.BotInMeeting, job.BotRecordingStarted)
					s, from := h.Service, ingest.Simulated(id, 0)
					switch standing {
					case replaced:
						h.Update(t, id, func(ctx context.Context, c *lifecycle.Change) error {
							_, err := c.StartAttempt(ctx, "", "", "lost")
							return err
						})
					case ended, expired:
						h.setStatus(t, id, job.Failed)
					}
					if standing == expired {
						s = h.NewService(t, func() time.Time { return time.Now().Add(25 * time.Hour) })
					}
					command := h.queue(t, id, ingest.PauseRecording)
					h.Update(t, id, func(_ context.Context, c *lifecycle.Change) error {
						if standing != ended && standing != expired {
							c.WakeAt = time.Now().Add(time.Hour)
						}
						return nil
					})
					before := h.traces(t, id)
					err := message.send(t.Context(), s, from, command.String())
					after := h.traces(t, id)
					var changed []string
					for _, trace := range []string{"entry", "webhook", "text", "command", "heartbeat", "wake"} {
						if before[trace] != after[trace] {
							changed = append(changed, trace)
						}
					}
					want := strings.Fields(message.want[standing])
					if len(want) == 1 && err != nil && job.ErrorIs(err, job.ErrorCode(want[0])) {
						want, err = nil, nil
					}
					slices.Sort(want)
					slices.Sort(changed)
					if err != nil || !slices.Equal(changed, want) {
						t.Errorf("it changed %v (%v), want %q", changed, err, message.want[standing])
					}
				})
			}
		}
	})
}

// traces returns what messages of a job's bot leave.
func (h *harness) traces(t *testing.T, jobID uuid.UUID) map[string]string {
	t.Helper()
	r := h.Record(t, jobID)
	commands, err := h.Store.PendingCommands(t.Context(), jobID)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := h.Store.Texts(t.Context(), jobID)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(commands)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"entry": fmt.Sprint(len(h.Entries(t, jobID))), "webhook": fmt.Sprint(len(h.outbox(t,
			jobID))), "command": string(encoded), "text": fmt.Sprint(len(texts)),
		"heartbeat": r.HeartbeatAt.String() + string(r.Stats), "wake": r.WakeAt.String(),
	}
}

// TestTalkativeBot checks that a bot that reports something every few seconds does not push the
// time away at which the dispatcher looks at its job.
func TestTalkativeBot(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.begun(t)
	h.walk(t, id, job.BotJoined)
	due := h.Record(t, id).WakeAt
	for n := range 10 {
		later := h.NewService(t, func() time.Time { return time.Now().Add(time.Duration(n+1) * 9 * time.Second) })
		answer, err := later.Ingest(t.Context(), ingest.Simulated(id, 0), botEvent(id, 0, n+1, job.BotCompetingDetected, ""))
		if err != nil || !answer.Applied {
			t.Fatalf("%+v, %v", answer, err)
		}
		if now := h.Record(t, id).WakeAt; now.After(due) {
			t.Fatalf("after %d events the job is due at %s, before at %s", n+1, now, due)
		}
	}
}
