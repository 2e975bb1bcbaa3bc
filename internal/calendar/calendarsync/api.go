package calendarsync

import (
	"cmp"
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/base/text"
	"standin/internal/calendar/calendarapi"
	"standin/internal/jobs/job"
	"standin/internal/jobs/signin"
)

const (
	apiTime      = 2 * time.Minute // to read a calendar through an API
	nearTime     = 4 * time.Hour   // of a calendar of Microsoft 365 that is compared when nothing seems to have changed
	watchMargin  = 24 * time.Hour  // before a watch expires, it is renewed
	minReadPause = 10 * time.Second
	maxSecret    = 4096 // bytes of a refresh token, ID or secret
	maxEmail     = 254
)

// fetchAPI reads a calendar through an API. It reports false if nothing has changed.
func (w *Service) fetchAPI(ctx context.Context, c *Calendar, known Validators, now time.Time) (meetings []Event, changed bool, err error) {
	defer func(running context.Context) {
		if errors.Is(err, context.DeadlineExceeded) && running.Err() == nil {
			err = unreadable(fmt.Sprintf("%s did not send the calendar within %s", c.Provider.Title(), apiTime))
		}
	}(ctx)
	ctx, cancel := context.WithTimeout(ctx, apiTime)
	defer cancel()
	opened, err := w.open(ctx, c)
	if err != nil {
		return nil, false, err
	}
	changed, position, err := opened.Changed(ctx, known.Position)
	if err != nil {
		return nil, false, err
	}
	if !changed && c.Provider == calendarapi.Microsoft {
		if changed, err = w.nearChanged(ctx, opened, *c, now); err != nil {
			return nil, false, err
		}
	}
	if !changed {
		c.Validators.Position = cmp.Or(position, known.Position)
		return nil, false, nil
	}
	if c.Email == "" { // without an answer, it is asked again the next time
		if owner, err := opened.Owner(ctx); err == nil && strings.Contains(owner, "@") && len(owner) <= maxEmail {
			c.Email = strings.ToLower(owner)
		}
	}
	listed, position, err := opened.List(ctx, c.Email, now.Add(-PastWindow), now.Add(Window))
	if err != nil {
		return nil, false, err
	}
	c.Validators, c.ReadAt = Validators{Position: position}, job.AsStored(now)
	// Without a watch, the calendar is read at intervals all the same.
	if strings.HasPrefix(w.BaseURL, "https://") && c.Watch.Expires.Sub(now) <= watchMargin {
		address := w.BaseURL + NotifyPath + c.ID.String() + "/" + w.Key.notifySecret(c.ID.String())
		if c.Watch, err = opened.Watch(ctx, c.Watch, address, now); err != nil {
			w.Log.Debug("cannot subscribe to the changes of a calendar; polling it instead", "calendar", c.ID, "error", err)
		}
	}
	meetings = eventsOf(*c, listed)
	c.Error = w.invite(ctx, opened, c, meetings, now)
	return meetings, true, nil
}

// maxInvites is how many meetings an account is added to in one sync, and inviteTime how long before they start.
const (
	maxInvites = 20
	inviteTime = 2 * 24 * time.Hour
)

// invite adds the account of the rules to the meetings of the next days that get a bot. It returns why it could not, for
// people. An account that was added once and is a guest no longer was removed by a person.
func (w *Service) invite(ctx context.Context, opened *calendarapi.Calendar, c *Calendar, meetings []Event, now time.Time) string {
	left := maxInvites
	for _, e := range meetings {
		wanted := e.ByRules.Record && e.Problem == "" && e.Start.After(now) && e.Start.Before(now.Add(inviteTime)) && e.Organizer == c.Email
		if c.Rules.Invite == "" || !wanted || left == 0 || strings.Contains(e.Guests, signin.GuestKey(c.Rules.Invite)) ||
			strings.Contains(c.Invited, signin.GuestKey(identity(e))) {
			continue
		}
		left--
		if err := opened.Invite(ctx, e.UID, e.Start, c.Rules.Invite); err != nil {
			w.Log.Warn("cannot add an account to a meeting", "calendar", c.ID, "reason", err)
			return "The account " + c.Rules.Invite + " cannot be added to meetings: " + err.Error()
		}
		c.Invited += " " + signin.GuestKey(identity(e))
		c.Invited = c.Invited[max(0, len(c.Invited)-maxInvited):]
	}
	return ""
}

// nearChanged reports whether the next hours of a calendar of Microsoft 365 are not as known:
// its delta does not report all deletions
// (https://github.com/microsoftgraph/microsoft-graph-docs/issues/4501).
func (w *Service) nearChanged(ctx context.Context, opened *calendarapi.Calendar, c Calendar, now time.Time) (bool, error) {
	from, to := now.Truncate(time.Second), now.Truncate(time.Second).Add(nearTime)
	known, err := w.Store.UpcomingEvents(ctx, c.ID, from, to, maxListed)
	if err != nil || len(known) == 0 {
		return false, err
	}
	listed, err := opened.MicrosoftView(ctx, c.Email, from, to)
	places := func(events []Event) (found []string) {
		for _, e := range events {
			if e.End.After(from) && e.Start.Before(to) {
				found = append(found, identity(e)+e.Start.String())
			}
		}
		slices.Sort(found)
		return found
	}
	return !slices.Equal(places(known), places(eventsOf(c, listed))), err
}

// open opens a calendar of an API. A replaced refresh token is stored before it is used.
func (w *Service) open(ctx context.Context, c *Calendar) (*calendarapi.Calendar, error) {
	access, err := w.access(*c)
	if err != nil {
		return nil, unreadable("the access cannot be decrypted: " + err.Error())
	}
	return w.apis.Open(ctx, access, func(ctx context.Context, refreshToken string) error {
		access.RefreshToken = refreshToken
		sealed := w.seal(c.ID, access)
		if err := w.Store.ReplaceSealed(ctx, *c, sealed); err != nil {
			return err
		}
		c.Sealed = sealed
		return nil
	})
}

// access decrypts what gives access to a calendar.
func (w *Service) access(c Calendar) (access calendarapi.Access, err error) {
	opened, err := w.Key.Open(c.ID.String(), c.Sealed)
	if err != nil {
		return access, err
	}
	if json.Unmarshal([]byte(opened), &access) != nil {
		return access, errSealed
	}
	return access, nil
}

// seal encrypts what gives access to a calendar.
func (w *Service) seal(id uuid.UUID, access calendarapi.Access) string {
	encoded, _ := json.Marshal(access) //nolint:gosec // texts, which are encrypted below
	return w.Key.Seal(id.String(), string(encoded))
}

// setAccess sets what gives access to a calendar of an API.
func (w *Service) setAccess(c *Calendar, access calendarapi.Access) error {
	access.Provider = c.Provider
	switch {
	case access.RefreshToken == "":
		return invalid("a calendar of "+c.Provider.Title()+" needs a refresh token", "refreshToken")
	case access.ClientID == "" && access.ClientSecret != "":
		return invalid("a client secret needs the ID of its client", "clientId")
	case access.ClientID == "" && !slices.Contains(w.apis.Providers(), c.Provider):
		return invalid("this service has no OAuth client for "+c.Provider.Title()+": send the ID and the secret of yours", "clientId")
	case access.Tenant != "" && !calendarapi.ValidTenant(access.Tenant):
		return invalid("the tenant must be a domain or an ID", "tenant")
	case len(access.RefreshToken) > maxSecret || len(access.ClientID) > maxSecret || len(access.ClientSecret) > maxSecret ||
		len(access.CalendarID) > maxUID:
		return invalid("a text is too long", "refreshToken")
	}
	c.Address = c.Provider.Title()
	if access.CalendarID != "" {
		c.Address += ": " + text.CleanLine(access.CalendarID, maxTitle)
	}
	c.Sealed = w.seal(c.ID, access)
	return nil
}

// AccessPatch changes what gives access to a calendar of an API. Fields that are nil do
// not change.
type AccessPatch struct {
	RefreshToken *string `json:"refreshToken"`
	ClientID     *string `json:"clientId"`
	ClientSecret *string `json:"clientSecret"`
	Tenant       *string `json:"tenant"`
	CalendarID   *string `json:"calendarId"`
}

// Choices returns the calendars that the owner of a calendar of the caller can choose
// instead. The error may be a *calendarapi.Error.
func (w *Service) Choices(ctx context.Context, caller account.Caller, id uuid.UUID) ([]calendarapi.Listed, error) {
	c, err := w.Store.Calendar(ctx, caller, id)
	if err != nil || c.Provider == Feed {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, feedTime)
	defer cancel()
	opened, err := w.open(ctx, &c)
	if err != nil {
		return nil, err
	}
	return opened.Calendars(ctx)
}

// redirectPath is where providers send users after they have given permission.
const redirectPath = "/calendars/callback"

// Providers returns those at which users can give permission to read their calendars.
func (w *Service) Providers() []calendarapi.Provider { return w.apis.Providers() }

// ConsentURL returns the page of a provider on which a user gives permission. The state
// and the verifier (RFC 7636) are secrets of the user's browser.
func (w *Service) ConsentURL(p calendarapi.Provider, state, verifier string, invite bool) string {
	return w.apis.ConsentURL(p, w.BaseURL+redirectPath, state, verifier, invite)
}

// Exchange returns the refresh token for the code that a provider has sent. The error may
// be a *calendarapi.Error.
func (w *Service) Exchange(ctx context.Context, p calendarapi.Provider, code, verifier string) (string, error) {
	return w.apis.Exchange(ctx, p, w.BaseURL+redirectPath, code, verifier)
}

// NotifyPath begins the path at which providers tell about changes. The ID of the
// calendar and its secret follow.
const NotifyPath = "/webhooks/calendars/"

// IsNotifySecret reports whether a secret is that of a calendar's notifications.
func (w *Service) IsNotifySecret(id uuid.UUID, secret string) bool {
	return hmac.Equal([]byte(secret), []byte(w.Key.notifySecret(id.String())))
}

// Notify makes a calendar due of which its provider says that it has changed. With lapsed,
// it also is read completely, and its watch is renewed.
func (w *Service) Notify(ctx context.Context, id uuid.UUID, lapsed bool) error {
	now := w.Now()
	_, err := w.Store.ChangeSync(ctx, id, func(s *Sync) {
		if lapsed {
			s.Watch.Expires, s.ReadAt = time.Time{}, time.Time{}
		}
		if s.State != Revoked && s.Lease == "" && s.DueAt.After(now) {
			s.DueAt = s.SyncedAt.Add(minReadPause)
			if s.DueAt.Before(now) {
				s.DueAt = now
			}
		}
	})
	if err == nil {
		w.Wake()
	}
	return err
}
