// Package calendarapi reads calendars through the APIs of Google Calendar and of
// Microsoft 365 (Microsoft Graph), with the permission that their owners have given by
// OAuth 2.0.
//
// A calendar is read in two steps. Changed asks whether anything has changed since a
// position: the sync token of Google, the delta link of Microsoft. It costs one small
// request if nothing has. List reads the meetings of a window, in which both services
// have expanded the series, and returns the next position. The changes themselves are
// not used: Microsoft reports occurrences of series only in part, and their deletion not
// at all.
//
// The meetings are events of package calendar, as those of calendar files are.
package calendarapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"standin/internal/jobs/job"
)

// Provider is a service with calendars.
type Provider string

// The providers.
const (
	Google    Provider = "google"
	Microsoft Provider = "microsoft"
)

// Title returns the name of a provider, for people.
func (p Provider) Title() string {
	if p == Microsoft {
		return "Microsoft 365"
	}
	return "Google Calendar"
}

// Settings are the OAuth 2.0 clients that the operator has registered. Tags describe the
// flags and environment variables of package main.
type Settings struct {
	GoogleClientID        string `env:"STANDIN_GOOGLE_CLIENT_ID" name:"google-client-id" help:"ID of the OAuth client with which users connect Google calendars; its redirect URI is {base_url}/calendars/callback. Default: none."`
	GoogleClientSecret    string `env:"STANDIN_GOOGLE_CLIENT_SECRET" name:"google-client-secret" help:"Secret of the Google OAuth client. Prefer the environment variable."`
	MicrosoftClientID     string `env:"STANDIN_MICROSOFT_CLIENT_ID" name:"microsoft-client-id" help:"ID of the application with which users connect calendars of Microsoft 365; its redirect URI is {base_url}/calendars/callback. Default: none."`
	MicrosoftClientSecret string `env:"STANDIN_MICROSOFT_CLIENT_SECRET" name:"microsoft-client-secret" help:"Secret of the Microsoft application. Prefer the environment variable."`
	MicrosoftTenant       string `env:"STANDIN_MICROSOFT_TENANT" name:"microsoft-tenant" default:"common" help:"Domain or ID of the Microsoft 365 tenant whose users may connect calendars, or common, organizations or consumers."`
	MicrosoftCloud        string `env:"STANDIN_MICROSOFT_CLOUD" name:"microsoft-cloud" default:"global" enum:"global,usgov,usgov-dod,china" help:"Microsoft cloud of the calendars: global, usgov, usgov-dod or china."`

	GoogleURL string `env:"STANDIN_GOOGLE_URL" name:"google-url" placeholder:"https://…" help:"Address in place of Google's, such as that of an emulator, which serves /o/oauth2/v2/auth, /token and /calendar/v3. Default: Google's own."`

	MicrosoftURLs MicrosoftURLs `kong:"-"` // those of the cloud when zero; set by tests
	GoogleURLs    GoogleURLs    `kong:"-"` // the calendar is set by tests
}

// MicrosoftEndpoint returns where users of a Microsoft tenant sign in.
func MicrosoftEndpoint(login, tenant string) oauth2.Endpoint {
	base := login + "/" + tenant + "/oauth2/v2.0/"
	return oauth2.Endpoint{
		AuthURL: base + "authorize", TokenURL: base + "token", DeviceAuthURL: base + "devicecode", AuthStyle: oauth2.AuthStyleInParams,
	}
}

// GoogleURLs are the addresses of Google's services.
type GoogleURLs struct{ Authorize, Token, Calendar string }

// MicrosoftURLs are the addresses of a Microsoft cloud.
type MicrosoftURLs struct{ Login, Graph string }

// MicrosoftClouds are the clouds in learn.microsoft.com/graph/deployments.
var MicrosoftClouds = map[string]MicrosoftURLs{
	"global":    {"https://login.microsoftonline.com", "https://graph.microsoft.com"},
	"usgov":     {"https://login.microsoftonline.us", "https://graph.microsoft.us"},
	"usgov-dod": {"https://login.microsoftonline.us", "https://dod-graph.microsoft.us"},
	"china":     {"https://login.chinacloudapi.cn", "https://microsoftgraph.chinacloudapi.cn"},
}

// Check returns an error for settings that cannot work.
func (s Settings) Check() error {
	switch {
	case s.GoogleClientID == "" && s.GoogleClientSecret != "":
		return errors.New("STANDIN_GOOGLE_CLIENT_SECRET needs STANDIN_GOOGLE_CLIENT_ID")
	case s.MicrosoftClientID == "" && s.MicrosoftClientSecret != "":
		return errors.New("STANDIN_MICROSOFT_CLIENT_SECRET needs STANDIN_MICROSOFT_CLIENT_ID")
	case s.GoogleURL != "" && !job.IsWebAddress(s.GoogleURL):
		return errors.New("STANDIN_GOOGLE_URL must be a URL with https:// or http:// and a host")
	case s.MicrosoftTenant != "" && !ValidTenant(s.MicrosoftTenant):
		return errors.New("STANDIN_MICROSOFT_TENANT must be a domain or ID, common, organizations or consumers")
	}
	return nil
}

var tenant = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]{0,199}$`)

// ValidTenant reports whether a text may name a Microsoft tenant.
func ValidTenant(text string) bool { return tenant.MatchString(text) }

// Access is what gives access to a calendar.
type Access struct {
	Provider     Provider `json:"provider"`
	ClientID     string   `json:"clientId,omitempty"` // of the OAuth client; the operator's if empty
	ClientSecret string   `json:"clientSecret,omitempty"`
	Tenant       string   `json:"tenant,omitempty"` // of a Microsoft client; the operator's if empty
	RefreshToken string   `json:"refreshToken"`
	CalendarID   string   `json:"calendarId,omitempty"` // the owner's main calendar if empty
}

// Error is why a calendar cannot be read, for people.
type Error struct {
	Reason     string
	RetryAfter time.Duration // as the provider asks; 0 if it does not
	Revoked    bool          // the owner has to give permission again

	Unreachable bool // the server of a feed does not respond at all

	gone bool // the position is no longer known
}

// failed returns the Error of something that a provider does.
func (p Provider) failed(does string) *Error { return &Error{Reason: p.Title() + " " + does} }

func (e *Error) Error() string { return e.Reason }

// API calls the APIs. Its methods may be called from any goroutine.
type API struct {
	settings Settings
	client   *http.Client
	hosts    []string // of meetings beside those of the platforms

	mu     sync.Mutex
	tokens map[Access]*oauth2.Token // valid access tokens
}

// New returns an API that sends requests with client.
func New(settings Settings, client *http.Client, meetingHosts []string) *API {
	settings.MicrosoftTenant = cmp.Or(settings.MicrosoftTenant, "common")
	settings.MicrosoftURLs = cmp.Or(settings.MicrosoftURLs, MicrosoftClouds[cmp.Or(settings.MicrosoftCloud, "global")])
	urls := GoogleURLs{
		Authorize: "https://accounts.google.com/o/oauth2/v2/auth", Token: "https://oauth2.googleapis.com/token",
		Calendar: "https://www.googleapis.com/calendar/v3",
	}
	if base := strings.TrimSuffix(settings.GoogleURL, "/"); base != "" {
		urls = GoogleURLs{Authorize: base + "/o/oauth2/v2/auth", Token: base + "/token", Calendar: base + "/calendar/v3"}
	}
	urls.Calendar = cmp.Or(settings.GoogleURLs.Calendar, urls.Calendar)
	settings.GoogleURLs = urls
	return &API{settings: settings, client: client, hosts: meetingHosts, tokens: make(map[Access]*oauth2.Token)}
}

// Providers returns those for which the operator has registered a client.
func (a *API) Providers() (found []Provider) {
	if a.settings.GoogleClientID != "" {
		found = append(found, Google)
	}
	if a.settings.MicrosoftClientID != "" {
		found = append(found, Microsoft)
	}
	return found
}

// config returns the OAuth client of an access. The scopes allow to read calendars, and
// to know whose they are.
func (a *API) config(access Access) *oauth2.Config {
	s := a.settings
	config := &oauth2.Config{
		ClientID: s.GoogleClientID, ClientSecret: s.GoogleClientSecret,
		Endpoint: oauth2.Endpoint{AuthURL: s.GoogleURLs.Authorize, TokenURL: s.GoogleURLs.Token, AuthStyle: oauth2.AuthStyleInParams},
		Scopes:   []string{"https://www.googleapis.com/auth/calendar.readonly"},
	}
	if access.Provider == Microsoft {
		config = &oauth2.Config{
			ClientID: s.MicrosoftClientID, ClientSecret: s.MicrosoftClientSecret,
			Endpoint: MicrosoftEndpoint(s.MicrosoftURLs.Login, cmp.Or(access.Tenant, s.MicrosoftTenant)),
			Scopes:   []string{s.MicrosoftURLs.Graph + "/Calendars.Read", "offline_access"},
		}
	}
	if access.ClientID != "" { // its secret never is that of another client
		config.ClientID, config.ClientSecret = access.ClientID, access.ClientSecret
	}
	return config
}

// ConsentURL returns the page on which a user permits the operator's client to read
// calendars, and with invite to change meetings (RFC 6749, section 4.1, and RFC 7636).
func (a *API) ConsentURL(p Provider, redirect, state, verifier string, invite bool) string {
	config := a.config(Access{Provider: p})
	switch {
	case invite && p == Google:
		config.Scopes = append(config.Scopes, "https://www.googleapis.com/auth/calendar.events")
	case invite:
		config.Scopes[0] += "Write" // Calendars.ReadWrite
	}
	config.RedirectURL = redirect
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier)}
	if p == Google {
		options = append(options, oauth2.AccessTypeOffline, oauth2.ApprovalForce) // else there is no refresh token
	} else {
		options = append(options, oauth2.SetAuthURLParam("prompt", "select_account"))
	}
	return config.AuthCodeURL(state, options...)
}

// Exchange returns the refresh token for a code that the consent page has given.
func (a *API) Exchange(ctx context.Context, p Provider, redirect, code, verifier string) (string, error) {
	config := a.config(Access{Provider: p})
	config.RedirectURL = redirect
	token, err := config.Exchange(a.with(ctx), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return "", tokenError(ctx, p, err)
	}
	if token.RefreshToken == "" {
		return "", p.failed("granted no lasting access: it sent no refresh token")
	}
	return token.RefreshToken, nil
}

// with returns a context whose OAuth requests are sent with the client of the API.
func (a *API) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, a.client)
}

// Open opens a calendar. It gets an access token unless it has a valid one. If the
// provider has replaced the refresh token, it calls rotated before anything else: the
// former one may not be valid any more.
func (a *API) Open(ctx context.Context, access Access, rotated func(ctx context.Context, refreshToken string) error) (*Calendar, error) {
	c := &Calendar{api: a, access: access, rotated: rotated}
	if a.config(access).ClientID == "" {
		return nil, &Error{Reason: fmt.Sprintf("this service has no OAuth client for %s: its operator must set STANDIN_%s_CLIENT_ID",
			access.Provider.Title(), strings.ToUpper(string(access.Provider)))}
	}
	a.mu.Lock()
	c.token = a.tokens[access]
	a.mu.Unlock()
	if c.token.Valid() {
		return c, nil
	}
	return c, c.refresh(ctx)
}

// refresh gets an access token.
func (c *Calendar) refresh(ctx context.Context) error {
	a := c.api
	a.mu.Lock()
	delete(a.tokens, c.access)
	a.mu.Unlock()
	token, err := a.config(c.access).TokenSource(a.with(ctx), &oauth2.Token{RefreshToken: c.access.RefreshToken}).Token()
	if err != nil {
		return tokenError(ctx, c.access.Provider, err)
	}
	if token.RefreshToken != c.access.RefreshToken {
		if err := c.rotated(ctx, token.RefreshToken); err != nil {
			return err
		}
		c.access.RefreshToken = token.RefreshToken
	}
	c.token = token
	a.mu.Lock()
	defer a.mu.Unlock()
	for known, old := range a.tokens {
		if !old.Valid() {
			delete(a.tokens, known)
		}
	}
	a.tokens[c.access] = token
	return nil
}

// tokenError says why a provider gives no token.
func tokenError(ctx context.Context, p Provider, err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return connectError(ctx, p, err)
	}
	switch refused.ErrorCode {
	case "invalid_grant", "interaction_required", "consent_required", "login_required":
		return &Error{
			Revoked: true,
			Reason:  p.Title() + " no longer permits to read this calendar: the owner or an administrator has withdrawn the permission, or it has expired; connect the calendar again",
		}
	case "invalid_client", "unauthorized_client":
		return p.failed("does not accept the OAuth client: its operator must check the ID and the secret (" + refused.ErrorCode + ")")
	}
	return statusError(p, refused.Response, refused.ErrorCode)
}
