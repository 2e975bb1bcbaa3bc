package calendarsync_test

import (
	"flag"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/google/uuid"

	"standin/internal/calendar/calendarsync"
)

var update = flag.Bool("update", false, "update testdata/corpus.txt")

// TestCorpus reads the calendars of testdata/corpus.txt, which are written as calendar
// programs write them, or as they should not, and compares their meetings of the next 30
// days: start in UTC, and the link or why there is no bot. The library
// recurring-ical-events for Python finds the same meetings, but for those that are
// cancelled as a whole, cannot be told apart, end before they start, or repeat each hour.
func TestCorpus(t *testing.T) {
	t.Parallel()
	const file = "testdata/corpus.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h := newSQLiteHarness(t)
	var updated strings.Builder
	cases := strings.Split(string(text), "\n== ")[1:]
	for _, one := range cases {
		name, rest, _ := strings.Cut(one, "\n")
		want, calendar, found := strings.Cut(rest, "BEGIN:VCALENDAR")
		if !found {
			t.Fatalf("%s has no calendar", name)
		}
		h.mu.Lock()
		h.feeds["/"+name] = strings.ReplaceAll("BEGIN:VCALENDAR"+strings.TrimRight(calendar, "\n"), "\n", "\r\n") + "\r\n"
		h.mu.Unlock()
		id := h.connect(t, "/"+name, nil)
		got := h.corpusLines(t, id)
		if got != want && !*update {
			t.Errorf("%s:\n%swant:\n%s", name, got, want)
		}
		fmt.Fprintf(&updated, "\n== %s\n%sBEGIN:VCALENDAR%s", name, got, strings.TrimRight(calendar, "\n")+"\n")
	}
	if len(cases) < 80 {
		t.Errorf("the corpus has %d calendars", len(cases))
	}
	if *update {
		head, _, _ := strings.Cut(string(text), "\n== ")
		if err := os.WriteFile(file, []byte(head+updated.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// corpusLines reads a calendar and returns a line for each of its meetings.
func (h *harness) corpusLines(t *testing.T, id uuid.UUID) string {
	t.Helper()
	c, _, err := h.SyncNow(t.Context(), h.caller, id)
	if err != nil {
		t.Fatal(err)
	}
	if c.State != calendarsync.Active {
		return c.Error + "\n"
	}
	var b strings.Builder
	for _, e := range h.events(t, id) {
		outcome := e.Reason
		if e.Record {
			outcome = path.Base(e.MeetingURL)
		}
		fmt.Fprintf(&b, "%s %s\n", e.Start.Format("01-02 15:04"), outcome)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}
