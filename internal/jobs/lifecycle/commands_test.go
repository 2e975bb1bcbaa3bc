package lifecycle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
	"standin/internal/testing/world"
)

// setStatus sets a job's status, whatever its current status.
func (h *harness) setStatus(t *testing.T, id uuid.UUID, status job.Status) {
	t.Helper()
	h.Update(t, id, func(_ context.Context, c *lifecycle.Change) error { c.Status = status; return nil })
}

// otherCallers returns callers that do not own the harness's jobs.
func (h *harness) otherCallers(t *testing.T) map[string]account.Caller {
	t.Helper()
	testKey := h.Caller
	testKey.Mode = job.Test
	return map[string]account.Caller{"another consumer": h.NewCaller(t), "a test key": testKey}
}

// control is a control operation and the command that its bot must get.
type control struct {
	kind ingest.CommandKind
	args string
	call func(*lifecycle.Service, context.Context, account.Caller, uuid.UUID) (uuid.UUID, error)
}

// command calls QueueCommand.
func command(kind ingest.CommandKind) control {
	return control{kind, "", func(s *lifecycle.Service, ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error) {
		return s.QueueCommand(ctx, caller, id, kind, nil)
	}}
}

func controls() []control {
	return []control{
		command(ingest.RequestRecordingPermission), command(ingest.PauseRecording), command(ingest.ResumeRecording),
		command(ingest.StopRecording), command(ingest.LeaveCall),
		{ingest.SendChatMessage, `{"text":"hello there"}`, func(s *lifecycle.Service, ctx context.Context, caller account.Caller,
			id uuid.UUID) (uuid.UUID, error) {
			return s.SendChatMessage(ctx, caller, id, "hello there")
		}},
		{ingest.PinParticipant, `{"participantId":"p-7"}`, func(s *lifecycle.Service, ctx context.Context, caller account.Caller,
			id uuid.UUID) (uuid.UUID, error) {
			return s.PinParticipant(ctx, caller, id, "p-7")
		}},
	}
}

// TestControlsQueueCommands checks that each control operation queues a command,
// except while a job is being torn down or after it ended, or before its bot if it makes
// no sense without one, and only for the job's consumer.
func TestControlsQueueCommands(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	otherCallers := h.otherCallers(t)
	for _, control := range controls() {
		id := h.newJob(t)
		for _, status := range job.Statuses() {
			h.setStatus(t, id, status)
			for who, stranger := range otherCallers {
				if _, err := control.call(h.Service, t.Context(), stranger, id); !job.ErrorIs(err, job.NotFound) {
					t.Errorf("%s of %s, job %s: %v", control.kind, who, status, err)
				}
			}
			command, err := control.call(h.Service, t.Context(), h.Caller, id)
			waits := len(control.args) > 0 || control.kind == ingest.RequestRecordingPermission // for a bot
			if status.Terminal() || status.Teardown() || !status.Dispatched() && !waits {
				if !job.ErrorIs(err, job.InvalidState) {
					t.Errorf("%s, job %s: %v", control.kind, status, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, job %s: %v", control.kind, status, err)
				continue
			}
			waiting := beat(t, h.Service, id, 0).Commands
			if len(waiting) != 1 || waiting[0].ID != command.String() || waiting[0].Kind != control.kind || string(waiting[0].Args) != control.args {
				t.Errorf("%s, job %s: command %s, pending %+v", control.kind, status, command, waiting)
			}
			beat(t, h.Service, id, 0, command.String())
		}
		if _, err := control.call(h.Service, t.Context(), h.Caller, uuid.New()); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("%s of an unknown job: %v", control.kind, err)
		}
	}
}

// TestTimelineOmitsCommandContent checks that a command's timeline entry contains its
// ID and kind, but not its content.
func TestTimelineOmitsCommandContent(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.newJob(t)
	command, err := h.SendChatMessage(t.Context(), h.Caller, id, "secret")
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := h.Timeline(t.Context(), h.Caller, id, lifecycle.Page{})
	if err != nil || len(entries) != 1 {
		t.Fatalf("%+v, %v", entries, err)
	}
	e := entries[0]
	if e.Kind != lifecycle.CommandQueued || e.Source != job.SourceService || !e.Applied || e.From != job.Scheduled || e.To != job.Scheduled ||
		string(e.Data) != `{"command":"send_chat_message","commandId":"`+command.String()+`"}` {
		t.Errorf("timeline entry %+v with %s", e, e.Data)
	}
	h.checkHistory(t, id)
}

// TestPermissionIsRequestedOnce checks that concurrent requests return the same
// command until it is acknowledged.
func TestPermissionIsRequestedOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		id := h.newJob(t)
		first, err := h.QueueCommand(t.Context(), h.Caller, id, ingest.RequestRecordingPermission, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.SendChatMessage(t.Context(), h.Caller, id, "hello"); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				again, err := h.QueueCommand(t.Context(), h.Caller, id, ingest.RequestRecordingPermission, nil)
				if err != nil || again != first {
					t.Errorf("second request: %s, %v, want %s", again, err, first)
				}
			})
		}
		group.Wait()
		if waiting := beat(t, h.Service, id, 0, first.String()).Commands; len(waiting) != 1 || waiting[0].Kind != ingest.SendChatMessage {
			t.Errorf("pending after the acknowledgement: %+v", waiting)
		}
		second, err := h.QueueCommand(t.Context(), h.Caller, id, ingest.RequestRecordingPermission, nil)
		if err != nil || second == first {
			t.Errorf("request after the acknowledgement: %s, %v", second, err)
		}
	})
}

// TestCommandTextsAreBounded checks the limits of chat messages and participant IDs.
func TestCommandTextsAreBounded(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.newJob(t)
	for text, ok := range map[string]bool{
		"": false, " \n": false, "x": true,
		strings.Repeat("é", lifecycle.MaxChatText): true, strings.Repeat("é", lifecycle.MaxChatText+1): false,
	} {
		_, err := h.SendChatMessage(t.Context(), h.Caller, id, text)
		if ok && err != nil || !ok && !job.ErrorIs(err, job.InvalidInput) {
			t.Errorf("a chat message of %d bytes: %v", len(text), err)
		}
	}
	for participant, ok := range map[string]bool{
		"": false, "spaces/x/devices/1": true, strings.Repeat("x", lifecycle.MaxParticipantID+1): false,
	} {
		_, err := h.PinParticipant(t.Context(), h.Caller, id, participant)
		if ok && err != nil || !ok && !job.ErrorIs(err, job.InvalidInput) {
			t.Errorf("participant %.40q: %v", participant, err)
		}
		if own := asJobError(err); err != nil && (len(own.Path) != 1 || own.Path[0] != "participantId") {
			t.Errorf("participant %.40q: error path %v", participant, own.Path)
		}
	}
}

// TestCommandOutcomes checks that every command has one outcome on the timeline and, if
// the consumer has enabled it, one webhook. Its bot reports it, or the end of the job.
func TestCommandOutcomes(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	var enabled bool
	queue := func(id uuid.UUID, kinds ...ingest.CommandKind) (commands []string) {
		for _, kind := range kinds {
			commands = append(commands, h.queue(t, id, kind).String())
		}
		return commands
	}
	check := func(id uuid.UUID, want ...string) {
		t.Helper()
		var got []string
		for _, e := range h.Entries(t, id, lifecycle.CommandDone, lifecycle.CommandFailed) {
			got = append(got, string(e.Kind)+" "+string(e.Data))
		}
		if !slices.Equal(got, want) {
			t.Errorf("outcomes:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		h.checkHistory(t, id)
		var sent []string
		for _, e := range eventsNamed(h.outbox(t, id), webhook.BotCommandOutcome) {
			entry := map[string]string{"command": e.Command, "commandId": e.CommandID}
			if e.Reason != "" {
				entry["reason"] = e.Reason
			}
			data, err := json.Marshal(entry)
			if err != nil || e.URL != world.StatusURL {
				t.Errorf("%+v (%v)", e, err)
			}
			sent = append(sent, "command_"+e.Outcome+" "+string(data))
		}
		if !enabled {
			want = nil
		}
		if !slices.Equal(sent, want) {
			t.Errorf("webhooks:\n%s\nwant:\n%s", strings.Join(sent, "\n"), strings.Join(want, "\n"))
		}
	}
	done := func(kind ingest.CommandKind, command string) string {
		return fmt.Sprintf(`command_done {"command":"%s","commandId":"%s"}`, kind, command)
	}
	failed := func(kind ingest.CommandKind, command, reason string) string {
		return fmt.Sprintf(`command_failed {"command":"%s","commandId":"%s","reason":"%s"}`, kind, command, reason)
	}

	enable := func(to bool) {
		enabled = to
		if err := h.Store.ChangeConsumer(t.Context(), h.Caller.ConsumerID, func(c *account.Consumer) { c.CommandEvent = to }); err != nil {
			t.Fatal(err)
		}
	}

	silent := h.begun(t)
	commands := queue(silent, ingest.PauseRecording)
	beat(t, h.Service, silent, 0, commands[0])
	check(silent, done(ingest.PauseRecording, commands[0]))

	enable(true)
	reported := h.begun(t)
	commands = queue(reported, ingest.SendChatMessage, ingest.PinParticipant)
	for range 2 { // the second heartbeat repeats the first one
		_, err := h.Heartbeat(t.Context(), ingest.Simulated(reported, 0), ingest.Heartbeat{
			Acked: append(commands, uuid.NewString()), Failed: map[string]string{commands[1]: "no such\x00 participant"},
		}, 0)
		if err != nil {
			t.Fatal(err)
		}
	}
	check(reported, done(ingest.SendChatMessage, commands[0]), failed(ingest.PinParticipant, commands[1], "no such participant"))

	ended := h.begun(t)
	commands = queue(ended, ingest.SendChatMessage, ingest.LeaveCall)
	h.ingest(t, botEvent(ended, 0, 0, job.BotExited, `{"failureCode":"meeting_ended"}`))
	check(ended, failed(ingest.SendChatMessage, commands[0], "the job has ended: it is failed"), done(ingest.LeaveCall, commands[1]))

	cancelled := h.begun(t)
	commands = queue(cancelled, ingest.PauseRecording)
	h.cancel(t, cancelled)
	waiting, err := h.Store.PendingCommands(t.Context(), cancelled)
	if err != nil || len(waiting) != 1 || waiting[0].Kind != ingest.LeaveCall {
		t.Fatalf("after the cancellation the bot is sent %v (%v)", waiting, err)
	}
	beat(t, h.Service, cancelled, 0, waiting[0].ID)
	check(cancelled, failed(ingest.PauseRecording, commands[0], "the job has ended: it is cancelled"), done(ingest.LeaveCall, waiting[0].ID))
}
