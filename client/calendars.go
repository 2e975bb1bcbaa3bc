package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"
)

// NewCalendar is the request to connect a calendar. Name is required, and ICSURL for a
// feed, or Provider and RefreshToken for a calendar that is read by OAuth 2.0.
type NewCalendar struct {
	Name         string         `json:"name"`
	ICSURL       string         `json:"icsUrl,omitempty"`   // in iCal format; whoever knows it can read the calendar
	Provider     string         `json:"provider,omitempty"` // feed, google or microsoft; feed when empty
	RefreshToken string         `json:"refreshToken,omitempty"`
	ClientID     string         `json:"clientId,omitempty"` // of the OAuth client; that of the service when empty
	ClientSecret string         `json:"clientSecret,omitempty"`
	Tenant       string         `json:"tenant,omitempty"`     // of a Microsoft client
	CalendarID   string         `json:"calendarId,omitempty"` // the main calendar of the owner when empty
	Email        string         `json:"email,omitempty"`      // of the owner
	Rules        *CalendarRules `json:"rules,omitempty"`
	PollSeconds  int            `json:"pollSeconds,omitempty"` // 60 to 900; 300 when 0
}

// CalendarRules decide which meetings of a calendar get a bot. Empty fields are the
// defaults.
type CalendarRules struct {
	Record          []string `json:"record,omitempty"`  // all, accepted, organized, external, internal, public or none; all of them must hold
	Aliases         []string `json:"aliases,omitempty"` // further email addresses of the owner
	TitleMatches    string   `json:"titleMatches,omitempty"`
	MinParticipants int      `json:"minParticipants,omitempty"`
	OptOut          string   `json:"optOut,omitempty"`
	Invite          string   `json:"invite,omitempty"`        // address of an account that is added to meetings
	TellOrganizer   int      `json:"tellOrganizer,omitempty"` // minutes before a meeting; 0 is never
}

// Calendar is a connected calendar.
type Calendar struct {
	ID          string        `json:"id"`
	Provider    string        `json:"provider"` // feed, google or microsoft
	Name        string        `json:"name"`
	Address     string        `json:"address"` // without what is secret
	Email       *string       `json:"email"`
	Rules       CalendarRules `json:"rules"`
	PollSeconds int           `json:"pollSeconds"`
	State       string        `json:"state"` // waiting, active, failing or revoked
	Error       *string       `json:"error"` // why it could not be read
	SyncedAt    *time.Time    `json:"syncedAt"`
	NextSyncAt  time.Time     `json:"nextSyncAt"`
	CreatedAt   time.Time     `json:"createdAt"`
}

// CalendarSync is the result of reading a calendar.
type CalendarSync struct {
	Added    int      `json:"added"`
	Updated  int      `json:"updated"`
	Removed  int      `json:"removed"`
	Calendar Calendar `json:"calendar"`
}

// CalendarEvent is a meeting in a calendar.
type CalendarEvent struct {
	ID            string     `json:"id"`
	ICalUID       string     `json:"icalUid"`
	OriginalStart *time.Time `json:"originalStart"`
	Title         string     `json:"title"`
	Organizer     *string    `json:"organizer"`
	StartsAt      time.Time  `json:"startsAt"`
	EndsAt        time.Time  `json:"endsAt"`
	TimeZone      *string    `json:"timeZone"`
	MeetingURL    *string    `json:"meetingUrl"`
	Platform      *string    `json:"platform"`
	Participants  int        `json:"participants"`
	Response      *string    `json:"response"`
	Record        bool       `json:"record"` // a bot comes
	Reason        string     `json:"reason"` // why, for people
	Override      *bool      `json:"override"`
	JobID         *string    `json:"jobId"`
	JobStatus     *string    `json:"jobStatus"`
	Sources       []string   `json:"sources"` // feed, google, microsoft, mail, intake, api
	Account       *string    `json:"account"` // label of the account that is invited; nil without one
}

// ConnectCalendar connects a calendar.
func (c *Client) ConnectCalendar(ctx context.Context, calendar NewCalendar) (Calendar, error) {
	return fetch[Calendar](ctx, c, http.MethodPost, calendar, "calendars")
}

// Calendars iterates over the connected calendars, oldest first.
func (c *Client) Calendars(ctx context.Context) iter.Seq2[Calendar, error] {
	return pages[Calendar](ctx, c, "calendars", nil, "calendars")
}

// Calendar returns a calendar.
func (c *Client) Calendar(ctx context.Context, id string) (Calendar, error) {
	return get[Calendar](ctx, c, "calendars", id)
}

// CalendarPatch changes a calendar. A nil field does not change.
type CalendarPatch struct {
	Name         *string         `json:"name,omitempty"`
	ICSURL       *string         `json:"icsUrl,omitempty"` // of a feed
	RefreshToken *string         `json:"refreshToken,omitempty"`
	ClientID     *string         `json:"clientId,omitempty"`
	ClientSecret *string         `json:"clientSecret,omitempty"`
	Tenant       *string         `json:"tenant,omitempty"`
	CalendarID   *string         `json:"calendarId,omitempty"`
	Email        *string         `json:"email,omitempty"` // of the owner
	Rules        *CalendarRules  `json:"rules,omitempty"` // empty fields do not change
	Job          json.RawMessage `json:"job,omitempty"`   // replaces all settings of jobs
	PollSeconds  *int            `json:"pollSeconds,omitempty"`
}

// PatchCalendar changes a calendar, which is then read again.
func (c *Client) PatchCalendar(ctx context.Context, id string, patch CalendarPatch) (Calendar, error) {
	return fetch[Calendar](ctx, c, http.MethodPatch, patch, "calendars", id)
}

// SyncCalendar reads a calendar now. If it cannot be read, its State is failing or revoked.
func (c *Client) SyncCalendar(ctx context.Context, id string) (CalendarSync, error) {
	return fetch[CalendarSync](ctx, c, http.MethodPost, nil, "calendars", id, "sync")
}

// DisconnectCalendar disconnects a calendar. The jobs that only it asks for are cancelled
// soon.
func (c *Client) DisconnectCalendar(ctx context.Context, id string) error {
	return c.remove(ctx, "calendars", id)
}

// CalendarEvents iterates over the upcoming meetings of a calendar, by their start.
func (c *Client) CalendarEvents(ctx context.Context, id string) iter.Seq2[CalendarEvent, error] {
	return pages[CalendarEvent](ctx, c, "events", nil, "calendars", id, "events")
}

// OverrideEvent switches a meeting on or off; with nil, the rules decide.
func (c *Client) OverrideEvent(ctx context.Context, calendarID, eventID string, override *bool) (CalendarEvent, error) {
	body := map[string]*bool{"override": override}
	return fetch[CalendarEvent](ctx, c, http.MethodPatch, body, "calendars", calendarID, "events", eventID)
}
