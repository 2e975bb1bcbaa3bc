package calendarapi

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"standin/internal/calendar"
)

// googleEvent is an event
// (https://developers.google.com/workspace/calendar/api/v3/reference/events).
type googleEvent struct {
	ICalUID           string
	Status            string
	Updated           time.Time
	Sequence          int
	Summary           string
	Description       string
	Location          string
	Organizer         googleAttendee
	Visibility        string // default, public, private, confidential
	Attendees         []googleAttendee
	Start, End        googleTime
	RecurringEventID  string
	OriginalStartTime googleTime
	HangoutLink       string
	ConferenceData    struct {
		EntryPoints []struct{ EntryPointType, URI string }
	}
}

type googleAttendee struct {
	Email          string
	ResponseStatus string // needsAction, declined, tentative, accepted
	Resource       bool   // a room
	Self           bool   // the owner of the calendar, whatever the address
}

// address returns the mail address; that of the calendar's owner for its owner's aliases.
func (a googleAttendee) address(owner string) string {
	if a.Self && owner != "" {
		return owner
	}
	return a.Email
}

// googleTime is a date, or a time.
type googleTime struct {
	Date     string
	DateTime time.Time
	TimeZone string
}

func (c *Calendar) googleCalendar() string {
	return c.api.settings.GoogleURLs.Calendar + "/calendars/" + segment(cmp.Or(c.access.CalendarID, "primary"))
}

// segment returns a text as a segment of a path.
func segment(text string) string {
	if strings.Trim(text, ".") == "" { // would be another path
		return "%20"
	}
	return url.PathEscape(text)
}

// googleEvents returns the address of a list of events.
func (c *Calendar) googleEvents(query url.Values) string {
	query["singleEvents"], query["maxResults"] = []string{"true"}, []string{"500"}
	return c.googleCalendar() + "/events?" + query.Encode()
}

// event returns the event as one of a calendar file.
func (e googleEvent) event(owner, zone string) (found calendar.Event, texts []string) {
	found = calendar.Event{
		UID: e.ICalUID, Sequence: e.Sequence, Modified: e.Updated, Cancelled: calendar.IsCancelled(e.Status),
		Summary: strings.TrimSpace(e.Summary), Description: e.Description, Organizer: e.Organizer.address(owner),
		Private: calendar.IsPrivate(e.Visibility),
		Start:   e.Start.DateTime.UTC(), End: e.End.DateTime.UTC(), Zone: calendar.ZoneName(cmp.Or(e.Start.TimeZone, zone)),
	}
	if e.RecurringEventID != "" {
		found.Original = e.OriginalStartTime.at(found.Zone)
	}
	if e.Start.Date != "" {
		found.AllDay, found.Start, found.End = true, e.Start.at(found.Zone), e.End.at(found.Zone)
	}
	for _, a := range e.Attendees {
		if !a.Resource {
			found.AddAttendee(a.address(owner), partstats[a.ResponseStatus])
		}
	}
	for _, entry := range e.ConferenceData.EntryPoints {
		if entry.EntryPointType == "video" {
			texts = append(texts, entry.URI)
		}
	}
	return found, append(texts, e.HangoutLink, e.Location, e.Description, e.Summary)
}

// at returns a date's first moment in a zone, or a time.
func (t googleTime) at(zone string) time.Time {
	if t.Date == "" {
		return t.DateTime.UTC()
	}
	at, _ := time.ParseInLocation(time.DateOnly, t.Date, calendar.Location(zone)) // zero if it is no date
	return at.UTC()
}
