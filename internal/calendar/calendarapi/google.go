package calendarapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar"
)

// googlePage is a response of events.list
// (https://developers.google.com/workspace/calendar/api/v3/reference/events/list).
type googlePage struct {
	TimeZone      string
	Items         []googleEvent
	NextPageToken string
	NextSyncToken string
}

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

// googleChanged implements Changed with a sync token. The first page that has an event
// tells enough.
func (c *Calendar) googleChanged(ctx context.Context, position string) (changed bool, next string, err error) {
	query := url.Values{"singleEvents": {"true"}, "maxResults": {"500"}, "syncToken": {position}}
	for range maxPages {
		var page googlePage
		if err := c.call(ctx, http.MethodGet, c.googleCalendar()+"/events?"+query.Encode(), nil, &page); err != nil {
			return false, "", err
		}
		if len(page.Items) > 0 || page.NextPageToken == "" {
			return len(page.Items) > 0, page.NextSyncToken, nil
		}
		query.Set("pageToken", page.NextPageToken)
	}
	return true, "", nil
}

// googleList implements List.
func (c *Calendar) googleList(ctx context.Context, owner string, from, to time.Time) (events []calendar.Event, position string, err error) {
	query := url.Values{
		"singleEvents": {"true"}, "maxResults": {"500"},
		"timeMin": {from.UTC().Format(time.RFC3339)}, "timeMax": {to.UTC().Format(time.RFC3339)},
	}
	for range maxPages {
		var page googlePage
		if err := c.call(ctx, http.MethodGet, c.googleCalendar()+"/events?"+query.Encode(), nil, &page); err != nil {
			return nil, "", err
		}
		for _, e := range page.Items {
			if len(events) < maxEvents && e.ICalUID != "" {
				events = append(events, e.event(owner, page.TimeZone, c.api.hosts))
			}
		}
		if page.NextPageToken == "" {
			return events, page.NextSyncToken, nil
		}
		query.Set("pageToken", page.NextPageToken)
	}
	return nil, "", errTooMany(Google)
}

// event returns the event as one of a calendar file.
func (e googleEvent) event(owner, zone string, hosts []string) calendar.Event {
	found := calendar.Event{
		UID: e.ICalUID, Sequence: e.Sequence, Modified: e.Updated, Cancelled: calendar.IsCancelled(e.Status),
		Summary: strings.TrimSpace(e.Summary), Description: e.Description, Organizer: e.Organizer.address(owner),
		Responses: make(map[string]string),
		Private:   calendar.IsPrivate(e.Visibility),
		Start:     e.Start.DateTime.UTC(), End: e.End.DateTime.UTC(), Zone: calendar.ZoneName(cmp.Or(e.Start.TimeZone, zone)),
	}
	if e.RecurringEventID != "" {
		found.Original = e.OriginalStartTime.at(found.Zone)
	}
	if e.Start.Date != "" {
		found.AllDay, found.Start, found.End = true, e.Start.at(found.Zone), e.End.at(found.Zone)
	}
	if found.Start.IsZero() {
		found.Problem = "it has no start"
	}
	for _, a := range e.Attendees {
		if address := a.address(owner); address != "" && !a.Resource {
			found.Attendees = append(found.Attendees, address)
			found.Responses[strings.ToLower(address)] = partstats[a.ResponseStatus]
		}
	}
	var texts []string
	for _, entry := range e.ConferenceData.EntryPoints {
		if entry.EntryPointType == "video" {
			texts = append(texts, entry.URI)
		}
	}
	texts = append(texts, e.HangoutLink, e.Location, e.Description, e.Summary)
	found.MeetingURL, found.Platform, _ = calendar.FindMeeting(strings.Join(texts, "\n"), hosts...)
	return found
}

// at returns a date's first moment in a zone, or a time.
func (t googleTime) at(zone string) time.Time {
	if t.Date == "" {
		return t.DateTime.UTC()
	}
	at, _ := time.ParseInLocation(time.DateOnly, t.Date, calendar.Location(zone)) // zero if it is no date
	return at.UTC()
}

// googleOwner implements Owner: the ID of a person's main calendar is the address.
func (c *Calendar) googleOwner(ctx context.Context) (string, error) {
	var found struct{ ID string }
	if err := c.call(ctx, http.MethodGet, c.googleCalendar(), nil, &found); err != nil {
		return "", err
	}
	if strings.HasSuffix(found.ID, "calendar.google.com") { // of a group
		return "", nil
	}
	return found.ID, nil
}

// googleWatch implements Watch
// (https://developers.google.com/workspace/calendar/api/guides/push). A channel cannot be
// renewed, so a new one replaces it.
func (c *Calendar) googleWatch(ctx context.Context, former Watch, address string) (Watch, error) {
	var channel struct {
		ID, ResourceID string
		Expiration     json.Number // milliseconds, as a text or number
	}
	body := map[string]any{
		"id": uuid.NewString(), "type": "web_hook", "address": address, "params": map[string]string{"ttl": "604800"},
	}
	if err := c.call(ctx, http.MethodPost, c.googleCalendar()+"/events/watch", body, &channel); err != nil {
		return former, err
	}
	if former.ID != "" {
		_ = c.Unwatch(ctx, former) // it expires anyway
	}
	expires, _ := channel.Expiration.Int64() // replaced soon without one
	return Watch{ID: channel.ID, Resource: channel.ResourceID, Expires: time.UnixMilli(expires).UTC()}, nil
}
