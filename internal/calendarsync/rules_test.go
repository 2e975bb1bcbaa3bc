package calendarsync_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar"
	"standin/internal/calendarsync"
)

// TestRules checks what rules say about events of ann@example.test, whose organization is
// example.test.
func TestRules(t *testing.T) {
	t.Parallel()
	const ann, abe, bob = "ann@example.test", "abe@mail.example.test", "bob@example.org"
	event := func(organizer, response string, others ...string) calendar.Event {
		e := calendar.Event{Summary: "Weekly Planning", Description: "Agenda", Organizer: organizer, Attendees: append([]string{"Ann@example.test"}, others...), Responses: map[string]string{}}
		if response != "" {
			e.Responses[ann] = response
		}
		return e
	}
	rules := func(record calendarsync.Record) calendarsync.Rules {
		return calendarsync.Rules{Record: record, OptOut: calendarsync.DefaultOptOut}
	}
	withDeclined := event(abe, "ACCEPTED", bob)
	withDeclined.Responses[bob] = "DECLINED"
	for name, test := range map[string]struct {
		rules  calendarsync.Rules
		event  calendar.Event
		owner  string
		record bool
		reason string
	}{
		"all":                                {rules("all"), event(bob, ""), ann, true, "the calendar records all meetings"},
		"all, tentative":                     {rules("all"), event(bob, "TENTATIVE"), ann, true, "the calendar records all meetings"},
		"all, declined":                      {rules("all"), event(bob, "DECLINED"), ann, false, "you declined"},
		"all, declined, unknown owner":       {rules("all"), event(bob, "DECLINED"), "", true, "the calendar records all meetings"},
		"none":                               {rules("none"), event(bob, "ACCEPTED"), ann, false, "the calendar records only meetings that are switched on"},
		"external organizer":                 {rules("external"), event(bob, "ACCEPTED"), ann, true, "somebody of another organization takes part"},
		"external attendee":                  {rules("external"), event(abe, "ACCEPTED", bob), ann, true, "somebody of another organization takes part"},
		"external attendee who has declined": {rules("external"), withDeclined, ann, false, "nobody of another organization takes part"},
		"a subdomain is not external":        {rules("external"), event(abe, "ACCEPTED"), ann, false, "nobody of another organization takes part"},
		"internal":                           {rules("internal"), event(abe, "ACCEPTED"), ann, true, "nobody of another organization takes part"},
		"not internal":                       {rules("internal"), event(abe, "ACCEPTED", bob), ann, false, "somebody of another organization takes part"},
		"internal, unknown owner":            {rules("internal"), event(abe, "ACCEPTED"), "", false, "the calendar has no email address of its owner"},
		"organized":                          {rules("organized"), event("Ann@Example.test", ""), ann, true, "you organize it"},
		"not organized":                      {rules("organized"), event(bob, "ACCEPTED"), ann, false, "you do not organize it"},
		"accepted":                           {rules("accepted"), event(bob, "ACCEPTED"), ann, true, "you have accepted it"},
		"accepted as organizer":              {rules("accepted"), event(ann, ""), ann, true, "you have accepted it"},
		"not accepted":                       {rules("accepted"), event(bob, "NEEDS-ACTION"), ann, false, "you have not accepted it"},
		"title":                              {calendarsync.Rules{Record: "all", TitleMatches: "^weekly"}, event(bob, ""), ann, true, "the calendar records all meetings"},
		"other title":                        {calendarsync.Rules{Record: "all", TitleMatches: "^planning"}, event(bob, ""), ann, false, "its title does not match the rule"},
		"enough participants":                {calendarsync.Rules{Record: "all", MinParticipants: 2}, event(bob, ""), ann, true, "the calendar records all meetings"},
		"too few participants":               {calendarsync.Rules{Record: "all", MinParticipants: 2}, withoutPeople(), ann, false, "it has 0 participants, and the rule asks for 2"},
		"opt-out":                            {calendarsync.Rules{Record: "all", OptOut: "AGENDA"}, event(bob, ""), ann, false, "it says AGENDA"},
		"no opt-out":                         {calendarsync.Rules{Record: "all"}, event(bob, ""), ann, true, "the calendar records all meetings"},
	} {
		if got := test.rules.Decide(test.event, test.owner); got != (calendarsync.Verdict{Record: test.record, Reason: test.reason}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func withoutPeople() calendar.Event { return calendar.Event{Summary: "Focus"} }

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
		"one by rules":           {event(1, yes, nil), event(0, no, nil), 0, true, "recorded: yes|recorded: another calendar of the team asks for it"},
		"none":                   {event(0, no, nil), event(1, no, nil), 1, false, "not recorded: no|not recorded: no"},
		"newer by time":          {event(1, no, nil), modified, 1, false, "not recorded: no|not recorded: no"},
		"switched off":           {event(1, yes, &off), event(0, yes, &on), 0, false, "not recorded: it was switched off|not recorded: it was switched off"},
		"switched on":            {event(1, no, nil), event(0, no, &on), 0, true, "recorded: it was switched on|recorded: it was switched on"},
		"the newest is unusable": {event(1, yes, &on), problem, 1, false, "not recorded: it lasts all day|not recorded: it lasts all day"},
		"removed from one":       {removed, event(1, yes, nil), 1, true, "|recorded: yes"},
		"removed from both":      {removed, removed, -1, false, "|"},
	} {
		events := []calendarsync.Event{test.a, test.b}
		newest, record, reasons := calendarsync.Decide(events)
		if want := append(events, calendarsync.Event{})[(test.newest+3)%3]; newest.ID != want.ID || record != test.record || strings.Join(reasons, "|") != test.reasons {
			t.Errorf("%s: newest %v, record %v, %q", name, newest.ID == want.ID, record, reasons)
		}
	}
}
