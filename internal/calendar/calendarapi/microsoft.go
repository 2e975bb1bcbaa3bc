package calendarapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"standin/internal/calendar"
)

// watchTime is how long a subscription lasts: less than Microsoft's limit for events.
const watchTime = 4200 * time.Minute

// microsoftEvent is an event (https://learn.microsoft.com/graph/api/resources/event).
type microsoftEvent struct {
	ICalUID               string `json:"iCalUId"` // also tells the occurrences of a series apart
	Subject               string
	Body                  struct{ Content string }
	LastModifiedDateTime  time.Time
	Start, End            microsoftTime
	OriginalStartTimeZone string
	IsAllDay              bool
	IsCancelled           bool
	Sensitivity           string // normal, personal, private, confidential
	Organizer             microsoftPerson
	Attendees             []microsoftPerson
	ResponseStatus        microsoftResponse // of the owner of the calendar
	Location              struct{ DisplayName, LocationURI string }
	OnlineMeeting         struct{ JoinURL string }
	OnlineMeetingURL      string
}

// microsoftFields are those of microsoftEvent.
const microsoftFields = "iCalUId,subject,body,lastModifiedDateTime,start,end,originalStartTimeZone,isAllDay,isCancelled,sensitivity," +
	"organizer,attendees,responseStatus,location,onlineMeeting,onlineMeetingUrl"

type microsoftPerson struct {
	Type         string // required, optional, resource
	EmailAddress struct{ Address string }
	Status       microsoftResponse
}

// microsoftResponse is none, organizer, tentativelyAccepted, accepted, declined or
// notResponded.
type microsoftResponse struct{ Response string }

// microsoftTime is a time in UTC, as requests ask for.
type microsoftTime struct{ DateTime string }

// at returns the time; zero if it is none.
func (t microsoftTime) at() time.Time {
	at, _ := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(t.DateTime, "Z"))
	return at
}

func (c *Calendar) graph() string { return c.api.settings.MicrosoftURLs.Graph + "/v1.0" }

// resource returns the path of the calendar.
func (c *Calendar) resource() string {
	if c.access.CalendarID == "" {
		return "/me"
	}
	return "/me/calendars/" + segment(c.access.CalendarID)
}

func windowOf(from, to time.Time) url.Values {
	return url.Values{"startDateTime": {from.UTC().Format(time.RFC3339)}, "endDateTime": {to.UTC().Format(time.RFC3339)}}
}

// MicrosoftView returns the meetings of a calendar of Microsoft 365, as List does.
func (c *Calendar) MicrosoftView(ctx context.Context, owner string, from, to time.Time) (events []calendar.Event, err error) {
	window := windowOf(from, to)
	window.Set("$select", microsoftFields)
	window.Set("$top", "500")
	events, _, err = listEvents[microsoftEvent](ctx, c, owner, c.graph()+c.resource()+"/calendarView?"+window.Encode())
	return events, err
}

// event returns the event as one of a calendar file. Each occurrence of a series has its
// own UID.
func (e microsoftEvent) event(owner, _ string) (found calendar.Event, texts []string) {
	found = calendar.Event{
		UID: e.ICalUID, Modified: e.LastModifiedDateTime, Cancelled: e.IsCancelled,
		Summary: strings.TrimSpace(e.Subject), Description: e.Body.Content, Organizer: e.Organizer.EmailAddress.Address,
		Responses: make(map[string]string), Private: calendar.IsPrivate(e.Sensitivity),
		Start: e.Start.at(), End: e.End.at(), AllDay: e.IsAllDay, Zone: calendar.ZoneName(e.OriginalStartTimeZone),
	}
	for _, a := range e.Attendees {
		if a.Type != "resource" {
			found.AddAttendee(a.EmailAddress.Address, partstats[a.Status.Response])
		}
	}
	if response := partstats[e.ResponseStatus.Response]; response != "" && owner != "" {
		found.Responses[owner] = response
	}
	return found, []string{
		e.OnlineMeeting.JoinURL, e.OnlineMeetingURL, e.Location.LocationURI, e.Location.DisplayName, e.Body.Content, e.Subject,
	}
}

// microsoftWatch implements Watch
// (https://learn.microsoft.com/graph/api/resources/subscription).
func (c *Calendar) microsoftWatch(ctx context.Context, former Watch, address string, now time.Time) (Watch, error) {
	expires := now.Add(watchTime).UTC().Truncate(time.Second)
	var subscription struct {
		ID                 string
		ExpirationDateTime time.Time
	}
	link := c.graph() + "/subscriptions"
	body := map[string]any{"expirationDateTime": expires.Format(time.RFC3339)}
	if former.ID != "" {
		err := c.call(ctx, http.MethodPatch, link+"/"+segment(former.ID), body, &subscription)
		if err == nil {
			return Watch{ID: former.ID, Expires: subscription.ExpirationDateTime}, nil
		}
		if refused, ok := errors.AsType[*Error](err); !ok || refused.RetryAfter > 0 {
			return former, err
		}
	}
	body["changeType"], body["resource"] = "created,updated,deleted", c.resource()+"/events"
	body["notificationUrl"], body["lifecycleNotificationUrl"] = address, address
	if err := c.call(ctx, http.MethodPost, link, body, &subscription); err != nil {
		return former, err
	}
	return Watch{ID: subscription.ID, Expires: subscription.ExpirationDateTime}, nil
}
