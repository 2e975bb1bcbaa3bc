package calendarsync_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar"
	"standin/internal/calendar/calendarsync"
)

// TestRules checks what rules say about events of ann@example.test, whose organization is
// example.test.
func TestRules(t *testing.T) {
	t.Parallel()
	var tests []struct {
		Name, Organizer, Response, Recorded, Skipped string
		Rules                                        calendarsync.Rules
		Attendees                                    map[string]string
		Alone, Unowned, Private                      bool
	}
	readYAML(t, "rules", &tests)
	for _, test := range tests {
		owner := "ann@example.test"
		event := calendar.Event{
			Summary: "Weekly Planning", Description: "Agenda", Organizer: test.Organizer, Attendees: []string{"Ann@example.test"},
			Private: test.Private, Responses: map[string]string{owner: test.Response},
		}
		for address, response := range test.Attendees {
			event.Attendees, event.Responses[address] = append(event.Attendees, address), response
		}
		if test.Alone {
			event = calendar.Event{Summary: "Focus"}
		}
		if test.Unowned {
			owner = ""
		}
		if got, _ := test.Rules.Decider(owner)(event); got != (calendarsync.Verdict{
			Record: test.Recorded != "", Reason: test.Recorded + test.Skipped,
		}) {
			t.Errorf("%s: %+v", test.Name, got)
		}
	}
}

// TestDecide checks what becomes of a meeting that is in two calendars.
func TestDecide(t *testing.T) {
	t.Parallel()
	on, off := true, false
	yes, no := calendarsync.Verdict{Record: true, Reason: "yes"}, calendarsync.Verdict{Reason: "no"}
	event := func(sequence int, rules calendarsync.Verdict, override *bool) calendarsync.Event {
		return calendarsync.Event{ID: uuid.New(), Facts: calendarsync.Facts{Sequence: sequence, ByRules: rules}, Override: override}
	}
	problem, removed := event(2, yes, nil), event(3, yes, nil)
	problem.Problem, removed.Removed = "it lasts all day", true
	modified := event(1, no, nil)
	modified.Modified = time.UnixMilli(1)
	for name, test := range map[string]struct {
		a, b    calendarsync.Event
		newest  int
		record  bool
		reasons string // joined by |
	}{
		"one by rules": {
			event(1, yes, nil), event(0, no, nil), 0, true, "recorded: yes|recorded: another calendar of the team asks for it",
		},
		"none":          {event(0, no, nil), event(1, no, nil), 1, false, "not recorded: no|not recorded: no"},
		"newer by time": {event(1, no, nil), modified, 1, false, "not recorded: no|not recorded: no"},
		"switched off": {
			event(1, yes, &off), event(0, yes, &on), 0, false, "not recorded: it was switched off|not recorded: it was switched off",
		},
		"switched on":            {event(1, no, nil), event(0, no, &on), 0, true, "recorded: it was switched on|recorded: it was switched on"},
		"the newest is unusable": {event(1, yes, &on), problem, 1, false, "not recorded: it lasts all day|not recorded: it lasts all day"},
		"removed from one":       {removed, event(1, yes, nil), 1, true, "|recorded: yes"},
		"removed from both":      {removed, removed, -1, false, "|"},
	} {
		events := []calendarsync.Event{test.a, test.b}
		newest, record, reasons := calendarsync.Decide(events)
		if want := append(events, calendarsync.Event{})[(test.newest+3)%3]; newest.ID != want.ID || record != test.record ||
			strings.Join(reasons, "|") != test.reasons {
			t.Errorf("%s: newest %v, record %v, %q", name, newest.ID == want.ID, record, reasons)
		}
	}
}
