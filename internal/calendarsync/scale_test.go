package calendarsync_test

import (
	"context"
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

// TestScale reads many calendars of 200 meetings for an hour, in which each changes once,
// and logs what that costs, the double of the providers included. The number of calendars
// is STANDIN_TEST_CALENDARS, or 20. One meeting in ten has a link. The hour is one of the
// service's clock, unless STANDIN_TEST_REAL_TIME says how long it lasts, such as 60m.
func TestScale(t *testing.T) {
	if testing.Short() {
		t.Skip("takes much CPU")
	}
	calendars, span := 20, time.Duration(0)
	var err error
	if text := os.Getenv("STANDIN_TEST_CALENDARS"); text != "" {
		calendars, err = strconv.Atoi(text)
	}
	if text := os.Getenv("STANDIN_TEST_REAL_TIME"); text != "" && err == nil {
		span, err = time.ParseDuration(text)
	}
	if err != nil {
		t.Fatal(err)
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
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	t.Logf("the double has %d MiB", memory.HeapAlloc>>20)
	measured := func(what string, work func()) {
		runtime.GC()
		before, started := cpuTime(t), time.Now()
		h.apis.Requests()
		work()
		t.Logf("%d calendars of %d meetings, %s: %.1f s of CPU, %.1f s, %d requests, %d MiB of memory at most", calendars, meetings, what,
			(cpuTime(t) - before).Seconds(), time.Since(started).Seconds(), len(h.apis.Requests()), usage(t).Maxrss>>10)
	}
	change := func(c int) { h.apis.Set(fmt.Sprintf("calendar-%d", c), meeting(c, 0, 1)) }
	reads := 0
	measured("first read", func() {
		for h.RunNext(t.Context()) {
			reads++
		}
	})
	if span > 0 {
		measured(span.String(), func() { h.runFor(t, span, calendars, change) })
	} else {
		measured("an hour", func() {
			for minute := range 60 {
				for c := minute * calendars / 60; c < (minute+1)*calendars/60; c++ {
					change(c)
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

// runFor runs the service for some time with a clock that goes right, and changes each of
// some calendars once.
func (h *harness) runFor(t *testing.T, span time.Duration, calendars int, change func(calendar int)) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), span)
	defer stop()
	go func() {
		clock := time.NewTicker(100 * time.Millisecond)
		defer clock.Stop()
		started, last, changed := time.Now(), time.Now(), 0
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-clock.C:
				h.pass(now.Sub(last))
				for last = now; changed < calendars && time.Duration(changed)*span/time.Duration(calendars) < now.Sub(started); changed++ {
					change(changed)
				}
			}
		}
	}()
	h.Run(ctx)
}

// usage returns what this process has used.
func usage(t *testing.T) syscall.Rusage {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return used
}

// cpuTime returns the CPU time of this process.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	used := usage(t)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
