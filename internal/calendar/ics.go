package calendar

import (
	"net/url"
	"regexp"
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
	UID           string
	Original      time.Time // UTC; RECURRENCE-ID: when the occurrence of a series originally started; else zero
	ThisAndFuture bool      // a changed occurrence and those after it
	Sequence      int       // revision of the event; higher is newer
	Stamp         time.Time // UTC; DTSTAMP, which decides between equal sequences; may be zero
	Series        *Series   // nil unless it recurs; its first occurrence is at Start
	Cancelled     bool      // the calendar's method or the event's status says so

	Summary   string
	Organizer string    // mail address; empty when there is none
	Attendees []string  // mail addresses
	Start     time.Time // UTC; zero only in a cancellation without one
	End       time.Time // UTC; Start when unknown
	Zone      string    // IANA name of the zone in which people see Start; empty if unknown
	AllDay    bool      // Start is a date's first moment
	Floating  bool      // Start has no zone; Zone, from X-WR-TIMEZONE, or else UTC was assumed

	MeetingURL string // empty if no meeting of a known platform was found
	Platform   job.Platform
}

// ParseICS parses a calendar file (RFC 5545) of at most MaxICS bytes. It
// returns an *ICSError if the file is malformed or the start of an event is
// uncertain: a bot at the wrong time is worse than none. Other errors are those of
// the budget.
func ParseICS(text []byte, budget *Budget) (Calendar, error) {
	components, err := parseComponents(string(text), budget)
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
		events, err := readEvents(c, budget)
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

func readEvents(calendar *component, budget *Budget) ([]Event, error) {
	zones, err := newZones(calendar, budget)
	if err != nil {
		return nil, err
	}
	cancelled := strings.EqualFold(strings.TrimSpace(calendar.text("METHOD")), "CANCEL")
	var events []Event
	for _, child := range calendar.children {
		if child.name != "VEVENT" {
			continue
		}
		event, err := readEvent(child, zones, cancelled, budget)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}

func readEvent(c *component, zones *zones, cancelled bool, budget *Budget) (event Event, err error) {
	event = Event{
		UID:       strings.TrimSpace(c.text("UID")),
		Cancelled: cancelled || strings.EqualFold(strings.TrimSpace(c.text("STATUS")), "CANCELLED"),
		Summary:   strings.TrimSpace(c.text("SUMMARY")),
	}
	if p := c.first("ORGANIZER"); p != nil {
		event.Organizer = mailAddress(p)
	}
	for i := range c.properties {
		if p := &c.properties[i]; p.name == "ATTENDEE" {
			if address := mailAddress(p); address != "" {
				event.Attendees = append(event.Attendees, address)
			}
		}
	}
	if n, ok := number(strings.TrimSpace(c.text("SEQUENCE")), 0, 1<<31-1); ok {
		event.Sequence = n
	}
	if p := c.first("DTSTAMP"); p != nil {
		event.Stamp, _, _, _ = zones.moment(p) // an unreadable stamp is as none
	}
	if p := c.first("RECURRENCE-ID"); p != nil {
		if event.Original, _, _, err = zones.moment(p); err != nil {
			return event, err
		}
		event.ThisAndFuture = strings.EqualFold(p.parameters["RANGE"], "THISANDFUTURE")
	}
	if event.MeetingURL, event.Platform, err = meetingOf(c, budget); err != nil {
		return event, err
	}
	start := c.first("DTSTART")
	if start == nil {
		if !event.Cancelled {
			err = &ICSError{LineNumber: c.lineNumber, Reason: "event without DTSTART"}
		}
		return event, err
	}
	if event.Start, event.AllDay, event.Floating, err = zones.moment(start); err != nil {
		return event, err
	}
	if event.Start.IsZero() { // the start of year 1
		return event, &ICSError{LineNumber: start.lineNumber, Reason: "DTSTART is not the time of a meeting"}
	}
	event.Zone = zones.shown(start)
	event.End = endOf(c, zones, event.Start)
	if !event.Cancelled && !event.AllDay {
		event.Series, err = readSeries(c, zones, start, budget)
	}
	return event, err
}

// endOf returns the end of an event: DTEND, or DURATION after its start. It
// returns the start if neither is readable.
func endOf(c *component, zones *zones, start time.Time) time.Time {
	end := start
	if p := c.first("DTEND"); p != nil {
		if at, _, _, err := zones.moment(p); err == nil {
			end = at
		}
	} else if d, ok := readDuration(c.text("DURATION")); ok {
		end = start.Add(d)
	}
	if end.Before(start) {
		return start
	}
	return end
}

// duration is the form of a DURATION (RFC 5545, section 3.3.6).
var duration = regexp.MustCompile(`^\+?P(?:(\d{1,3})W)?(?:(\d{1,3})D)?(?:T(?:(\d{1,4})H)?(?:(\d{1,6})M)?(?:(\d{1,8})S)?)?$`)

func readDuration(text string) (sum time.Duration, ok bool) {
	parts := duration.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return 0, false
	}
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second} {
		n, _ := number(parts[1+i], 0, 1<<31-1) // a missing part is 0
		sum += time.Duration(n) * unit
	}
	return sum, true
}

// ID identifies the event, or one occurrence of a series, among the events of
// its organizer. An occurrence keeps its ID when it is moved.
func (e Event) ID() string {
	if e.UID == "" || e.Original.IsZero() {
		return e.UID
	}
	return e.UID + "/" + e.Original.Format("20060102T150405Z")
}

// Invite returns the invite of the event, or of one occurrence of a series.
func (e Event) Invite() Invite {
	return Invite{
		OrganizerEmail: e.Organizer, Subject: e.Summary, MeetingURL: e.MeetingURL,
		Platform: e.Platform, JoinAt: e.Start, ICalUID: e.ID(),
	}
}

// mailAddress returns the mail address of an ORGANIZER or ATTENDEE: its mailto value,
// or the EMAIL parameter (RFC 7986, section 6.2); empty if it has none.
func mailAddress(p *property) string {
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
func meetingOf(c *component, budget *Budget) (string, job.Platform, error) {
	for _, source := range meetingSources {
		for i := range c.properties {
			p := &c.properties[i]
			if p.name != source {
				continue
			}
			if err := budget.Spend(1 + len(p.value)/16); err != nil {
				return "", "", err
			}
			for _, text := range readings(p) {
				if address, platform, found := FindMeeting(text); found {
					return address, platform, nil
				}
			}
		}
	}
	return "", "", nil
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
