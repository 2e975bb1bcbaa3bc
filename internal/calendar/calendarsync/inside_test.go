package calendarsync_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar"
	"standin/internal/calendar/calendarapi"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
	"standin/internal/testing/calendartest"
)

// roomB is another meeting than meetLink.
const roomB = "https://meet.google.com/xyz-uvwx-rst"

// insideSource is one source of an event whose bot is in its meeting.
type insideSource struct {
	*harness
	t        *testing.T
	provider calendarapi.Provider
	calendar uuid.UUID
	version  int
}

// say says when and where the event with a UID takes place, and reads that; without a UID, that there is none.
func (s *insideSource) say(uid string, start time.Time, link string) {
	s.t.Helper()
	s.pass(time.Second)
	s.version++
	switch s.provider {
	case calendarsync.Feed:
		s.set("/ann.ics")
		if uid != "" {
			s.set("/ann.ics", fmt.Sprintf(
				"UID:%s|SUMMARY:Planning|ORGANIZER:mailto:ann@example.test|SEQUENCE:%d|DTSTART:%s|DURATION:PT1H|LOCATION:%s",
				uid, s.version, start.Format("20060102T150405Z"), link))
		}
	case calendarsync.Mail, calendarsync.Intake:
		if uid == "" {
			return
		}
		invite := calendar.Invite{
			OrganizerEmail: "crew@example.test", Subject: "Planning", MeetingURL: link, Platform: job.Meet, JoinAt: start,
			EndsAt: start.Add(time.Hour), ICalUID: uid,
		}
		if s.provider == calendarsync.Mail {
			s.mail(s.t, s.invites, invite)
		} else if _, err := s.invites.Schedule(s.t.Context(), invite); err != nil {
			s.t.Fatal(err)
		}
		return
	default:
		s.apis.Delete(calendartest.Main, "planning")
		if uid != "" {
			s.apis.Set(calendartest.Main, planningEvent(func(e *calendartest.Event) {
				e.UID, e.Start, e.Sequence, e.Conference = uid, start, s.version, link
			}))
		}
	}
	s.sync(s.t, s.calendar)
}

// bots checks the jobs that have not ended: status, start and room.
func (s *insideSource) bots(what string, want ...string) {
	s.t.Helper()
	found := []string{}
	for _, j := range s.all(s.t) {
		if !j.Status.Terminal() {
			room := strings.TrimPrefix(j.MeetingURL, "https://meet.google.com/")[:3]
			found = append(found, fmt.Sprintf("%s %s %s", j.Status, j.JoinAt.Format("15:04"), room))
		}
	}
	expect(s.t, what, found, want)
}

// TestBotInside checks, for each source, that the bot in a meeting stays alone when the event's start moves by
// minutes, when it gets another UID, and when a list comes back empty once; that another one goes to a new link; and that
// it leaves when the meeting is cancelled.
func TestBotInside(t *testing.T) {
	t.Parallel()
	for _, provider := range []calendarapi.Provider{
		calendarsync.Feed, calendarapi.Google, calendarapi.Microsoft, calendarsync.Mail, calendarsync.Intake,
	} {
		t.Run(string(provider), func(t *testing.T) {
			t.Parallel()
			for name, test := range map[string]func(s *insideSource){
				"moved by minutes": func(s *insideSource) {
					for _, minutes := range []int{-10, -5, 5, 10, 15} {
						s.say("planning", at(27, 9).Add(time.Duration(minutes)*time.Minute), meetLink)
						s.bots(fmt.Sprintf("moved by %d minutes", minutes), "recording_started 09:00 abc")
					}
				},
				"another UID": func(s *insideSource) {
					s.say("split", at(27, 9), meetLink)
					s.bots("this and following were changed", "recording_started 09:00 abc")
				},
				"an empty list": func(s *insideSource) {
					s.say("", time.Time{}, "")
					s.bots("nothing is listed", "recording_started 09:00 abc")
					s.say("planning", at(27, 9), meetLink)
					s.bots("it is listed again", "recording_started 09:00 abc")
				},
				"another link": func(s *insideSource) {
					s.say("planning", at(27, 9), roomB)
					s.bots("people go to another room", "scheduled 09:00 xyz", "recording_started 09:00 abc")
				},
				"moved to another day": func(s *insideSource) {
					s.say("planning", at(28, 9), meetLink)
					s.bots("the next meeting", "scheduled 09:00 abc", "recording_started 09:00 abc")
				},
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s := &insideSource{harness: newSQLiteHarness(t), t: t, provider: provider}
					switch provider {
					case calendarsync.Feed:
						s.set("/ann.ics")
						s.calendar = s.connect(t, "/ann.ics", nil)
					case calendarapi.Google, calendarapi.Microsoft:
						s.calendar = s.connectAPI(t, provider, nil)
					}
					s.say("planning", at(27, 9), meetLink)
					s.bots("invited", "scheduled 09:00 abc")
					s.pass(at(27, 9).Sub(s.time()) + time.Minute)
					s.setStatus(t, s.all(t)[0].ID, job.RecordingStarted)
					test(s)
				})
			}
		})
	}
}

// TestHoldBesideEvent checks that a hold and the event beside it, minutes apart in one room, have one bot, which
// stays until the last of them is over.
func TestHoldBesideEvent(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		h.set("/ann.ics", planning+"DTSTART:20261127T090000Z|DURATION:PT30M|"+meet)
		h.set("/cleo.ics", review+"DTSTART:20261127T090500Z|DURATION:PT1H|"+meet)
		ann := h.connect(t, "/ann.ics", nil)
		cleo := h.connect(t, "/cleo.ics", nil)
		h.sync(t, ann)
		h.sync(t, cleo)
		expect(t, "jobs", h.scheduled(t), []string{"11-27 09:00 abc-defg-hij Planning"})
		if until := h.all(t)[0].Options.StartBefore.Time(); !until.Equal(time.Date(2026, 11, 27, 10, 5, 0, 0, time.UTC)) {
			t.Errorf("a bot is sent until %s", until)
		}
		h.set("/ann.ics")
		h.sync(t, ann)
		expect(t, "jobs without the hold", h.scheduled(t), []string{"11-27 09:05 abc-defg-hij Review"})
		h.set("/cleo.ics")
		h.sync(t, cleo)
		expect(t, "jobs without both", h.scheduled(t), nil)
	})
}
