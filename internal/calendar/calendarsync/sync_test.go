package calendarsync_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"standin/internal/account"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
)

// Lines of the events below.
const (
	meet  = "LOCATION:https://meet.google.com/abc-defg-hij"
	meet2 = "LOCATION:https://meet.google.com/xyz-uvwx-rst"

	planning = "UID:planning|SUMMARY:Planning|ORGANIZER:mailto:bob@example.org|ATTENDEE;PARTSTAT=ACCEPTED:mailto:ann@example.test|"
	friday   = "DTSTART;TZID=Europe/Berlin:20261127T100000|DURATION:PT1H|"
	later    = "DTSTART;TZID=Europe/Berlin:20261127T150000|DURATION:PT1H|"
	review   = "UID:review|SUMMARY:Review|"
	weekly   = friday + "RRULE:FREQ=WEEKLY;COUNT=3|"
	change   = "RECURRENCE-ID;TZID=Europe/Berlin:20261127T100000|"
)

// TestFeed checks the jobs and the decisions after each version of a feed.
func TestFeed(t *testing.T) {
	t.Parallel()
	var tests []struct {
		Name     string
		Versions []struct{ Events, Jobs, Decisions []string }
	}
	readYAML(t, "feeds", &tests)
	lines := map[string]string{
		"meet": meet, "meet2": meet2, "planning": planning, "friday": friday, "later": later, "review": review, "weekly": weekly,
		"change": change, "long": strings.Repeat("x", 2000),
	}
	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			h := newSQLiteHarness(t)
			h.set("/ann.ics")
			id := h.connect(t, "/ann.ics", nil)
			for n, version := range test.Versions {
				for i, event := range version.Events {
					version.Events[i] = os.Expand(event, func(name string) string { return lines[name] })
				}
				h.set("/ann.ics", version.Events...)
				h.sync(t, id)
				expect(t, fmt.Sprint("jobs of version ", n), h.scheduled(t), version.Jobs)
				if version.Decisions != nil {
					expect(t, fmt.Sprint("decisions of version ", n), h.decisions(t, id), version.Decisions)
				}
				if again := h.sync(t, id); again != (calendarsync.Changes{}) {
					t.Errorf("version %d again: %+v", n, again)
				}
			}
		})
	}
}

// TestEventEnd checks that a bot is sent until its event ends, also when that is changed.
func TestEventEnd(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.connect(t, "/ann.ics", nil)
	for length, end := range map[string]string{"PT1H": "10:00", "PT45M": "09:45"} {
		h.set("/ann.ics", planning+strings.Replace(friday, "PT1H", length, 1)+meet)
		h.sync(t, id)
		if jobs := h.all(t); len(jobs) != 1 || jobs[0].Options.StartBefore.Time().Format("15:04") != end {
			t.Errorf("%s: jobs %+v", length, jobs)
		}
	}
}

// readYAML reads a file of tests.
func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	content, err := os.ReadFile("testdata/" + name + ".yaml")
	if err := errors.Join(err, yaml.Unmarshal(content, into)); err != nil {
		t.Fatal(err)
	}
}

// TestSharedMeeting checks that a meeting in two calendars gets one bot, which follows the
// newest version and leaves with the last calendar.
func TestSharedMeeting(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		h.set("/ann.ics", planning+friday+meet)
		h.set("/cleo.ics", planning+friday+meet)
		ann := h.connect(t, "/ann.ics", nil)
		cleo := h.connect(t, "/cleo.ics", func(c *calendarsync.Connection) { c.Email = "cleo@example.test" })
		h.sync(t, ann)
		h.sync(t, cleo)
		expect(t, "jobs", h.scheduled(t), []string{"11-27 09:00 abc-defg-hij Planning"})

		// Ann's calendar is the first to know of a move. Cleo's old version does not undo it.
		h.set("/ann.ics", planning+later+"SEQUENCE:1|"+meet)
		h.sync(t, ann)
		h.set("/cleo.ics", planning+friday+"LOCATION:https://meet.google.com/abc-defg-hij?authuser=1")
		h.sync(t, cleo)
		expect(t, "jobs after the move", h.scheduled(t), []string{"11-27 14:00 abc-defg-hij Planning"})
		h.set("/cleo.ics", planning+later+"SEQUENCE:1|"+meet)
		h.sync(t, cleo)

		h.set("/ann.ics", planning+later+"SEQUENCE:1|ATTENDEE;PARTSTAT=DECLINED:mailto:ann@example.test|"+meet)
		h.sync(t, ann)
		expect(t, "Ann declines", h.decisions(t, ann), []string{"11-27 14:00 Planning recorded: another calendar of the team asks for it"})
		if err := h.Disconnect(t.Context(), h.caller, cleo); err != nil {
			t.Fatal(err)
		}
		for h.RunNext(t.Context()) {
		}
		expect(t, "jobs without Cleo", h.scheduled(t), nil)
		if left, err := h.Calendars(t.Context(), h.caller); err != nil || len(left) != 1 {
			t.Errorf("calendars: %+v, %v", left, err)
		}
		if len(h.all(t)) != 1 {
			t.Errorf("%d jobs were created", len(h.all(t)))
		}
	})
}

// TestLostLease checks that a node saves nothing of a calendar that another node has
// claimed while it was read, whether it could be read or not.
func TestLostLease(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		h.set("/ann.ics", planning+friday+meet)
		for _, feed := range []string{"/ann.ics", "/none.ics"} {
			id := h.connect(t, feed, nil)
			var claimed calendarsync.Calendar
			h.reading = func() {
				var ok bool
				var err error
				if claimed, ok, err = h.store.ClaimCalendar(context.Background(), h.caller, id, h.time().Add(time.Hour)); !ok || err != nil {
					t.Errorf("claim the calendar: %t, %v", ok, err)
				}
			}
			h.RunNext(t.Context())
			if events := h.events(t, id); len(events) > 0 {
				t.Errorf("saved events: %+v", events)
			}
			if held, err := h.store.ExtendSync(t.Context(), claimed, h.time().Add(time.Hour)); !held || err != nil {
				t.Errorf("%s: the other node has lost its lease (%v)", feed, err)
			}
		}
	})
}

// TestDismissedByHand checks that a bot that a person has cancelled stays away when the
// meeting or its series moves, and comes when a person switches the meeting on.
func TestDismissedByHand(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		h.set("/ann.ics", planning+weekly+meet)
		id := h.connect(t, "/ann.ics", nil)
		h.sync(t, id)
		first := h.events(t, id)[0]
		if err := h.jobs.Cancel(t.Context(), h.caller, first.JobID); err != nil {
			t.Fatal(err)
		}
		if e := h.events(t, id)[0]; e.Record || e.Reason != "not recorded: its bot was cancelled" || e.Job != job.Cancelled {
			t.Errorf("after the cancellation: %+v", e)
		}
		h.sync(t, id)
		h.set("/ann.ics", planning+weekly+meet, planning+change+later+meet)
		h.sync(t, id)
		h.set("/ann.ics", planning+"DTSTART;TZID=Europe/Berlin:20261127T160000|DURATION:PT1H|RRULE:FREQ=WEEKLY;COUNT=3|"+meet)
		h.sync(t, id)
		h.pass(6 * time.Hour)
		h.sync(t, id)
		rest := []string{"12-04 15:00 abc-defg-hij Planning", "12-11 15:00 abc-defg-hij Planning"}
		expect(t, "jobs", h.scheduled(t), rest)
		e := h.events(t, id)[0]
		if e.ID != first.ID || e.Reason != "not recorded: its bot was cancelled" {
			t.Errorf("the first meeting: %+v", e)
		}

		on, off := true, false
		switched, err := h.Override(t.Context(), h.caller, id, e.ID, &on)
		if err != nil || !switched.Record || switched.Reason != "recorded: it was switched on" {
			t.Errorf("switched on: %+v, %v", switched, err)
		}
		expect(t, "jobs", h.scheduled(t), append([]string{"11-27 15:00 abc-defg-hij Planning"}, rest...))
		if switched, err = h.Override(t.Context(), h.caller, id, e.ID, &off); err != nil || switched.Record ||
			switched.Reason != "not recorded: it was switched off" {
			t.Errorf("switched off: %+v, %v", switched, err)
		}
		expect(t, "jobs", h.scheduled(t), rest)
		if switched, err = h.Override(t.Context(), h.caller, id, e.ID, nil); err != nil || !switched.Record || switched.Override != nil {
			t.Errorf("as the rules say: %+v, %v", switched, err)
		}
		h.setStatus(t, switched.JobID, job.Failed)
		if e := h.events(t, id)[0]; e.Record || e.Reason != "not recorded: its bot has failed" {
			t.Errorf("after the bot has failed: %+v", e)
		}
	})
}

// TestRunningBot checks that a bot that is in its meeting stays when the calendar says
// that the meeting is over, and leaves when it is cancelled; and that one that is at the
// door leaves when the meeting is moved.
func TestRunningBot(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	h.set("/ann.ics", planning+friday+meet)
	id := h.connect(t, "/ann.ics", nil)
	h.sync(t, id)
	door := h.events(t, id)[0].JobID
	h.setStatus(t, door, job.EnteringLobby)
	h.set("/ann.ics", planning+later+meet)
	h.sync(t, id)
	second := h.events(t, id)[0].JobID
	if j, err := h.jobs.Job(t.Context(), h.caller, door); err != nil || j.Status != job.Cancelled || second == door {
		t.Errorf("the bot at the door of the old time: %+v, %v", j, err)
	}
	h.setStatus(t, second, job.RecordingStarted)
	h.pass(31*time.Hour + 30*time.Minute) // it is 16:30 in Berlin, and the meeting was until 16:00
	h.set("/ann.ics")
	h.sync(t, id)
	if j, err := h.jobs.Job(t.Context(), h.caller, second); err != nil || j.Status != job.RecordingStarted {
		t.Errorf("the bot of a meeting that takes longer: %+v, %v", j, err)
	}
	h.set("/ann.ics", review+"DTSTART:20261127T153000Z|DURATION:PT1H|"+meet2)
	h.sync(t, id)
	third := h.events(t, id)[0].JobID
	h.setStatus(t, third, job.RecordingStarted)
	h.set("/ann.ics") // perhaps by mistake
	h.sync(t, id)
	if j, err := h.jobs.Job(t.Context(), h.caller, third); err != nil || j.Status != job.RecordingStarted {
		t.Errorf("the bot of a meeting that is missing once: %+v, %v", j, err)
	}
	h.pass(30 * time.Second)
	if !h.RunNext(t.Context()) {
		t.Error("the calendar is not read again soon")
	}
	if j, err := h.jobs.Job(t.Context(), h.caller, third); err != nil || j.Status != job.Cancelled {
		t.Errorf("the bot of a meeting that is cancelled: %+v, %v", j, err)
	}
}

// TestOtherSources checks that a calendar sends no second bot into a meeting for which
// the team has a job, and does not cancel that job.
func TestOtherSources(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	own, _, err := h.jobs.Create(t.Context(), h.caller, newJob("https://meet.google.com/abc-defg-hij?hs=1",
		time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)))
	if err != nil {
		t.Fatal(err)
	}
	h.set("/ann.ics", planning+friday+meet)
	id := h.connect(t, "/ann.ics", nil)
	h.sync(t, id)
	if e := h.events(t, id)[0]; e.JobID != own.ID || !e.Record || fmt.Sprint(e.Sources) != "[api feed]" {
		t.Errorf("the event: %+v", e)
	}
	h.set("/ann.ics")
	h.sync(t, id)
	if j, err := h.jobs.Job(t.Context(), h.caller, own.ID); err != nil || j.Status != job.Scheduled || len(h.all(t)) != 1 {
		t.Errorf("the team's own job: %+v, %v", j, err)
	}
	h.set("/ann.ics", planning+"DTSTART:20261127T082000Z|DURATION:PT1H|"+meet)
	h.sync(t, id)
	expect(t, "jobs of an event for which the team's own job is too late", h.scheduled(t),
		[]string{"11-27 08:20 abc-defg-hij Planning", "11-27 09:00 abc-defg-hij?hs=1 "})
}

// TestFailingFeed checks that jobs stay while a feed cannot be read, and that the
// calendar says why.
func TestFailingFeed(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	h.set("/ann.ics", planning+friday+meet)
	id := h.connect(t, "/ann.ics", nil)
	h.sync(t, id)
	for reason, spoil := range map[string]func(){
		"refuses access (403)": func() { h.status = http.StatusForbidden },
		"no calendar at this address (404): it may have been reset": func() { h.status = http.StatusNotFound },
		"responded with 503":             func() { h.status = http.StatusServiceUnavailable },
		"a web page":                     func() { h.feeds["/ann.ics"] = "<!doctype html><html><p>Sign in</p></html>" },
		"can be read: BEGIN without END": func() { h.feeds["/ann.ics"] = strings.TrimSuffix(feed(planning+friday+meet), "END:VCALENDAR\r\n") },
		"larger than 10 MiB":             func() { h.feeds["/ann.ics"] = strings.Repeat("x", 11<<20) },
		"can be read: no VCALENDAR":      func() { h.feeds["/ann.ics"] = "hello" },
	} {
		h.status = 0
		spoil()
		c, _, err := h.SyncNow(t.Context(), h.caller, id)
		if err != nil || c.State != calendarsync.Failing || !strings.Contains(c.Error, reason) || c.DueAt.Before(h.time()) {
			t.Errorf("%s: %v, the calendar is %s until %s: %s", reason, err, c.State, c.DueAt, c.Error)
		}
		if strings.Contains(c.Error, "ann.ics") {
			t.Errorf("the reason has the address: %s", c.Error)
		}
		expect(t, "jobs", h.scheduled(t), []string{"11-27 09:00 abc-defg-hij Planning"})
	}
	h.status = 0
	h.set("/ann.ics", planning+later+meet)
	h.sync(t, id)
	expect(t, "jobs", h.scheduled(t), []string{"11-27 14:00 abc-defg-hij Planning"})

	for _, address := range []string{"http://10.0.0.1/x.ics", h.server.URL + "/redirect.ics"} {
		refused := h.connect(t, "/x", func(c *calendarsync.Connection) { c.Address = address })
		if c, _, err := h.SyncNow(t.Context(), h.caller, refused); err != nil ||
			!strings.Contains(c.Error, "is refused: it has a private address") {
			t.Errorf("%s leads to a private address: %s, %v", address, c.Error, err)
		}
	}
}

// TestExpensiveFeed checks that a feed with many endless series is read within bounds.
func TestExpensiveFeed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of CPU")
	}
	t.Parallel()
	h := newSQLiteHarness(t)
	var events []string
	for n := range 5000 {
		events = append(events, fmt.Sprintf("UID:%d|DTSTART:19700101T%02d0000Z|RRULE:FREQ=DAILY", n, n%24))
	}
	h.set("/ann.ics", events...)
	id := h.connect(t, "/ann.ics", nil)
	if changes := h.sync(t, id); changes.Added != 1001 { // with the one that tells of the others
		t.Errorf("%+v", changes)
	}
}

// TestSealedAddress checks that the database has the address of a feed only encrypted, and
// that another calendar cannot use it.
func TestSealedAddress(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.connect(t, "/ann.ics", nil)
	c, err := h.store.Calendar(t.Context(), h.caller, id)
	if err != nil || strings.Contains(fmt.Sprintf("%+v", c), h.server.URL+"/ann") {
		t.Errorf("stored %+v, %v", c, err)
	}
	for name, sealed := range map[string]string{"another calendar": c.Sealed, "changed": "A" + c.Sealed, "empty": ""} {
		if text, err := h.Key.Open("another", sealed); err == nil {
			t.Errorf("%s: opened %s", name, text)
		}
	}
	if text, err := h.Key.Open(id.String(), c.Sealed); err != nil || text != h.server.URL+"/ann.ics" {
		t.Errorf("opened %s, %v", text, err)
	}
}

// TestPolling checks that calendars are read when they are due, with the validators of
// the feed, and that the window moves while the feed does not change.
func TestPolling(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	h.set("/ann.ics", planning+friday+"RRULE:FREQ=WEEKLY|"+meet)
	h.connect(t, "/ann.ics", nil)
	if !h.RunNext(t.Context()) || h.RunNext(t.Context()) {
		t.Fatal("the new calendar is not due once")
	}
	if jobs := h.scheduled(t); len(jobs) != 5 {
		t.Errorf("jobs %q", jobs)
	}
	h.pass(calendarsync.DefaultPoll)
	if !h.RunNext(t.Context()) || h.requests[1].Header.Get("If-None-Match") == "" {
		t.Error("the second request has no validator")
	}
	if jobs := h.scheduled(t); len(jobs) != 5 {
		t.Errorf("jobs %q", jobs)
	}
	h.pass(7 * 24 * time.Hour)
	if !h.RunNext(t.Context()) {
		t.Error("the calendar is not due")
	}
	if jobs := h.scheduled(t); len(jobs) != 6 { // that of the first week waits for a bot
		t.Errorf("jobs %q after a week", jobs)
	}
}

// TestSlowFeeds checks that another team's calendar is read while 40 feeds of a team do not
// answer, also when somebody asks for it.
func TestSlowFeeds(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	answer := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-answer:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(slow.Close)
	for n := range 40 {
		h.connect(t, fmt.Sprintf("/%d.ics", n), func(c *calendarsync.Connection) { c.Address = fmt.Sprintf("%s/%d.ics", slow.URL, n) })
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { h.Run(ctx) })
	t.Cleanup(running.Wait)
	t.Cleanup(stop)
	t.Cleanup(func() { close(answer) })

	other, err := h.store.EnsureConsumer(t.Context(), account.NewConsumer("other", "other@example.test", "", november))
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	h.reading = sync.OnceFunc(func() { close(read) })
	h.set("/other.ics", planning+friday+meet)
	h.caller.ConsumerID = other.ID
	id := h.connect(t, "/other.ics", nil)
	select {
	case <-read:
	case <-time.After(10 * time.Second):
		t.Fatal("the other team's calendar is not read")
	}
	h.sync(t, id)
	expect(t, "jobs of the other team", h.scheduled(t), []string{"11-27 09:00 abc-defg-hij Planning"})
}

// TestManyMeetings checks that a calendar with too many meetings says how many it leaves out.
func TestManyMeetings(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	var events []string
	for n := range 1100 {
		events = append(events, fmt.Sprintf("UID:%d|DTSTART:%s|%s", n,
			november.Add(time.Duration(n+1)*time.Minute).Format("20060102T150405Z"), meet))
	}
	h.set("/ann.ics", events...)
	none := []calendarsync.Condition{calendarsync.RecordNone}
	id := h.connect(t, "/ann.ics", func(c *calendarsync.Connection) { c.Rules.Record = none })
	h.sync(t, id)
	const left = "not recorded: this and all later meetings, 100, are left out: a calendar can have 1000 in 30 days"
	if found := h.events(t, id); len(found) != 1001 || found[999].Reason == left || found[1000].Reason != left {
		t.Errorf("%d meetings, the last one: %+v", len(found), found[len(found)-1])
	}
}

// TestWebcal checks that a webcal address of a server without encryption is read.
func TestWebcal(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	h.set("/ann.ics", planning+friday+meet)
	id := h.connect(t, "/ann.ics", func(c *calendarsync.Connection) { c.Address = "WebCal" + strings.TrimPrefix(c.Address, "http") })
	h.sync(t, id)
	expect(t, "jobs", h.scheduled(t), []string{"11-27 09:00 abc-defg-hij Planning"})
}
