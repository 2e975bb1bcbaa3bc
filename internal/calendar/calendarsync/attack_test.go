package calendarsync_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAttackAttendees reads meetings with very many attendees, once and in a series.
func TestAttackAttendees(t *testing.T) { //nolint:paralleltest // it measures the time of the process
	h := newSQLiteHarness(t)
	attendees := func(n int) string {
		var lines strings.Builder
		for i := range n {
			fmt.Fprintf(&lines, "ATTENDEE:mailto:a%d@e.test|", i)
		}
		return lines.String()
	}
	daily := func(n int) (events []string) {
		for i := range n {
			events = append(events, fmt.Sprintf("UID:%d|", i)+friday+"RRULE:FREQ=DAILY|"+meet+"|"+attendees(2000))
		}
		return events
	}
	h.set("/many.ics", planning+friday+meet+"|"+attendees(120_000))
	h.set("/series.ics", daily(1)...)
	h.set("/all.ics", daily(170)...)
	h.set("/ann.ics", review+later+meet2)
	for _, test := range []struct{ path, problem string }{
		{"/many.ics", ""}, {"/series.ics", ""}, {"/all.ics", "its meetings take too much work"}, {"/ann.ics", ""},
	} {
		if testing.Short() && test.path == "/all.ics" {
			continue // make check-long reads it
		}
		id := h.connect(t, test.path, nil)
		before, began := processTime(t), time.Now()
		c, _, err := h.SyncNow(t.Context(), h.caller, id)
		spent := processTime(t) - before
		if err != nil || (c.Error == "") != (test.problem == "") || !strings.Contains(c.Error, test.problem) {
			t.Errorf("%s: %q, %v", test.path, c.Error, err)
		}
		t.Logf("%s: %d bytes took %s, %s of the CPU", test.path, len(h.feeds[test.path]), time.Since(began), spent)
		if spent > 5*time.Second {
			t.Errorf("%s took %s of the CPU", test.path, spent)
		}
		if test.path == "/many.ics" {
			if events := h.events(t, id); len(events) != 1 || events[0].Attendees != 2001 { // with the organizer
				t.Errorf("events with many attendees: %d, %d attendees", len(events), events[0].Attendees)
			}
		}
	}
}

// processTime returns how long the process has used the CPU.
func processTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
