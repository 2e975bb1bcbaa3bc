package calendarsync_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/calendarapi"
	"standin/internal/calendarsync"
	"standin/internal/job"
	"standin/internal/testing/calendartest"
)

// TestScale reads many calendars of 200 meetings for an hour of their clock, in which each
// changes once, and logs what that costs, the double of the providers included. The number
// of calendars is STANDIN_TEST_CALENDARS, or 20. One meeting in ten has a link.
func TestScale(t *testing.T) {
	if testing.Short() {
		t.Skip("takes much CPU")
	}
	calendars := 20
	if text := os.Getenv("STANDIN_TEST_CALENDARS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		calendars = n
	}
	const meetings, linked = 200, 10
	h := newSQLiteHarness(t)
	meeting := func(calendar, n, version int) calendartest.Event {
		e := calendartest.Event{
			ID: fmt.Sprintf("%d-%d", calendar, n), Title: "Meeting", Sequence: version, Description: "Agenda: status, risks, next steps.",
			Start: november.Add(24*time.Hour + time.Duration(n*3+version)*time.Hour), Organizer: "bob@example.org",
			Attendees: map[string]string{calendartest.Owner: "accepted", "bob@example.org": "accepted", "cleo@example.com": "needsAction"},
		}
		if n%linked == 0 {
			e.Conference = fmt.Sprintf("https://us02web.zoom.us/j/8%04d%06d", calendar, n)
		}
		return e
	}
	for c := range calendars {
		name := fmt.Sprintf("calendar-%d", c)
		var events []calendartest.Event
		for n := range meetings {
			events = append(events, meeting(c, n, 0))
		}
		h.apis.Set(name, events...)
		if c%calendarsync.MaxCalendars == 0 {
			consumer, err := h.store.EnsureConsumer(t.Context(), account.NewConsumer(fmt.Sprintf("team-%d", c), "", "", november))
			if err != nil {
				t.Fatal(err)
			}
			h.caller = account.Caller{ConsumerID: consumer.ID, Mode: job.Live}
		}
		p := calendarapi.Google
		if c%2 == 1 {
			p = calendarapi.Microsoft
		}
		h.connectAPI(t, p, func(request *calendarsync.Connection) {
			request.Access.CalendarID, request.Email = name, calendartest.Owner
		})
	}
	measured := func(what string, work func()) {
		runtime.GC()
		before, started := cpuTime(t), time.Now()
		h.apis.Requests()
		work()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		t.Logf("%d calendars of %d meetings, %s: %.1f s of CPU, %.1f s, %d requests, %d MiB of memory from the system", calendars, meetings, what,
			(cpuTime(t) - before).Seconds(), time.Since(started).Seconds(), len(h.apis.Requests()), memory.Sys>>20)
	}
	reads := 0
	measured("first read", func() {
		for h.RunNext(t.Context()) {
			reads++
		}
	})
	measured("an hour", func() {
		for minute := range 60 {
			for c := minute * calendars / 60; c < (minute+1)*calendars/60; c++ {
				h.apis.Set(fmt.Sprintf("calendar-%d", c), meeting(c, 0, 1))
			}
			h.pass(time.Minute)
			for h.RunNext(t.Context()) {
				reads++
			}
		}
	})
	if reads < calendars*12 || reads > calendars*16 {
		t.Errorf("%d calendars were read %d times in an hour", calendars, reads)
	}
	found, err := h.Calendars(t.Context(), h.caller)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range found {
		if c.State != calendarsync.Active {
			t.Errorf("calendar %s is %s: %s", c.Name, c.State, c.Error)
		}
	}
}

// cpuTime returns the CPU time of this process.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
