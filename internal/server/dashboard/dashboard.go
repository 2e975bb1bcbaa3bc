// Package dashboard serves Standin's web interface. Users sign in, send bots,
// follow jobs and play recordings; operators monitor the service.
//
// The server renders pages with html/template. Scripts only add what HTML cannot
// do, and pages load nothing from other hosts. The package does not import the
// store.
package dashboard

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"standin/internal/account"
	"standin/internal/account/device"
	"standin/internal/base/budget"
	"standin/internal/calendar/calendarsync"
	"standin/internal/calendar/mail"
	"standin/internal/jobs/lifecycle"
	"standin/internal/operation/alert"
	"standin/internal/operation/host"
	"standin/internal/recording/storage"
	"standin/internal/server/httpmw"
)

//go:embed pages/*.html
var pageFiles embed.FS

//go:embed assets/standin.css
var styleCSS []byte

//go:embed assets/standin.js
var scriptJS []byte

// Settings configure a Dashboard.
type Settings struct {
	Users      *account.Users
	Jobs       *lifecycle.Service
	Recordings *storage.Recordings
	Keys       *account.Keys
	Flows      *device.Flows // of standin login
	Host       *host.Reader
	Tester     *lifecycle.EndpointTester
	Mail       *mail.Store
	Calendars  *calendarsync.Service
	System     func(context.Context) SystemView // of this node
	Alerts     *alert.Watcher
	Capacity   func(context.Context) (CapacityView, error)
	OIDC       OIDCSettings // zero without OpenID Connect

	ShareLifetime time.Duration // of links to recordings; 0 allows none

	AllowedMeetingHosts []string // that bots may open in addition to the platforms'

	BaseURL        string // public; cookies are Secure when it is https
	TrustedProxies httpmw.TrustedProxies
	Bodies         *httpmw.Bodies // of this process
	CostlyReads    *budget.Budget // by consumer
	Revocations    *account.Revocations
	Unavailable    func(error) bool // reports whether an error may end by itself
	Now            func() time.Time
	Log            *slog.Logger
	Limits         Limits // zero fields have their defaults
}

// Limits bound sign-ins.
type Limits struct {
	Address  httpmw.Rate // sign-ins and invitations of one client address; 30 a minute
	Account  httpmw.Rate // sign-ins of one client address to one account; 10 in 15 minutes
	Failures httpmw.Rate // failed sign-ins of all client addresses; 600 a minute
}

// Dashboard serves the pages.
type Dashboard struct {
	Settings
	base      *url.URL
	origins   *http.CrossOriginProtection
	byAddress *httpmw.Limiter
	byAccount *httpmw.Limiter
	failures  *httpmw.Limiter
	streams   *budget.Budget // by session
	oidc      *provider      // nil without OpenID Connect
	mux       *http.ServeMux

	draining chan struct{} // closed by Drain
	drain    sync.Once
}

// New returns a Dashboard.
func New(settings Settings) (*Dashboard, error) {
	base, err := url.Parse(settings.BaseURL)
	if err != nil {
		return nil, err
	}
	limits := settings.Limits
	limiter := func(rate httpmw.Rate, requests int, per time.Duration) *httpmw.Limiter {
		return httpmw.NewLimiter(httpmw.LimiterSettings{Rate: cmp.Or(rate, httpmw.Rate{Requests: requests, Per: per}), Now: settings.Now})
	}
	d := &Dashboard{
		Settings: settings, base: base, mux: http.NewServeMux(), draining: make(chan struct{}),
		origins:   http.NewCrossOriginProtection(),
		byAddress: limiter(limits.Address, 30, time.Minute),
		byAccount: limiter(limits.Account, 10, 15*time.Minute),
		failures:  limiter(limits.Failures, 600, time.Minute),
		streams:   budget.New(maxAllStreams, maxStreams, 0),
	}
	// Behind a proxy the Host of a request may differ from its Origin.
	if err := d.origins.AddTrustedOrigin(base.Scheme + "://" + base.Host); err != nil {
		return nil, fmt.Errorf("trust the service's own origin: %w", err)
	}
	if configured := settings.OIDC; configured != (OIDCSettings{}) {
		if configured.Issuer == "" || configured.ClientID == "" {
			return nil, errors.New("OpenID Connect needs both STANDIN_OIDC_ISSUER and STANDIN_OIDC_CLIENT_ID")
		}
		d.oidc = &provider{
			OIDCSettings: configured, redirect: settings.BaseURL + "/signin/oidc/callback", client: &http.Client{Timeout: providerTimeout},
		}
	}
	d.route()
	return d, nil
}

// API serves the requests that are not for a page.
type API interface {
	http.Handler
	// Serves reports whether there is something at the path of a request.
	Serves(r *http.Request) bool
}

// Handler returns a handler that serves the pages, and passes every other request
// to the API. Browsers get a page that says that there is none.
func (d *Dashboard) Handler(api API) http.Handler {
	missing := d.adapt(func(req *pageRequest) error {
		if session, secret, err := d.sessionOf(req.Request); err == nil {
			req.Session, req.secret = session, secret
		}
		return errNoPage
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") { // most requests
			api.ServeHTTP(w, r)
			return
		}
		_, pattern := d.mux.Handler(r)
		switch {
		case pattern != "":
			d.mux.ServeHTTP(w, r)
		case r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") && !api.Serves(r):
			missing.ServeHTTP(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	})
}

// Drain ends the event streams of live pages, so that a server that shuts down
// does not wait for them.
func (d *Dashboard) Drain() { d.drain.Do(func() { close(d.draining) }) }

// FirstUserLink returns the URL of the page that creates the first user, and
// false when there is a user.
func (d *Dashboard) FirstUserLink(ctx context.Context) (string, bool, error) {
	token, ok, err := d.Users.FirstUserToken(ctx)
	if err != nil || !ok {
		return "", false, err
	}
	return d.invitationLink(token), true, nil
}

// SignInLink returns a URL that signs a user in and shows a page of the dashboard. It works once,
// within account.SignInLinkLifetime and while this process runs.
func (d *Dashboard) SignInLink(user account.User, page string) string {
	return d.BaseURL + "/signin/link?" + url.Values{"token": {d.Users.SignInToken(user)}, "next": {page}}.Encode()
}

// invitationLink returns the URL of the page of an invitation. Its token cannot
// leak to other sites, because pages send no referrer.
func (d *Dashboard) invitationLink(token string) string {
	return d.BaseURL + "/welcome?token=" + url.QueryEscape(token)
}
