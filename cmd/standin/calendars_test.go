package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"standin/internal/jobs/job"
)

// TestCalendars connects a calendar, lists and switches its meeting, and disconnects it.
func TestCalendars(t *testing.T) {
	t.Parallel()
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/secret.ics" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprintf(w,
			"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nSUMMARY:Review\r\nDTSTART:%s\r\nLOCATION:https://meet.google.com/abc-defg-hij\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
			time.Now().Add(24*time.Hour).UTC().Format("20060102T150405Z"))
	}))
	t.Cleanup(feed.Close)
	c := newCLI(t, job.Live)
	c.values["ADDRESS"], c.values["NOTHING"] = c.file("address", feed.URL+"/secret.ics\n"), c.file("nothing", feed.URL+"/nothing.ics")
	c.rows(
		row{"calendars connect Ada --address-file $ADDRESS", 0, `^(?P<ID>\S+) +active: upcoming meetings: 1, with a bot: 1\n$`, ``},
		row{"calendars events $ID", 0, `^[^\n]+\n(?P<EVENT>\S+) [^\n]*recorded: the calendar records all meetings but private ones, because the email address of its owner is unknown\n$`, ``},
		row{"calendars switch $ID $EVENT off", 0, `^not recorded: it was switched off\n$`, ``},
		row{"calendars switch $ID $EVENT on", 0, `^recorded: it was switched on\n$`, ``},
		row{"calendars sync $ID --json", 0, `"state": "active"`, ``},
		row{"calendars list", 0, `^[^/]*$ID`, ``},
		row{"calendars disconnect $ID", 0, ``, ``},
		row{"calendars list --json", 0, `^\[\]\n$`, ``},
		row{"calendars connect Ada --address-file $NOTHING", exitFailed, ``, `there is no calendar at this address \(404\)`},
	)
}
