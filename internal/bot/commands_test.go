package bot

import (
	"log/slog"
	"slices"
	"testing"

	"standin/internal/bot/meeting"
	"standin/internal/ingest"
)

// TestAcceptEarly: before admission every command is acknowledged, and only
// leave_call is executed.
func TestAcceptEarly(t *testing.T) {
	t.Parallel()
	var acked []string
	c := &commands{log: slog.New(slog.DiscardHandler), ack: func(id string) { acked = append(acked, id) }}
	page := &meetingPage{phase: phaseWaiting}
	for _, command := range []ingest.Command{{ID: "1", Kind: ingest.PauseRecording}, {ID: "2", Kind: ingest.SendChatMessage}} {
		if end := c.accept(t.Context(), command, page, nil); end != nil {
			t.Errorf("%s ends the session with %+v", command.Kind, end)
		}
	}
	end := c.accept(t.Context(), ingest.Command{ID: "3", Kind: ingest.LeaveCall}, page, nil)
	if end == nil || end.reason != reasonCommand || end.retry {
		t.Errorf("leave_call ends the session with %+v", end)
	}
	c.restore([]ingest.Command{{ID: "0"}})
	var deferred []string
	for _, command := range c.deferred {
		deferred = append(deferred, command.ID)
	}
	if !slices.Equal(acked, []string{"1", "2", "3"}) || !slices.Equal(deferred, []string{"0", "1", "2"}) {
		t.Errorf("acknowledged %v, deferred %v", acked, deferred)
	}
}

// TestFindParticipant finds by id, or else by an unambiguous name.
func TestFindParticipant(t *testing.T) {
	t.Parallel()
	participants := []meeting.Participant{{ID: "p1", Name: "Ada Quill"}, {ID: "p2", Name: "Ben Okafor"}, {ID: "p3", Name: "Ben Okafor"}}
	for name, test := range map[string]struct{ id, name, want string }{
		"by id":                    {"p2", "", "p2"},
		"by id, with another name": {"p2", "Ada Quill", "p2"},
		"by name":                  {"", "ada quill", "p1"},
		"by name, unknown id":      {"p9", "Ada Quill", "p1"},
		"by an ambiguous name":     {"", "Ben Okafor", ""},
		"unknown id and name":      {"p9", "Cleo Marsh", ""},
		"neither":                  {"", "", ""},
	} {
		got, err := findParticipant(participants, test.id, test.name)
		if got.ID != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %+v (%v), want %q", name, got, err, test.want)
		}
	}
	if _, err := findParticipant([]meeting.Participant{{ID: ""}}, "", ""); err == nil {
		t.Error("an empty id and name match a participant without both")
	}
}
