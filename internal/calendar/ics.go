package calendar

import (
	"cmp"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"standin/internal/base/meetinglink"
	"standin/internal/jobs/job"
)

// Calendar is the content of a calendar file.
type Calendar struct {
	Method string // REQUEST, CANCEL, … in upper case; may be empty
	Events []Event
}

// Event is one VEVENT (RFC 5545, section 3.6.1).
type Event struct {
	UID           string    // empty also if it is unknown which occurrence of a series the event is
	Original      time.Time // UTC; RECURRENCE-ID: when the occurrence of a series originally started; else zero
	ThisAndFuture bool      // a changed occurrence and those after it
	Sequence      int       // revision of the event; higher is newer
	Stamp         time.Time // UTC; DTSTAMP, which decides between equal sequences; may be zero
	Modified      time.Time // UTC; LAST-MODIFIED; may be zero
	Series        *Series   // nil unless it recurs; its first occurrence is at Start
	Cancelled     bool      // the calendar's method or the event's status says so
	Private       bool      // its owner shows others only that it exists

	Summary     string
	Description string
	Organizer   string            // mail address; empty when there is none
	Attendees   []string          // mail addresses
	Responses   map[string]string // PARTSTAT of the attendees that have one, by mail address in lower case
	Start       time.Time         // UTC; zero only in a cancellation without one
	End         time.Time         // UTC; Start when unknown
	Zone        string            // IANA name of the zone in which people see Start; empty if unknown
	AllDay      bool              // Start is a date's first moment
	Floating    bool              // Start has no zone; Zone, from X-WR-TIMEZONE, or else UTC was assumed

	MeetingURL  string // empty if no meeting of a known platform was found
	Platform    job.Platform
	LinkProblem string // a sentence that says why the link that was found instead cannot be used; may be empty

	// Problem says why the event cannot be read completely, such as "DTSTART is in an
	// unknown time zone"; empty if it can.
	Problem string
}

// ParseICS parses a calendar file (RFC 5545) within the limits of a budget. It
// returns an *ICSError if the file is malformed. An event whose start is uncertain
// has a Problem: a bot at the wrong time is worse than none. Other errors are those
// of the budget. allowedHosts are meeting hosts beside those of the platforms, as in
// meetinglink.Resolve.
func ParseICS(text []byte, budget *Budget, allowedHosts ...string) (found Calendar, err error) {
	components, err := parseComponents(string(Text(text)), budget)
	if err != nil {
		return found, err
	}
	calendars := 0
	for _, c := range components {
		if c.name != "VCALENDAR" {
			continue
		}
		calendars++
		if found.Method == "" {
			found.Method = strings.ToUpper(c.trimmed("METHOD"))
		}
		zones, err := newZones(c, budget)
		if err != nil {
			return found, err
		}
		starts := make(map[string]*property) // DTSTART of whole events, by UID
		for _, child := range c.children {
			if child.name == "VEVENT" && child.first("RECURRENCE-ID") == nil {
				starts[child.trimmed("UID")] = child.first("DTSTART")
			}
		}
		for _, child := range c.children {
			if child.name != "VEVENT" {
				continue
			}
			event, err := readEvent(child, zones, starts, budget, allowedHosts)
			var problem *ICSError
			switch {
			case errors.Is(err, ErrTooExpensive):
				return found, err
			case errors.As(err, &problem):
				event.Problem, event.Series = problem.Reason, nil
			case err != nil:
				return found, err
			}
			if IsCancelled(c.text("METHOD")) || IsCancelled(child.text("METHOD")) || IsCancelled(child.text("STATUS")) {
				event.Cancelled, event.Series = true, nil
				if event.UID != "" {
					event.Problem = ""
				}
			}
			found.Events = append(found.Events, event)
		}
	}
	if calendars == 0 {
		return found, &ICSError{"no VCALENDAR"}
	}
	if limit := budget.limits().events; len(found.Events) > limit {
		return found, &ICSError{"more than " + strconv.Itoa(limit) + " events"}
	}
	return found, nil
}

// IsCancelled reports whether a METHOD or STATUS says that an event is cancelled, in one
// of the spellings that programs use.
func IsCancelled(text string) bool {
	switch strings.ToUpper(strings.TrimSpace(text)) {
	case "CANCEL", "CANCELLED", "CANCELED":
		return true
	}
	return false
}

// IsPrivate reports whether a CLASS, or what the APIs of calendars have in its place, is not
// one for everybody. Unknown ones are private (RFC 5545, section 3.8.1.3).
func IsPrivate(class string) bool {
	return !slices.Contains([]string{"", "public", "default", "normal"}, strings.ToLower(strings.TrimSpace(class)))
}

// readEvent reads a VEVENT as far as possible. starts are the DTSTART properties of
// whole events by UID.
func readEvent(c *component, zones *zones, starts map[string]*property, budget *Budget, allowedHosts []string) (event Event, err error) {
	event = Event{UID: c.trimmed("UID"), Summary: c.trimmed("SUMMARY"), Description: c.text("DESCRIPTION")}
	event.Private = IsPrivate(c.text("CLASS"))
	if p := c.first("ORGANIZER"); p != nil {
		event.Organizer = mailAddress(p)
	}
	for i := range c.properties {
		if p := &c.properties[i]; p.name == "ATTENDEE" {
			event.AddAttendee(mailAddress(p), p.parameters["PARTSTAT"])
		}
	}
	if n, ok := number(c.trimmed("SEQUENCE"), 0, 1<<31-1); ok {
		event.Sequence = n
	}
	zones.written = time.Time{}
	if p := c.first("DTSTAMP"); p != nil {
		event.Stamp, _, _, _ = zones.moment(p) // an unreadable stamp is as none
	}
	zones.written = event.Stamp
	if p := c.first("LAST-MODIFIED"); p != nil {
		event.Modified, _, _, _ = zones.moment(p)
	}
	if err = event.readMeeting(c, budget, allowedHosts); err != nil {
		return event, err
	}
	start := c.first("DTSTART")
	if p := c.first("RECURRENCE-ID"); p != nil {
		first := cmp.Or(starts[event.UID], start)
		inZone := inZoneOf(first, *p)
		if first != nil && len(strings.TrimSpace(p.value)) == len("20060102") { // a date is the occurrence on that day
			if _, clock, timed := strings.Cut(strings.TrimSpace(first.value), "T"); timed {
				inZone = &property{name: p.name, parameters: first.parameters, value: strings.TrimSpace(p.value) + "T" + clock}
			}
		}
		if event.Original, _, _, err = zones.moment(inZone); err != nil {
			event.UID = ""
			return event, err
		}
		event.ThisAndFuture = strings.EqualFold(p.parameters["RANGE"], "THISANDFUTURE")
	}
	if start == nil {
		return event, &ICSError{"DTSTART is missing"}
	}
	if event.Start, event.AllDay, event.Floating, err = zones.moment(start); err != nil {
		return event, err
	}
	if event.Start.IsZero() { // the start of year 1
		return event, &ICSError{"DTSTART is not the time of a meeting"}
	}
	event.Zone = zones.shown(start, event.Start)
	event.End = event.Start // if neither DTEND nor DURATION is readable
	if p := c.first("DTEND"); p != nil {
		if at, _, _, err := zones.moment(p); err == nil {
			event.End = at
		}
	} else if parts := duration.FindStringSubmatch(c.trimmed("DURATION")); parts != nil {
		for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second} {
			n, _ := number(parts[1+i], 0, 1<<31-1) // a missing part is 0
			event.End = event.End.Add(time.Duration(n) * unit)
		}
	}
	if event.End.Before(event.Start) {
		event.End = event.Start
	}
	// Exchange writes an all-day event from midnight to midnight.
	event.AllDay = event.AllDay || strings.EqualFold(c.trimmed("X-MICROSOFT-CDO-ALLDAYEVENT"), "TRUE")
	if !event.AllDay {
		event.Series, err = readSeries(c, zones, start, budget)
	}
	return event, err
}

// duration is the form of a DURATION (RFC 5545, section 3.3.6).
var duration = regexp.MustCompile(`^\+?P(?:(\d{1,3})W)?(?:(\d{1,3})D)?(?:T(?:(\d{1,4})H)?(?:(\d{1,6})M)?(?:(\d{1,8})S)?)?$`)

// AddAttendee adds an attendee, whose PARTSTAT may be empty. Without an address it does nothing.
func (e *Event) AddAttendee(address, response string) {
	if address == "" {
		return
	}
	e.Attendees = append(e.Attendees, address)
	if response != "" {
		if e.Responses == nil {
			e.Responses = make(map[string]string)
		}
		e.Responses[strings.ToLower(address)] = response
	}
}

// ID identifies the event, or one occurrence of a series, among the events of
// its organizer. An occurrence keeps its ID when it is moved.
func (e Event) ID() string {
	if e.UID == "" || e.Original.IsZero() {
		return e.UID
	}
	return e.UID + "/" + e.Original.UTC().Format(OriginalLayout)
}

// OriginalLayout is how the original start of an occurrence is written in its ID.
const OriginalLayout = "20060102T150405Z"

// Invite returns the invite of the event, or of one occurrence of a series.
func (e Event) Invite() Invite {
	return Invite{
		OrganizerEmail: e.Organizer, Subject: e.Summary, MeetingURL: e.MeetingURL,
		Platform: e.Platform, JoinAt: e.Start, EndsAt: e.End, ICalUID: e.ID(),
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
// specific first. What a person writes into the location goes before the meeting that
// Google and Outlook add to every event.
var meetingSources = [...]string{
	"LOCATION", "X-GOOGLE-CONFERENCE", "X-MICROSOFT-SKYPETEAMSMEETINGURL", "X-MICROSOFT-ONLINEMEETINGINFORMATION",
	"CONFERENCE", "URL", "X-ALT-DESC", "DESCRIPTION", "SUMMARY", "COMMENT", "ATTACH",
}

// readMeeting finds the meeting URL of an event: the first one, in the most complete
// form.
func (e *Event) readMeeting(c *component, budget *Budget, allowedHosts []string) error {
	var links []meetinglink.Link
	add := func(text string) {
		found, problem := linksIn(text, allowedHosts)
		links, e.LinkProblem = append(links, found...), cmp.Or(e.LinkProblem, problem)
	}
	for _, source := range meetingSources {
		for i := range c.properties {
			p := &c.properties[i]
			if p.name != source {
				continue
			}
			if err := budget.Spend(1 + len(p.value)/16); err != nil {
				return err
			}
			add(p.text())
			if p.value != p.text() {
				add(p.value) // a URI, which has no escapes
			}
		}
	}
	if len(links) > 0 {
		best := bestOf(links)
		e.MeetingURL, e.Platform, e.LinkProblem = best.URL.String(), best.Platform, ""
	}
	return nil
}

// Obstacle returns why an event that is not cancelled can get no bot, such as "lasts all
// day"; empty if it can. It has no period at its end.
func (e Event) Obstacle() string {
	switch {
	case e.Problem != "":
		return "cannot be scheduled: " + e.Problem
	case e.AllDay:
		return "lasts all day"
	case e.Floating && e.Zone == "":
		return "has no time zone, so its start is uncertain"
	case e.MeetingURL != "":
		return ""
	}
	_, problem := linksIn(e.Description, nil) // of an event that a calendar's API has returned
	if problem = cmp.Or(e.LinkProblem, problem); problem != "" {
		return "has no link that a bot can use: " + strings.TrimSuffix(problem, ".")
	}
	return "has no link to a meeting of a known platform"
}
