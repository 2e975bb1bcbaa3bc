package calendar

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"standin/internal/job"
)

// maxEvents limits the events of a calendar file.
const maxEvents = 200

// Calendar is the content of a calendar file.
type Calendar struct {
	Method string // REQUEST, CANCEL, … in upper case; may be empty
	Events []Event
}

// Event is one VEVENT (RFC 5545, section 3.6.1).
type Event struct {
	UID          string
	RecurrenceID string // identifies the changed occurrence of a series, as written; else empty
	Sequence     int    // revision of the event; higher is newer
	Recurring    bool   // a series, whose first occurrence is at Start
	Cancelled    bool   // by the calendar's method or the event's status

	Summary   string
	Organizer string    // mail address; empty when there is none
	Start     time.Time // UTC; zero only in a cancellation without one
	AllDay    bool      // Start is a date's first moment
	Floating  bool      // Start has no zone; X-WR-TIMEZONE or else UTC was assumed

	MeetingURL string // empty if no meeting of a known platform was found
	Platform   job.Platform
}

// ParseICS parses a calendar file (RFC 5545) of at most MaxICS bytes. It
// returns an *ICSError if the file is malformed or the start of an event is
// uncertain: a bot at the wrong time is worse than none.
func ParseICS(text []byte) (Calendar, error) {
	components, err := parseComponents(string(text))
	if err != nil {
		return Calendar{}, err
	}
	var found Calendar
	calendars := 0
	for _, c := range components {
		if c.name != "VCALENDAR" {
			continue
		}
		calendars++
		if found.Method == "" {
			found.Method = strings.ToUpper(strings.TrimSpace(c.text("METHOD")))
		}
		events, err := readEvents(c)
		if err != nil {
			return Calendar{}, err
		}
		found.Events = append(found.Events, events...)
	}
	if calendars == 0 {
		return Calendar{}, &ICSError{Reason: "no VCALENDAR"}
	}
	if len(found.Events) > maxEvents {
		return Calendar{}, &ICSError{Reason: "more than " + strconv.Itoa(maxEvents) + " events"}
	}
	return found, nil
}

func readEvents(calendar *component) ([]Event, error) {
	zones := newZones(calendar)
	cancelled := strings.EqualFold(strings.TrimSpace(calendar.text("METHOD")), "CANCEL")
	var events []Event
	for _, child := range calendar.children {
		if child.name != "VEVENT" {
			continue
		}
		event, err := readEvent(child, zones, cancelled)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}

func readEvent(c *component, zones *zones, cancelled bool) (event Event, err error) {
	event = Event{
		UID:       strings.TrimSpace(c.text("UID")),
		Recurring: c.first("RRULE") != nil || c.first("RDATE") != nil,
		Cancelled: cancelled || strings.EqualFold(strings.TrimSpace(c.text("STATUS")), "CANCELLED"),
		Summary:   strings.TrimSpace(c.text("SUMMARY")),
		Organizer: organizer(c.first("ORGANIZER")),
	}
	if p := c.first("RECURRENCE-ID"); p != nil {
		event.RecurrenceID = strings.TrimSpace(p.value)
	}
	if n, ok := number(strings.TrimSpace(c.text("SEQUENCE")), 0, 1<<31-1); ok {
		event.Sequence = n
	}
	event.MeetingURL, event.Platform = meetingOf(c)
	start := c.first("DTSTART")
	switch {
	case start != nil:
		event.Start, event.AllDay, event.Floating, err = zones.moment(start)
		if err == nil && event.Start.IsZero() { // the start of year 1
			err = &ICSError{LineNumber: start.lineNumber, Reason: "DTSTART is not the time of a meeting"}
		}
	case !event.Cancelled:
		err = &ICSError{LineNumber: c.lineNumber, Reason: "event without DTSTART"}
	}
	return event, err
}

// Invite returns the invite of the event. A changed occurrence of a series has
// its own ICalUID, so that it does not move the series.
func (e Event) Invite() Invite {
	uid := e.UID
	if uid != "" && e.RecurrenceID != "" {
		uid += "/" + e.RecurrenceID
	}
	return Invite{
		OrganizerEmail: e.Organizer, Subject: e.Summary, MeetingURL: e.MeetingURL,
		Platform: e.Platform, JoinAt: e.Start, ICalUID: uid,
	}
}

// organizer returns the mail address of ORGANIZER: its mailto value, or the
// EMAIL parameter (RFC 7986, section 6.2).
func organizer(p *property) string {
	if p == nil {
		return ""
	}
	value := strings.TrimSpace(p.value)
	if scheme, address, found := strings.Cut(value, ":"); found && strings.EqualFold(scheme, "mailto") {
		address, _, _ = strings.Cut(address, "?")
		if decoded, err := url.PathUnescape(address); err == nil {
			address = decoded
		}
		if address = strings.TrimSpace(address); validEmail(address) {
			return address
		}
	}
	if address := strings.TrimSpace(p.parameters["EMAIL"]); validEmail(address) {
		return address
	}
	return ""
}

// meetingSources are the properties that may contain the meeting URL, most
// specific first.
var meetingSources = [...]string{
	"X-GOOGLE-CONFERENCE", "X-MICROSOFT-SKYPETEAMSMEETINGURL", "X-MICROSOFT-ONLINEMEETINGINFORMATION",
	"CONFERENCE", "LOCATION", "URL", "X-ALT-DESC", "DESCRIPTION",
}

// meetingOf finds the meeting URL of an event.
func meetingOf(c *component) (string, job.Platform) {
	for _, source := range meetingSources {
		for i := range c.properties {
			p := &c.properties[i]
			if p.name != source {
				continue
			}
			for _, text := range readings(p) {
				if address, platform, found := FindMeeting(text); found {
					return address, platform
				}
			}
		}
	}
	return "", ""
}

// readings returns the possible interpretations of a value: HTML, escaped
// text, and a URI.
func readings(p *property) []string {
	text := p.text()
	all := []string{plainHTML.Replace(text)}
	for _, other := range []string{text, p.value} {
		if other != all[len(all)-1] {
			all = append(all, other)
		}
	}
	return all
}

// plainHTML decodes the entities in and around URLs. Others are kept: &copy
// may be a query parameter.
var plainHTML = strings.NewReplacer("&amp;", "&", "&nbsp;", " ", "&lt;", "<", "&gt;", ">", "&quot;", `"`)
