package calendar_test

import (
	"strings"
	"testing"

	"standin/internal/calendar"
)

// TestObstacle checks why events get no bot.
func TestObstacle(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"LOCATION:https://meet.google.com/abc-defg-hij": "",
		"LOCATION:Room 5": "has no link to a meeting of a known platform",
		"LOCATION:https://meet.google.com/abc-defg-hij\r\nX-MICROSOFT-CDO-ALLDAYEVENT:TRUE":                       "lasts all day",
		"DESCRIPTION:https://acme.webex.com/meet/ann":                                                             "Webex is not supported",
		"DESCRIPTION:https://nam.safelinks.protection.outlook.com/?url=https%3A%2F%2Facme.webex.com%2Fmeet%2Fann": "Webex is not supported",
		"DESCRIPTION:https://us06web.zoom.us/meeting/register/tZ0vde":                                             "registration page",
		"DESCRIPTION:https://events.teams.microsoft.com/event/1@2":                                                "registration page",
		"DESCRIPTION:Call +1 555 https://tel.meet/abc-defg-hij?pin=1":                                             "telephone numbers",
		"DESCRIPTION:https://protect-eu.mimecast.com/s/QxY?domain=us06web.zoom.us":                                "mail filter hides",
		"LOCATION:https://calendly.com/events/1-2/google_meet":                                                    "Calendly hides",
		"DESCRIPTION:https://us06web.zoom.us/j/839":                                                               "9 to 11 digits",
		"DESCRIPTION:https://acme.webex.com/meet/ann https://zoom.us/j/81234567890":                               "",
	} {
		parsed, err := calendar.ParseICS([]byte(inEvent("DTSTART:20261208T000000Z", "DTEND:20261209T000000Z", lines)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := parsed.Events[0].Obstacle(); !strings.Contains(got, want) || (got == "") != (want == "") || strings.HasSuffix(got, ".") {
			t.Errorf("%s: %q, want %q", lines, got, want)
		}
	}
}
