package calendar

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"standin/internal/job"
)

// maxEvents bounds the events of one calendar text.
const maxEvents = 200

// Calendar is what a calendar text says of meetings.
type Calendar struct {
	Method string // REQUEST, CANCEL, …, upper case; empty when it names none
	Events []Event
}

// Event is one VEVENT (RFC 5545, section 3.6.1).
type Event struct {
	UID          string
	RecurrenceID string // of a change to one occurrence of a series, as it stands; else empty
	Sequence     int    // of two texts on the same event the higher one is newer
	Recurring    bool   // it stands for a series, of which Start is the first
	Cancelled    bool   // by the calendar's method or the event's status

	Summary   string
	Organizer string    // mail address; empty when there is none
	Start     time.Time // UTC; zero only in a cancellation without one
	AllDay    bool      // Start is a date's first moment
	Floating  bool      // Start names no zone: it was read in the calendar's X-WR-TIMEZONE, else in UTC

	MeetingURL string // empty when no meeting of a known platform was found
	Platform   job.Platform
}

// ParseICS reads a calendar text (RFC 5545) of at most MaxICS bytes. It is an
// *ICSError when the text is no whole calendar, or when an event's start cannot
// be told for certain: a bot that comes at the wrong time is worse than none.
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
		return Calendar{}, &ICSError{Reason: "it holds no VCALENDAR"}
	}
	if len(found.Events) > maxEvents {
		return Calendar{}, &ICSError{Reason: "it holds more than " + strconv.Itoa(maxEvents) + " events"}
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
		if err == nil && event.Start.IsZero() { // the first moment of year 1, which stands for none
			err = &ICSError{Line: start.line, Reason: "DTSTART is no time of a meeting"}
		}
	case !event.Cancelled:
		err = &ICSError{Line: c.line, Reason: "an event has no DTSTART"}
	}
	return event, err
}

// Invite is what the event asks for. A change to one occurrence of a series is
// known by an icalUid of its own, so that it does not move the series.
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

// organizer returns the mail address of an ORGANIZER: its mailto value, or the
// EMAIL parameter of programs that put something else there (RFC 7986, section
// 6.2).
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

// meetingSources are the properties in which programs put a meeting's address:
// those that are for nothing else first, running text last.
var meetingSources = [...]string{
	"X-GOOGLE-CONFERENCE", "X-MICROSOFT-SKYPETEAMSMEETINGURL", "X-MICROSOFT-ONLINEMEETINGINFORMATION",
	"CONFERENCE", "LOCATION", "URL", "X-ALT-DESC", "DESCRIPTION",
}

// meetingOf finds the address of an event's meeting.
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

// readings are the ways in which a property's value may be meant: as text with
// escapes, as it stands, which is how a URI is written, or as HTML.
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

// plainHTML undoes the entities that stand in and around addresses. Others
// are left alone: &copy may well be a parameter.
var plainHTML = strings.NewReplacer("&amp;", "&", "&nbsp;", " ", "&lt;", "<", "&gt;", ">", "&quot;", `"`)
