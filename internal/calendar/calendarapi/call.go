package calendarapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"standin/internal/base/retry"
	"standin/internal/calendar"
)

const (
	maxBody       = 16 << 20 // of a response
	maxErrorBody  = 64 << 10
	maxPages      = 100 // of a list, or of the changes since a position
	maxEvents     = 5000
	maxRetryAfter = time.Hour
)

// Calendar is a calendar of a provider, opened for reading. It is used by one goroutine.
type Calendar struct {
	api     *API
	access  Access
	token   *oauth2.Token
	rotated func(ctx context.Context, refreshToken string) error
}

// Changed reports whether a calendar may have changed since a position, and returns the
// next position. A calendar whose position is empty, or no longer known, may have. An
// error that the owner or operator of the calendar should know is an *Error.
func (c *Calendar) Changed(ctx context.Context, position string) (changed bool, next string, err error) {
	if position == "" {
		return true, "", nil
	}
	link, isMicrosoft := position, c.access.Provider == Microsoft
	if !isMicrosoft {
		link = c.googleEvents(url.Values{"syncToken": {position}})
	}
	next, err = readPages(ctx, c, link, func(p page[any]) (more bool) {
		changed = changed || len(p.Items)+len(p.Value) > 0
		return isMicrosoft || !changed // Microsoft's last page has the next position
	})
	if known, ok := errors.AsType[*Error](err); ok && known.gone {
		return true, "", nil
	}
	return changed, next, err
}

// List returns the meetings that end after from and start before to, with those that are
// cancelled or last all day, and the position for Changed. Owner is the mail address of
// the calendar's owner, or empty.
func (c *Calendar) List(ctx context.Context, owner string, from, to time.Time) (events []calendar.Event, position string, err error) {
	if c.access.Provider == Microsoft { // the position comes first, so that what changes in between is read again
		_, position, err = c.Changed(ctx, c.graph()+c.resource()+"/calendarView/delta?"+windowOf(from, to).Encode())
		if err == nil {
			events, err = c.MicrosoftView(ctx, owner, from, to)
		}
		return events, position, err
	}
	return listEvents[googleEvent](ctx, c, owner, c.googleEvents(url.Values{
		"timeMin": {from.UTC().Format(time.RFC3339)}, "timeMax": {to.UTC().Format(time.RFC3339)},
	}))
}

// page is a page of a list or of changes, of Google
// (https://developers.google.com/workspace/calendar/api/v3/reference/events/list) or of Microsoft
// (https://learn.microsoft.com/graph/api/event-delta).
type page[E any] struct {
	Items, Value  []E // of Google, of Microsoft
	TimeZone      string
	NextPageToken string
	NextSyncToken string
	NextLink      string `json:"@odata.nextLink"`
	DeltaLink     string `json:"@odata.deltaLink"`
}

// readPages calls each for the pages of a list until it returns false, and returns the position
// that the last one has. Requests have the access token, so links to other servers are refused.
func readPages[E any](ctx context.Context, c *Calendar, first string, each func(page[E]) (more bool)) (position string, err error) {
	link, provider := first, c.access.Provider
	for range maxPages {
		if provider == Microsoft && !strings.HasPrefix(link, c.api.settings.MicrosoftURLs.Graph+"/") {
			return "", provider.failed("sent a link to another server")
		}
		var read page[E]
		if err := c.call(ctx, http.MethodGet, link, nil, &read); err != nil {
			return "", err
		}
		link = read.NextLink
		if read.NextPageToken != "" {
			link = first + "&pageToken=" + url.QueryEscape(read.NextPageToken)
		}
		if !each(read) || link == "" {
			return read.NextSyncToken + read.DeltaLink, nil
		}
	}
	return "", &Error{Reason: provider.Title() + " sent too many pages", gone: true}
}

// listEvents returns the events of a list, and the position that its last page has.
func listEvents[E interface {
	event(owner, zone string) (found calendar.Event, texts []string) // texts may have the link to its meeting
}](ctx context.Context, c *Calendar, owner, link string) (events []calendar.Event, position string, err error) {
	position, err = readPages(ctx, c, link, func(p page[E]) bool {
		for _, e := range append(p.Items, p.Value...) {
			found, texts := e.event(owner, p.TimeZone)
			if found.UID == "" || len(events) == maxEvents {
				continue
			}
			if found.Start.IsZero() {
				found.Problem = "it has no start"
			}
			found.MeetingURL, found.Platform, _ = calendar.FindMeeting(strings.Join(texts, "\n"), c.api.hosts...)
			events = append(events, found)
		}
		return true
	})
	return events, position, err
}

// Owner returns the mail address of the owner; empty if the calendar is not that of a
// person.
func (c *Calendar) Owner(ctx context.Context) (string, error) {
	address := c.googleCalendar()
	if c.access.Provider == Microsoft {
		address = c.graph() + c.resource() + "?$select=owner"
		if c.access.CalendarID == "" {
			address = c.graph() + "/me/calendar?$select=owner"
		}
	}
	var found struct {
		ID    string // of Google: that of a person's main calendar is the address
		Owner struct{ Address string }
	}
	err := c.call(ctx, http.MethodGet, address, nil, &found)
	switch {
	case c.access.Provider == Microsoft:
		return found.Owner.Address, err
	case strings.HasSuffix(found.ID, "calendar.google.com"): // of a group
		return "", err
	}
	return found.ID, err
}

// partstats are the responses of both providers as RFC 5545 names them.
var partstats = map[string]string{
	"accepted": "ACCEPTED", "organizer": "ACCEPTED", "declined": "DECLINED", "tentative": "TENTATIVE", "tentativelyAccepted": "TENTATIVE",
	"needsAction": "NEEDS-ACTION", "notResponded": "NEEDS-ACTION",
}

// Listed is a calendar that the owner of a calendar can choose instead.
type Listed struct {
	ID   string // Access.CalendarID; empty for the main one
	Name string
}

// Calendars returns the calendars that the owner can read: up to 250, the main one first.
func (c *Calendar) Calendars(ctx context.Context) (found []Listed, err error) {
	address, main := c.api.settings.GoogleURLs.Calendar+"/users/me/calendarList?maxResults=250&minAccessRole=reader", "primary"
	if c.access.Provider == Microsoft {
		address, main = c.graph()+"/me/calendars?$top=250&$select=id,name,isDefaultCalendar", "isDefaultCalendar"
	}
	var read page[map[string]any]
	if err := c.call(ctx, http.MethodGet, address, nil, &read); err != nil {
		return nil, err
	}
	for _, one := range append(read.Items, read.Value...) {
		id, _ := one["id"].(string)
		summary, _ := one["summary"].(string)
		name, _ := one["name"].(string)
		listed := Listed{id, cmp.Or(summary, name, id)}
		if isMain, _ := one[main].(bool); isMain {
			listed.ID = ""
			found = slices.Insert(found, 0, listed)
		} else if id != "" {
			found = append(found, listed)
		}
	}
	return found, nil
}

// Invite adds a guest to the meeting with a UID that starts at a time, unless it is gone. Nobody is told by mail.
func (c *Calendar) Invite(ctx context.Context, uid string, start time.Time, guest string) error {
	var read page[struct {
		ID, ICalUID string
		Attendees   []any
	}]
	added, list, change := any(map[string]string{"email": guest}), c.googleCalendar()+"/events?"+url.Values{
		"singleEvents": {"true"}, "iCalUID": {uid}, "timeMin": {start.Format(time.RFC3339)}, "timeMax": {start.Add(time.Second).Format(time.RFC3339)},
	}.Encode(), c.googleCalendar()+"/events/%s?sendUpdates=none"
	if c.access.Provider == Microsoft {
		window := windowOf(start, start.Add(time.Second))
		window.Set("$select", "id,iCalUId,attendees")
		added = map[string]any{"type": "optional", "emailAddress": map[string]string{"address": guest}}
		list, change = c.graph()+c.resource()+"/calendarView?"+window.Encode(), c.graph()+"/me/events/%s"
	}
	if err := c.call(ctx, http.MethodGet, list, nil, &read); err != nil {
		return err
	}
	for _, found := range append(read.Items, read.Value...) {
		if found.ICalUID == uid {
			guests := map[string]any{"attendees": append(found.Attendees, added)}
			return c.call(ctx, http.MethodPatch, fmt.Sprintf(change, segment(found.ID)), guests, nil)
		}
	}
	return nil
}

// Watch is a subscription to the changes of a calendar.
type Watch struct {
	ID       string    `json:"id,omitempty"`
	Resource string    `json:"resource,omitempty"` // that Google needs to end it
	Expires  time.Time `json:"expires,omitzero"`
}

// Watch asks the provider to send a request to an address, which contains a secret, when the
// calendar changes. It renews or replaces a former watch.
func (c *Calendar) Watch(ctx context.Context, former Watch, address string, now time.Time) (Watch, error) {
	if c.access.Provider == Microsoft {
		return c.microsoftWatch(ctx, former, address, now)
	}
	var channel struct { // https://developers.google.com/workspace/calendar/api/guides/push
		ID, ResourceID string
		Expiration     json.Number // milliseconds, as a text or number
	}
	body := map[string]any{
		"id": uuid.NewString(), "type": "web_hook", "address": address, "params": map[string]string{"ttl": "604800"},
	}
	if err := c.call(ctx, http.MethodPost, c.googleCalendar()+"/events/watch", body, &channel); err != nil {
		return former, err
	}
	if former.ID != "" { // channels cannot be renewed
		_ = c.Unwatch(ctx, former) // it expires anyway
	}
	expires, _ := channel.Expiration.Int64() // replaced soon without one
	return Watch{ID: channel.ID, Resource: channel.ResourceID, Expires: time.UnixMilli(expires).UTC()}, nil
}

// Unwatch ends a watch.
func (c *Calendar) Unwatch(ctx context.Context, w Watch) error {
	if c.access.Provider == Microsoft {
		return c.call(ctx, http.MethodDelete, c.graph()+"/subscriptions/"+segment(w.ID), nil, nil)
	}
	return c.call(ctx, http.MethodPost, c.api.settings.GoogleURLs.Calendar+"/channels/stop", map[string]string{
		"id": w.ID, "resourceId": w.Resource,
	}, nil)
}

// call sends a request, with the JSON of body unless it is nil, and decodes the response
// into a value unless that is nil. An access token that is refused is replaced once.
func (c *Calendar) call(ctx context.Context, method, address string, body, into any) error {
	var encoded []byte
	if body != nil {
		var err error
		if encoded, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encode a request: %w", err)
		}
	}
	for again := false; ; again = true {
		request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(encoded))
		if err != nil {
			return fmt.Errorf("build a request: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+c.token.AccessToken)
		request.Header.Set("Accept", "application/json")
		request.Header.Set("User-Agent", "Standin")
		if body != nil {
			request.Header.Set("Content-Type", "application/json")
		}
		if c.access.Provider == Microsoft {
			request.Header.Add("Prefer", `outlook.timezone="UTC"`)
			request.Header.Add("Prefer", "odata.maxpagesize=500")
		}
		response, err := c.api.client.Do(request)
		if err != nil {
			return connectError(ctx, c.access.Provider, err)
		}
		if response.StatusCode == http.StatusUnauthorized && !again {
			response.Body.Close()
			if err := c.refresh(ctx); err != nil {
				return err
			}
			continue
		}
		defer response.Body.Close()
		p := c.access.Provider
		if response.StatusCode/100 != 2 {
			encoded, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody)) // the status tells enough without it
			return statusError(p, response, errorCode(encoded))
		}
		if into == nil {
			return nil
		}
		encoded, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
		switch {
		case err != nil:
			return connectError(ctx, p, err)
		case len(encoded) > maxBody:
			return &Error{Reason: fmt.Sprintf("%s sent a response of more than %d MiB", p.Title(), maxBody>>20)}
		case json.Unmarshal(encoded, into) != nil:
			return p.failed("sent a response that cannot be read")
		}
		return nil
	}
}

// errorCode returns the code of an error of either provider; empty if it has none.
func errorCode(encoded []byte) string {
	var body struct {
		Error struct {
			Code   any
			Errors []struct{ Reason string }
		}
	}
	if json.Unmarshal(encoded, &body) != nil {
		return ""
	}
	if len(body.Error.Errors) > 0 { // of Google, whose code is the status
		return body.Error.Errors[0].Reason
	}
	code, _ := body.Error.Code.(string)
	return code
}

// statusError says what the status and the error code of a response mean for the owner of
// a calendar.
func statusError(p Provider, response *http.Response, code string) error {
	status, pause := response.StatusCode, retry.After(response.Header.Get("Retry-After"), time.Now(), maxRetryAfter)
	limited := slices.Contains([]string{
		"rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "dailyLimitExceeded", "calendarUsageLimitsExceeded",
	}, code)
	switch {
	case status == http.StatusGone, code == "fullSyncRequired", code == "SyncStateNotFound", code == "syncStateNotFound",
		code == "SyncStateInvalid", code == "resyncRequired":
		return &Error{Reason: p.Title() + " no longer knows what was read before", gone: true}
	case status == http.StatusTooManyRequests, limited:
		return &Error{Reason: p.Title() + " accepts no more requests for a while", RetryAfter: pause}
	case code == "accessNotConfigured":
		return &Error{
			Reason: "the Google Calendar API is not enabled for the OAuth client: its operator must enable it in the Google Cloud console",
		}
	case status == http.StatusUnauthorized:
		return p.failed("does not accept the access token: connect the calendar again")
	case status == http.StatusForbidden:
		return p.failed("does not permit to read this calendar: connect it again, and allow access to calendars")
	case status == http.StatusNotFound:
		return p.failed("has no calendar with this ID, or the account may not read it")
	}
	return &Error{Reason: fmt.Sprintf("%s responded with %d", p.Title(), status), RetryAfter: pause}
}

// connectError says why no response came. It leaves out the URL, which may have tokens.
func connectError(ctx context.Context, p Provider, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return p.failed("did not respond in time")
	}
	return p.failed("cannot be reached from this service")
}
