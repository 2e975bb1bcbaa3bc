package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"standin/internal/bot/browser"
	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/report"
)

// TestAcceptEarly: before admission only leave_call is executed, and no command is
// acknowledged.
func TestAcceptEarly(t *testing.T) {
	t.Parallel()
	c, acked := newTestCommands()
	page := &meetingPage{phase: phaseWaiting}
	for _, command := range []ingest.Command{{ID: "1", Kind: ingest.PauseRecording}, {ID: "2", Kind: ingest.SendChatMessage}} {
		if end := c.accept(t.Context(), command, &session{page: page}); end != nil {
			t.Errorf("%s ends the session with %+v", command.Kind, end)
		}
	}
	end := c.accept(t.Context(), ingest.Command{ID: "3", Kind: ingest.LeaveCall}, &session{page: page})
	if end == nil || end.reason != report.ReasonCommand || end.retry || end.command == nil || end.command.ID != "3" {
		t.Errorf("leave_call ends the session with %+v", end)
	}
	if len(*acked) != 0 || !slices.Equal(c.deferredIDs(), []string{"1", "2"}) {
		t.Errorf("acknowledged %v, deferred %v", *acked, c.deferredIDs())
	}
}

// TestSettle: a command is acknowledged when it was executed or refused, and
// deferred when it was interrupted, unless it may have had an effect.
func TestSettle(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind ingest.CommandKind
		err  error
		want string // the acknowledgment; empty: the command is deferred
	}{
		"executed":            {ingest.PinParticipant, nil, "1"},
		"failed":              {ingest.PinParticipant, errors.New("no such participant"), "1 no such participant"},
		"timed out":           {ingest.PinParticipant, context.DeadlineExceeded, "1 the meeting page did not allow it in time"},
		"interrupted":         {ingest.PauseRecording, fmt.Errorf("pause: %w", context.Canceled), ""},
		"page crashed":        {ingest.PauseRecording, browser.ErrPageCrashed, ""},
		"message executed":    {ingest.SendChatMessage, nil, "1"},
		"message interrupted": {ingest.SendChatMessage, context.Canceled, "1 the page was left meanwhile; the message may have been sent"},
		"message of a lost page": {
			ingest.SendChatMessage, browser.ErrPageCrashed, "1 the page was left meanwhile; the message may have been sent",
		},
		"message not started": {ingest.SendChatMessage, errNotStarted, ""},
	} {
		c, acked := newTestCommands()
		c.settle(ingest.Command{ID: "1", Kind: test.kind}, test.err)
		if got := strings.Join(*acked, ", "); got != test.want || (len(c.deferredIDs()) == 1) != (test.want == "") {
			t.Errorf("%s: acknowledged %q, want %q; deferred %v", name, got, test.want, c.deferredIDs())
		}
	}
}

// newTestCommands also returns the acknowledged IDs.
func newTestCommands() (*commands, *[]string) {
	acked := new([]string)
	return &commands{log: slog.New(slog.DiscardHandler), ack: func(id, failure string) {
		*acked = append(*acked, strings.TrimSpace(id+" "+failure))
	}}, acked
}

// deferredIDs returns the IDs of the deferred commands.
func (c *commands) deferredIDs() (ids []string) {
	for _, command := range c.deferred {
		ids = append(ids, command.ID)
	}
	return ids
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
