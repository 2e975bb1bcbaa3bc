package calendarsync_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/meetinglink"
	"standin/internal/calendar"
	"standin/internal/calendar/calendarapi"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/testing/calendartest"
)

// TestOneBot publishes events of two rooms from all sources in any order: moved by minutes and hours, with new UIDs
// and links, from lists that come back empty, beside each other, cancelled and back, while bots go into their
// meetings, time passes and the service restarts. After each step, a room never has two bots at one time, no bot was
// cut whose room an event still wants, no job is without a wish, and no wish without a job or a reason.
func TestOneBot(t *testing.T) {
	t.Parallel()
	runs := 60
	if testing.Short() {
		runs = 4
	}
	for seed := range runs {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			test := func(t *testing.T, h *harness) {
				t.Helper()
				(&oneBot{harness: h, t: t, random: rand.New(rand.NewPCG(uint64(seed), 66))}).run()
			}
			if seed%10 == 0 {
				onBoth(t, test)
			} else {
				test(t, newSQLiteHarness(t))
			}
		})
	}
}

type oneBot struct {
	*harness
	t      *testing.T
	random *rand.Rand

	calendars []uuid.UUID // a feed, Google, Microsoft
	feed      []string
	log       []string
}

func (o *oneBot) pick(values ...string) string { return values[o.random.IntN(len(values))] }

func (o *oneBot) run() {
	o.set("/ann.ics")
	o.calendars = []uuid.UUID{
		o.connect(o.t, "/ann.ics", nil), o.connectAPI(o.t, calendarapi.Google, nil), o.connectAPI(o.t, calendarapi.Microsoft, nil),
	}
	for range 40 {
		before := o.all(o.t)
		o.step()
		if o.check(before); o.t.Failed() {
			for _, m := range o.meetings() {
				for _, e := range m {
					o.t.Logf("%s %s %s-%s %s: wanted %v, job %.4s, %s", e.Provider, e.UID, e.Start.Format("15:04"), e.End.Format("15:04"),
						e.MeetingURL, e.Wanted, e.JobID.String()[30:], e.Reason)
				}
			}
			for _, j := range o.all(o.t) {
				o.t.Logf("job %.4s at %s, until %s, %s, %s", j.ID.String()[30:], j.JoinAt.Format("15:04"),
					j.Options.StartBefore.Time().Format("15:04"), j.MeetingURL, j.Status)
			}
			o.t.Fatalf("after:\n%s", strings.Join(o.log, "\n"))
		}
	}
}

// step does something.
func (o *oneBot) step() {
	link := o.pick("https://meet.google.com/abc-defg-hij", "https://meet.google.com/abc-defg-hij", "https://meet.google.com/xyz-uvwx-rst")
	base := o.time().Truncate(time.Hour)
	start := base.Add(time.Duration(o.random.IntN(4))*time.Hour + time.Duration(o.random.IntN(4)*5-10)*time.Minute)
	end := start.Add(30 * time.Minute)
	uid := o.pick("a", "b", "c")
	what := o.random.IntN(10)
	o.log = append(o.log, fmt.Sprintf("%s: step %d, %s from %s, %s", o.time().Format("02 15:04"), what, uid, start.Format("15:04"), link))
	switch what {
	case 0, 1, 2: // a version of an event in the feed, perhaps alone
		if o.random.IntN(3) == 0 {
			o.feed = nil
		}
		if o.random.IntN(6) > 0 {
			o.feed = append(o.feed, fmt.Sprintf("UID:%s%d|SUMMARY:%s|SEQUENCE:%d|STATUS:%s|DTSTART:%s|DTEND:%s|LOCATION:%s",
				uid, o.random.IntN(2), uid, len(o.log), o.pick("CONFIRMED", "CONFIRMED", "CANCELLED"),
				start.UTC().Format(calendar.OriginalLayout), end.UTC().Format(calendar.OriginalLayout), link))
		}
		o.set("/ann.ics", o.feed...)
		o.sync(o.t, o.calendars[0])
	case 3: // an event of both APIs, which may be the feed's too
		o.apis.Set(calendartest.Main, planningEvent(func(e *calendartest.Event) {
			e.UID, e.Start, e.End, e.Sequence, e.Cancelled = uid+"0", start, end, len(o.log), o.random.IntN(4) == 0
		}))
		o.sync(o.t, o.calendars[1])
		if o.random.IntN(2) == 0 {
			o.sync(o.t, o.calendars[2])
		}
	case 4:
		o.sync(o.t, o.calendars[o.random.IntN(3)])
	case 5, 6:
		invite := calendar.Invite{
			OrganizerEmail: "crew@example.test", Subject: uid, MeetingURL: link, Platform: job.Meet, JoinAt: start, EndsAt: end,
			ICalUID: o.pick(uid+"0", uid+"1", ""), Cancelled: o.random.IntN(4) == 0,
		}
		byMail := o.random.IntN(2) == 0 && invite.ICalUID != ""
		var nodes sync.WaitGroup
		for n := range 1 + len(o.log)%2 { // it comes to two nodes at once, and one reads a calendar
			nodes.Go(func() {
				node := &lifecycle.EventScheduler{Jobs: o.jobs, Plans: o.store}
				if byMail {
					o.mail(o.t, node, invite)
				} else if _, err := node.Schedule(o.t.Context(), invite); err != nil && !job.ErrorIs(err, job.NotFound) {
					o.t.Error(err)
				}
				if _, _, err := o.SyncNow(o.t.Context(), o.caller, o.calendars[n]); err != nil {
					o.t.Error(err)
				}
			})
		}
		nodes.Wait()
	case 7: // bots come to their meetings, and some leave
		for _, j := range o.all(o.t) {
			switch {
			case j.Status == job.Scheduled && !j.JoinAt.After(o.time().Add(2*time.Minute)):
				other, taken, err := o.store.BotInMeeting(o.t.Context(), j)
				if err != nil || taken { // it goes in when that has left
					o.log = append(o.log, fmt.Sprint("waits for ", other, err))
					continue
				}
				o.setStatus(o.t, j.ID, []job.Status{job.EnteringLobby, job.RecordingStarted}[o.random.IntN(2)])
			case j.Status == job.EnteringLobby:
				o.setStatus(o.t, j.ID, []job.Status{job.RecordingStarted, job.Failed}[o.random.IntN(2)])
			case j.Status == job.RecordingStarted && o.random.IntN(3) == 0:
				o.setStatus(o.t, j.ID, job.Completed)
			}
		}
	case 8:
		o.pass(time.Duration(1+o.random.IntN(30)) * time.Minute)
	case 9:
		o.restart(o.t)
	}
	o.pass(time.Second)
	for _, j := range o.all(o.t) { // as the dispatcher does
		if end := j.Options.StartBefore.Time(); j.Status == job.Scheduled && !end.IsZero() && !end.After(o.time()) {
			o.setStatus(o.t, j.ID, job.Failed)
		}
	}
}

// check checks what must hold after each step.
func (o *oneBot) check(before []job.Job) {
	o.t.Helper()
	now := o.time()
	inside := func(s job.Status) bool { return s == job.RecordingStarted }
	var wanted []calendarsync.Event
	for _, m := range o.meetings() {
		for _, e := range m {
			switch {
			case !e.End.After(now): // its bot leaves when the others do
			case e.Reason == "" || e.Record != strings.HasPrefix(e.Reason, "recorded"):
				o.t.Errorf("event %s at %s: record %v, reason %q", e.UID, e.Start.Format("15:04"), e.Record, e.Reason)
			case e.Record && e.JobID == uuid.Nil:
				o.t.Errorf("event %s at %s has no job, and reason %q", e.UID, e.Start.Format("15:04"), e.Reason)
			}
			if e.Wanted {
				wanted = append(wanted, e)
			}
		}
	}
	after := o.all(o.t)
	for n, a := range after {
		if a.Status.Terminal() {
			continue
		}
		end := a.Options.StartBefore.Time()
		isWanted := inside(a.Status) || !end.IsZero() && !end.After(now) // it stays until the others leave
		for _, e := range wanted {
			isWanted = isWanted || e.JobID == a.ID
		}
		if !isWanted {
			o.t.Errorf("the job at %s is %s, and no event wants it", a.JoinAt.Format("15:04"), a.Status)
		}
		for _, b := range after[n+1:] {
			if b.Status.Terminal() || meetinglink.Key(a.MeetingURL) != meetinglink.Key(b.MeetingURL) {
				continue
			}
			if a.JoinAt.Before(b.Options.StartBefore.Time()) && b.JoinAt.Before(a.Options.StartBefore.Time()) {
				o.t.Errorf("two bots at %s and %s in %s: %s and %s",
					a.JoinAt.Format("15:04"), b.JoinAt.Format("15:04"), a.MeetingURL, a.Status, b.Status)
			}
		}
	}
	for _, was := range before {
		for _, is := range after {
			if was.ID != is.ID || !inside(was.Status) || is.Status != job.Cancelled {
				continue
			}
			for _, e := range wanted {
				inRoom := e.JobID == is.ID && meetinglink.Key(e.MeetingURL) == meetinglink.Key(is.MeetingURL)
				if inRoom && !e.Start.After(now) && e.End.After(now) {
					o.t.Errorf("the bot of %s was cut, which event %s still wants", is.JoinAt.Format("15:04"), e.UID)
				}
			}
		}
	}
}

// meetings returns the events of all sources, with those that were over lately.
func (o *oneBot) meetings() (found [][]calendarsync.Event) {
	var ids []uuid.UUID
	ids = append(ids, o.calendars...)
	for _, provider := range []calendarapi.Provider{calendarsync.Mail, calendarsync.Intake} {
		ids = append(ids, uuid.NewSHA1(o.caller.ConsumerID, []byte(provider)))
	}
	for _, id := range ids {
		events, err := o.store.UpcomingEvents(o.t.Context(), id, o.time().Add(-24*time.Hour), o.time().Add(100*24*time.Hour), 500)
		if err != nil {
			o.t.Fatal(err)
		}
		found = append(found, events)
	}
	return found
}
