package calendarsync_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/calendar"
	"standin/internal/calendar/calendarapi"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
	"standin/internal/testing/calendartest"
)

// twoSources is a team that is invited to a meeting by mail, and has it in a calendar.
type twoSources struct {
	*harness
	t        *testing.T
	calendar uuid.UUID
	version  int
}

// publish changes the meeting in the calendar, and reads that.
func (s *twoSources) publish(start time.Time, cancelled bool) {
	s.t.Helper()
	s.pass(time.Second)
	s.version++
	status := "CONFIRMED"
	if cancelled {
		status = "CANCELLED"
	}
	s.set("/ann.ics", fmt.Sprintf("%sSEQUENCE:%d|STATUS:%s|DTSTART:%s|DURATION:PT1H|%s", planning, s.version, status,
		start.Format("20060102T150405Z"), meet))
	s.apis.Set(calendartest.Main, planningEvent(func(e *calendartest.Event) {
		e.Start, e.Sequence, e.Cancelled = start, s.version, cancelled
	}))
	s.read()
}

// remove removes the meeting from the calendar, and reads that.
func (s *twoSources) remove() {
	s.t.Helper()
	s.set("/ann.ics")
	s.apis.Delete(calendartest.Main, "planning")
	s.read()
}

func (s *twoSources) read() {
	s.t.Helper()
	s.pass(time.Second)
	s.sync(s.t, s.calendar)
}

// mail receives an invitation by mail, and returns what became of it.
func (s *twoSources) mail(start time.Time, cancelled bool) string {
	s.t.Helper()
	s.pass(time.Second)
	return s.harness.mail(s.t, s.invites, calendar.Invite{
		OrganizerEmail: "crew@example.test", Subject: "Planning", MeetingURL: meetLink, Platform: job.Meet, JoinAt: start,
		EndsAt: start.Add(time.Hour), ICalUID: "planning", Cancelled: cancelled,
	})
}

// bots checks the hours on Friday for which there are bots.
func (s *twoSources) bots(what string, hours ...int) {
	s.t.Helper()
	want := []string{}
	for _, hour := range hours {
		want = append(want, fmt.Sprintf("11-27 %02d:00 abc-defg-hij Planning", hour))
	}
	expect(s.t, what, s.scheduled(s.t), want)
}

// reason checks what the calendar says about the meeting.
func (s *twoSources) reason(want string) {
	s.t.Helper()
	if e := s.events(s.t, s.calendar)[0]; e.Reason != want || e.Record != strings.HasPrefix(want, "recorded") {
		s.t.Errorf("the event: record %v, %s; want %s", e.Record, e.Reason, want)
	}
}

// TestTwoSources checks that a meeting which a team has in a calendar of each provider and
// an invitation by mail has one bot, at the time that was announced last, and none that a
// person has sent away.
func TestTwoSources(t *testing.T) {
	t.Parallel()
	const cancelled = "not recorded: an invitation says that it is cancelled"
	nine, three := at(27, 9), at(27, 15)
	providers := []calendarapi.Provider{calendarsync.Feed, calendarapi.Google, calendarapi.Microsoft}
	for name, test := range map[string]func(s *twoSources){
		"moved in the calendar": func(s *twoSources) {
			s.publish(three, false)
			s.bots("moved", 15)
			s.mail(three, false)
			s.bots("moved by mail too", 15)
			if n := len(s.all(s.t)); n != 1 {
				s.t.Errorf("%d jobs", n)
			}
		},
		"moved by mail": func(s *twoSources) {
			s.mail(three, false)
			s.pass(7 * time.Hour) // it is read completely, and has the old time
			s.read()
			s.bots("moved", 15)
			s.publish(three, false)
			s.bots("moved in the calendar too", 15)
			s.publish(at(27, 16), false)
			s.bots("moved again", 16)
		},
		"moved by mail with a bot at the door": func(s *twoSources) {
			s.setStatus(s.t, s.all(s.t)[0].ID, job.EnteringLobby)
			s.mail(three, false)
			s.read()
			s.bots("moved", 15)
			s.publish(three, false)
			s.bots("moved in the calendar too", 15)
		},
		"moved in the calendar with a bot at the door": func(s *twoSources) {
			s.setStatus(s.t, s.all(s.t)[0].ID, job.EnteringLobby)
			s.publish(three, false)
			s.bots("moved", 15)
			s.mail(three, false)
			s.bots("moved by mail too", 15)
		},
		"cancelled by mail": func(s *twoSources) {
			s.mail(nine, true)
			s.bots("cancelled")
			s.pass(7 * time.Hour)
			s.read()
			s.bots("cancelled, and read")
			s.reason(cancelled)
			s.publish(three, false)
			s.bots("held after all", 15)
			s.reason("recorded: the calendar records all meetings")
		},
		"cancelled by mail and invited again": func(s *twoSources) {
			s.mail(nine, true)
			s.mail(three, false)
			s.bots("invited again", 15)
			s.read()
			s.bots("invited again, and read", 15)
			s.reason("recorded: the calendar records all meetings")
		},
		"cancelled in the calendar": func(s *twoSources) {
			s.publish(nine, true)
			s.bots("cancelled")
			s.mail(nine, true)
			s.read()
			s.bots("cancelled by mail too")
			s.publish(three, false)
			s.bots("held after all", 15)
		},
		"moved into the past": func(s *twoSources) {
			s.publish(at(25, 9), false)
			s.bots("moved")
		},
		"removed from the calendar": func(s *twoSources) {
			s.remove()
			s.bots("removed", 9)
			s.mail(nine, true)
			s.bots("cancelled by mail")
		},
		"the rules want no bot": func(s *twoSources) {
			none := calendarsync.Patch{Rules: []byte(`{"record":["none"]}`)}
			if _, err := s.Change(s.t.Context(), s.caller, s.calendar, none); err != nil {
				s.t.Fatal(err)
			}
			s.read()
			s.bots("invited by mail", 9)
			s.reason("recorded: its bot was asked for in another way")
			s.mail(nine, true)
			s.bots("cancelled by mail")
		},
		"cancelled by hand": func(s *twoSources) {
			if err := s.jobs.Cancel(s.t.Context(), s.caller, s.all(s.t)[0].ID); err != nil {
				s.t.Fatal(err)
			}
			s.read()
			s.reason("not recorded: its bot was cancelled")
			for _, hour := range []int{15, 16} {
				if kind := s.mail(at(27, hour), false); kind != "dismissed" {
					s.t.Errorf("moved by mail: %s", kind)
				}
				s.bots("moved by mail")
				s.publish(at(27, hour), false)
				s.bots("moved in the calendar")
			}
			s.publish(nine, false)
			s.mail(nine, false)
			s.bots("moved back")
		},
		"switched off": func(s *twoSources) {
			off := false
			if _, err := s.Override(s.t.Context(), s.caller, s.calendar, s.events(s.t, s.calendar)[0].ID, &off); err != nil {
				s.t.Fatal(err)
			}
			s.bots("switched off")
			s.mail(three, false)
			s.publish(three, false)
			s.bots("moved")
			s.reason("not recorded: it was switched off")
		},
	} {
		for n, provider := range providers {
			if testing.Short() && n > 0 {
				break
			}
			for _, mailFirst := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%v", name, provider, mailFirst), func(t *testing.T) {
					t.Parallel()
					s := newTwoSources(t, provider)
					if mailFirst {
						s.mail(nine, false)
					}
					s.publish(nine, false)
					if !mailFirst {
						s.mail(nine, false)
					}
					s.bots("invited", 9)
					want := []string{string(provider), "mail"}
					slices.Sort(want)
					details, err := s.jobs.Details(t.Context(), s.all(t))
					if err != nil {
						t.Fatal(err)
					}
					if e := s.events(t, s.calendar)[0]; !slices.Equal(e.Sources, want) || !slices.Equal(details[e.JobID].Sources, want) {
						t.Errorf("sources %q of the event and %q of the job, want %q", e.Sources, details[e.JobID].Sources, want)
					}
					test(s)
				})
			}
		}
	}
}

func newTwoSources(t *testing.T, provider calendarapi.Provider) *twoSources {
	t.Helper()
	s := &twoSources{harness: newSQLiteHarness(t), t: t}
	if provider == calendarsync.Feed {
		s.set("/ann.ics")
		s.calendar = s.connect(t, "/ann.ics", nil)
	} else {
		s.calendar = s.connectAPI(t, provider, nil)
	}
	return s
}

// TestSwitchedOffBeforeInvite checks that no invite brings a bot into a meeting that a
// person has switched off before, and that a request to the API does.
func TestSwitchedOffBeforeInvite(t *testing.T) {
	t.Parallel()
	s := newTwoSources(t, calendarsync.Feed)
	s.set("/ann.ics", planning+"DTSTART:20261127T090000Z|DURATION:PT1H|LOCATION:Room 5")
	s.read()
	off := false
	if _, err := s.Override(t.Context(), s.caller, s.calendar, s.events(t, s.calendar)[0].ID, &off); err != nil {
		t.Fatal(err)
	}
	s.mail(at(27, 9), false)
	s.bots("invited by mail")
	s.publish(at(27, 9), false)
	s.bots("with a link")
	s.reason("not recorded: it was switched off")

	own, _, err := s.jobs.Create(t.Context(), s.caller, newJob(meetLink, at(27, 9)))
	if err != nil {
		t.Fatal(err)
	}
	s.publish(at(27, 9), false)
	s.reason("recorded: its bot was asked for in another way")
	if e := s.events(t, s.calendar)[0]; e.JobID != own.ID || e.Job != job.Scheduled {
		t.Errorf("the event: %+v", e)
	}
}

// TestAllSources checks that a meeting has one bot whoever asks for it, and that the job
// lists who has.
func TestAllSources(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		h.apis.Set(calendartest.Main, planningEvent(nil))
		h.set("/ann.ics", planning+friday+meet)
		for _, id := range []uuid.UUID{
			h.connectAPI(t, calendarapi.Google, nil), h.connectAPI(t, calendarapi.Microsoft, nil), h.connect(t, "/ann.ics", nil),
		} {
			h.sync(t, id)
		}
		invite := calendar.Invite{
			OrganizerEmail: "crew@example.test", MeetingURL: meetLink, Platform: job.Meet, JoinAt: at(27, 9), ICalUID: "planning",
		}
		if _, err := h.invites.Schedule(t.Context(), invite); err != nil {
			t.Fatal(err)
		}
		h.mail(t, h.invites, invite)
		request := newJob(meetLink+"?hs=1", at(27, 9))
		request.Dedupe = true
		found, replayed, err := h.jobs.Create(t.Context(), h.caller, request)
		if err != nil || !replayed || len(h.all(t)) != 1 {
			t.Fatalf("the request: %+v, %v, of %d jobs", found, err, len(h.all(t)))
		}
		details, err := h.jobs.Details(t.Context(), []job.Job{found})
		if got := details[found.ID].Sources; err != nil || fmt.Sprint(got) != "[api feed google intake mail microsoft]" {
			t.Errorf("sources %q, %v", got, err)
		}

		// Each team has its own bot.
		other, err := h.store.EnsureConsumer(t.Context(), account.NewConsumer("others", "", "", november))
		if err != nil {
			t.Fatal(err)
		}
		h.caller = account.Caller{ConsumerID: other.ID, Mode: job.Live}
		h.sync(t, h.connect(t, "/ann.ics", nil))
		if len(h.all(t)) != 1 {
			t.Errorf("the other team has %d jobs", len(h.all(t)))
		}
	})
}

// TestIntakeOccurrence checks that an invite by the API and a calendar know an occurrence
// of a series as the same meeting when it moves.
func TestIntakeOccurrence(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	for _, recurrence := range []string{"20261127T090000Z", "2026-11-27T10:00:00+01:00"} {
		invite := calendar.Invite{
			OrganizerEmail: "crew@example.test", MeetingURL: meetLink, Platform: job.Meet, JoinAt: at(27, 9), ICalUID: "planning",
			RecurrenceID: recurrence,
		}
		if _, err := h.invites.Schedule(t.Context(), invite); err != nil {
			t.Fatal(err)
		}
	}
	h.set("/ann.ics", planning+"DTSTART;TZID=Europe/Berlin:20261127T100000|DURATION:PT1H|RRULE:FREQ=WEEKLY;COUNT=2|"+meet,
		planning+change+later+meet)
	h.sync(t, h.connect(t, "/ann.ics", nil))
	expect(t, "jobs", h.scheduled(t), []string{"11-27 14:00 abc-defg-hij Planning", "12-04 09:00 abc-defg-hij Planning"})
}
