package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/replica"
	"standin/internal/testing/testbrowser"
)

// TestCommandsOfKilledBot kills a bot that has received commands and waits in the lobby,
// where it cannot execute them. The next attempt executes each of them, once. The second
// command is sent so that the bot has had a heartbeat to acknowledge the first one.
func TestCommandsOfKilledBot(t *testing.T) {
	t.Parallel()
	h := newHarnessOf(t, smallPicture, "STANDIN_BROWSER="+testbrowser.ForPages(t))
	var err error
	if h.meeting, err = h.replica.Open(replica.Settings{Participants: []replica.Participant{{Name: author, CameraOff: true}}}); err != nil {
		t.Fatal(err)
	}
	id := h.create(map[string]any{
		"externalId": "e2e", "meetingUrl": h.meeting.URL(), "recording": map[string]any{"mode": "none"},
		"webhooks": map[string]string{"onStatusChange": h.hooks.url},
	})
	h.hooks.awaitStatus(t, job.EnteringLobby)
	messages := []string{"Sent in the lobby.", "Sent after the first one was received.", "Sent in the meeting."}
	commands := make([]string, len(messages))
	for i, message := range messages[:2] {
		commands[i] = h.sendChat(id, message)
		h.awaitLogged(id, commands[i])
	}
	if err := syscall.Kill(h.bot(id, 0), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.hooks.awaitStatusAfter(t, job.EnteringLobby, 3) // 3 is the event of the first lobby
	h.meeting.Admit()
	h.hooks.awaitStatus(t, job.InMeeting)
	commands[2] = h.sendChat(id, messages[2])
	executed := h.awaitExecuted(id, commands[2])
	var sent []string
	for _, event := range h.meeting.Events() {
		if event.Kind == replica.EventChat {
			sent = append(sent, event.Text)
		}
	}
	if !slices.Equal(sent, messages) {
		t.Errorf("the bots sent %q, want %q", sent, messages)
	}
	if !slices.Equal(executed, commands) {
		t.Errorf("the bots executed the commands %v, want %v", executed, commands)
	}
}

// sendChat sends a chat message and returns the ID of the command.
func (h *harness) sendChat(id, message string) (command string) {
	h.Helper()
	var queued struct{ CommandID string }
	h.call(http.MethodPost, "/api/v1/jobs/"+id+"/send-chat-message", map[string]string{"text": message}, &queued)
	return queued.CommandID
}

// awaitLogged waits until the bot of the first attempt has logged that it received a command.
func (h *harness) awaitLogged(id, command string) {
	h.Helper()
	h.poll("the bot to receive command "+command, func() bool {
		text, _ := os.ReadFile(filepath.Join(h.dir, "bots", id+"-0", "bot.log"))
		return strings.Contains(string(text), command)
	})
}

// awaitExecuted waits until a command was executed, and returns the IDs of all commands that
// were, in order.
func (h *harness) awaitExecuted(id, command string) (executed []string) {
	h.Helper()
	h.poll("the execution of command "+command, func() bool {
		var timeline struct {
			Entries []struct {
				Kind job.Trigger
				Data struct{ CommandID string }
			}
		}
		h.call(http.MethodGet, "/api/v1/jobs/"+id+"/timeline", nil, &timeline)
		executed = nil
		for _, entry := range timeline.Entries {
			if entry.Kind == lifecycle.CommandDone {
				executed = append(executed, entry.Data.CommandID)
			}
		}
		return slices.Contains(executed, command)
	})
	return executed
}

// poll waits until a condition is true.
func (h *harness) poll(what string, condition func() bool) {
	h.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(awaitTimeout); !condition(); {
		select {
		case <-ticker.C:
		case <-deadline:
			h.Fatalf("timed out waiting for %s", what)
		}
	}
}
