package lifecycle_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/lifecycle"
)

// clockwork is the world's service with another clock, and with recordings to
// delete.
func (w *world) clockwork(now func() time.Time) *lifecycle.Service {
	return lifecycle.New(lifecycle.Settings{
		Store: w.store, Recordings: w.storage, BaseURL: baseURL, Now: now,
		WakeJobs: func() { w.woken.Add(1) }, WakeHooks: func() { w.sent.Add(1) },
	})
}

// put puts a job into a state, from wherever it is.
func (w *world) put(t *testing.T, id uuid.UUID, status job.Status) {
	t.Helper()
	if _, err := w.Change(t.Context(), id, func(c *lifecycle.Change) error {
		c.Status = status
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// strangers are callers to whom the world's jobs do not belong.
func (w *world) strangers(t *testing.T) map[string]account.Caller {
	t.Helper()
	testKey := w.caller
	testKey.Mode = job.Test
	return map[string]account.Caller{"another consumer": w.newCaller(t), "a test key": testKey}
}

// verb is a control verb with what its bot must get.
type verb struct {
	kind ingest.CommandKind
	args string
	call func(*lifecycle.Service, context.Context, account.Caller, uuid.UUID) (uuid.UUID, error)
}

func verbs() []verb {
	return []verb{
		{ingest.RequestRecordingPermission, ``, (*lifecycle.Service).RequestRecordingPermission},
		{ingest.PauseRecording, ``, (*lifecycle.Service).PauseRecording},
		{ingest.ResumeRecording, ``, (*lifecycle.Service).ResumeRecording},
		{ingest.StopRecording, ``, (*lifecycle.Service).StopRecording},
		{ingest.LeaveCall, ``, (*lifecycle.Service).LeaveCall},
		{ingest.SendChatMessage, `{"text":"hello\u0000 there"}`, func(s *lifecycle.Service, ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error) {
			return s.SendChatMessage(ctx, caller, id, "hello\x00 there")
		}},
		{ingest.PinParticipant, `{"participantId":"p-7"}`, func(s *lifecycle.Service, ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error) {
			return s.PinParticipant(ctx, caller, id, "p-7")
		}},
	}
}

// TestVerbs queues a command in every state but the ends and teardown, and for
// nobody but the job's consumer.
func TestVerbs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		strangers := w.strangers(t)
		for _, verb := range verbs() {
			id := w.newJob(t)
			for _, status := range job.Statuses() {
				w.put(t, id, status)
				for who, stranger := range strangers {
					if _, err := verb.call(w.Service, t.Context(), stranger, id); !job.ErrorIs(err, job.NotFound) {
						t.Errorf("%s of %s, job %s: %v", verb.kind, who, status, err)
					}
				}
				command, err := verb.call(w.Service, t.Context(), w.caller, id)
				if status.Terminal() || status.Teardown() {
					if !job.ErrorIs(err, job.InvalidState) {
						t.Errorf("%s, job %s: %v", verb.kind, status, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s, job %s: %v", verb.kind, status, err)
					continue
				}
				waiting := beat(t, w.Service, id, 0).Commands
				if len(waiting) != 1 || waiting[0].ID != command.String() || waiting[0].Kind != verb.kind || string(waiting[0].Args) != verb.args {
					t.Errorf("%s, job %s: command %s, waiting %+v", verb.kind, status, command, waiting)
				}
				beat(t, w.Service, id, 0, command.String())
			}
			if _, err := verb.call(w.Service, t.Context(), w.caller, uuid.New()); !job.ErrorIs(err, job.NotFound) {
				t.Errorf("%s of an unknown job: %v", verb.kind, err)
			}
		}
	})
}

// TestCommandIsOnTheTimeline with its id and kind, not with its content.
func TestCommandIsOnTheTimeline(t *testing.T) {
	t.Parallel()
	w := newSQLiteWorld(t)
	id := w.newJob(t)
	command, err := w.SendChatMessage(t.Context(), w.caller, id, "secret")
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := w.Timeline(t.Context(), w.caller, id, lifecycle.Page{})
	if err != nil || len(entries) != 1 {
		t.Fatalf("%+v, %v", entries, err)
	}
	e := entries[0]
	if e.Kind != lifecycle.CommandQueued || e.Source != job.SourceService || !e.Applied || e.From != job.Scheduled || e.To != job.Scheduled ||
		string(e.Data) != `{"command":"send_chat_message","commandId":"`+command.String()+`"}` {
		t.Errorf("on the timeline: %+v with %s", e, e.Data)
	}
	w.checkHistory(t, id)
}

// TestPermissionIsAskedOnce: while a request is not acknowledged, there is one,
// whoever asks at the same time.
func TestPermissionIsAskedOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		id := w.newJob(t)
		first, err := w.RequestRecordingPermission(t.Context(), w.caller, id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.PauseRecording(t.Context(), w.caller, id); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				again, err := w.RequestRecordingPermission(t.Context(), w.caller, id)
				if err != nil || again != first {
					t.Errorf("asked again: %s, %v, want %s", again, err, first)
				}
			})
		}
		group.Wait()
		if waiting := beat(t, w.Service, id, 0, first.String()).Commands; len(waiting) != 1 || waiting[0].Kind != ingest.PauseRecording {
			t.Errorf("after the acknowledgement: %+v", waiting)
		}
		second, err := w.RequestRecordingPermission(t.Context(), w.caller, id)
		if err != nil || second == first {
			t.Errorf("asked after the acknowledgement: %s, %v", second, err)
		}
	})
}

// TestVerbReachesAHeldHeartbeat at once.
func TestVerbReachesAHeldHeartbeat(t *testing.T) {
	t.Parallel()
	w := newSQLiteWorld(t)
	id := w.newJob(t)
	w.begin(t, id)
	answers := make(chan ingest.HeartbeatResponse, 1)
	go func() {
		answer, err := w.Heartbeat(t.Context(), ingest.Heartbeat{JobID: id.String()}, time.Minute)
		if err != nil {
			t.Error(err)
		}
		answers <- answer
	}()
	w.untilHeard(t, id)
	queued := time.Now()
	command, err := w.LeaveCall(t.Context(), w.caller, id)
	if err != nil {
		t.Fatal(err)
	}
	if answer := <-answers; len(answer.Commands) != 1 || answer.Commands[0].ID != command.String() {
		t.Errorf("answered %+v", answer)
	}
	if late := time.Since(queued); late > time.Second { // the service aims at 200 ms; the machine may be busy
		t.Errorf("the command took %s", late)
	}
}

// TestCommandTexts are held to their bounds.
func TestCommandTexts(t *testing.T) {
	t.Parallel()
	w := newSQLiteWorld(t)
	id := w.newJob(t)
	for text, ok := range map[string]bool{
		"": false, " \n": false, "x": true,
		strings.Repeat("é", lifecycle.MaxChatText): true, strings.Repeat("é", lifecycle.MaxChatText+1): false,
	} {
		_, err := w.SendChatMessage(t.Context(), w.caller, id, text)
		if ok && err != nil || !ok && !job.ErrorIs(err, job.InvalidInput) {
			t.Errorf("a chat message of %d bytes: %v", len(text), err)
		}
	}
	for participant, ok := range map[string]bool{
		"": false, "spaces/x/devices/1": true, strings.Repeat("x", lifecycle.MaxParticipantID+1): false,
	} {
		_, err := w.PinParticipant(t.Context(), w.caller, id, participant)
		if ok && err != nil || !ok && !job.ErrorIs(err, job.InvalidInput) {
			t.Errorf("participant %.40q: %v", participant, err)
		}
		if own := asJobError(err); err != nil && (len(own.Path) != 1 || own.Path[0] != "participantId") {
			t.Errorf("participant %.40q: the field at fault is %v", participant, own.Path)
		}
	}
}

// TestConsentInTheManifest: what was asked for by a consumer and answered by a
// host is gathered from what the service keeps.
func TestConsentInTheManifest(t *testing.T) {
	t.Parallel()
	w := newSQLiteWorld(t)
	id := w.newJob(t)
	w.begin(t, id)
	command, err := w.RequestRecordingPermission(t.Context(), w.caller, id)
	if err != nil {
		t.Fatal(err)
	}
	w.walk(t, id, job.BotJoined, job.BotInMeeting, job.BotPermissionRequest)
	w.take(t, event(id, 0, 3, job.BotPermissionResponse, `{"granted":false,"outcome":"timeout"}`))
	kept, err := w.store.CommandsOfKind(t.Context(), id, ingest.RequestRecordingPermission)
	if err != nil || len(kept) != 1 || kept[0].ID != command {
		t.Errorf("kept %+v, %v", kept, err)
	}
	told := only(w.outbox(t, id), "bot.recording_permission_response")
	if len(told) != 1 || told[0].Granted == nil || *told[0].Granted || told[0].Detail == nil || *told[0].Detail != "timeout" {
		encoded, _ := json.Marshal(told)
		t.Errorf("told %s", encoded)
	}
}
