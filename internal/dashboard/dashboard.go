// Package dashboard is Standin's face for people: pages that sign users in,
// send bots, show what became of them and play what they recorded, and let
// operators look after the machine. Pages are written by html/template on the
// server; the scripts beside them only add what a page cannot do by itself, and
// nothing is loaded from elsewhere.
//
// It decides nothing about jobs, keys or recordings, and must not know how they
// are kept.
package dashboard

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/account/device"
	"standin/internal/host"
	"standin/internal/httpapi/ratelimit"
	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/payment"
	"standin/internal/webhook"
)

//go:embed pages/*.html
var pageFiles embed.FS

//go:embed assets
var assetFiles embed.FS

// Jobs is what users may do with their consumer's jobs, as lifecycle.Service
// does. A job that is missing or another's gives a *job.Error with NotFound.
type Jobs interface {
	Create(ctx context.Context, caller account.Caller, request lifecycle.NewJob) (j job.Job, replayed bool, err error)
	Jobs(ctx context.Context, caller account.Caller, filter job.Filter, page lifecycle.Page) (jobs []job.Job, next string, err error)
	Job(ctx context.Context, caller account.Caller, id uuid.UUID) (job.Job, error)
	Cancel(ctx context.Context, caller account.Caller, id uuid.UUID) error
	DeleteRecording(ctx context.Context, caller account.Caller, id uuid.UUID) error

	Timeline(ctx context.Context, caller account.Caller, id uuid.UUID, page lifecycle.Page) (entries []job.TimelineEntry, next string, err error)
	Deliveries(ctx context.Context, caller account.Caller, id uuid.UUID, page lifecycle.Page) (deliveries []webhook.DeliveryRecord, next string, err error)
	Redeliver(ctx context.Context, caller account.Caller, id uuid.UUID, deliveryID string) (webhook.DeliveryRecord, error)

	RequestRecordingPermission(ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error)
	PauseRecording(ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error)
	ResumeRecording(ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error)
	StopRecording(ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error)
	LeaveCall(ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error)
	SendChatMessage(ctx context.Context, caller account.Caller, id uuid.UUID, text string) (uuid.UUID, error)
	PinParticipant(ctx context.Context, caller account.Caller, id uuid.UUID, participantID string) (uuid.UUID, error)
}

// Recordings is where media is kept, as package recording's Storage does, with
// the errors of that package.
type Recordings interface {
	Manifest(ctx context.Context, jobID uuid.UUID) ([]byte, error)
	OpenMedia(ctx context.Context, jobID uuid.UUID, name string) (content io.ReadSeekCloser, size int64, modified time.Time, err error)
}

// Records is what pages read and settings change beside jobs, as store.Store
// does.
type Records interface {
	Consumer(ctx context.Context, id uuid.UUID) (account.Consumer, error)
	account.SecretStore
	SetWebhookURL(ctx context.Context, consumerID uuid.UUID, address string) error
	ConsumerPlan(ctx context.Context, consumerID uuid.UUID) (payment.Plan, error)
	Usage(ctx context.Context, consumerID uuid.UUID, from, to time.Time) ([]job.UsageCount, error)

	InsertKey(ctx context.Context, key account.Key) error
	ConsumerKeys(ctx context.Context, consumerID uuid.UUID) ([]account.Key, error)
	RevokeConsumerKey(ctx context.Context, consumerID, id uuid.UUID, now time.Time) (bool, error)

	SearchJobs(ctx context.Context, consumerID uuid.UUID, mode job.Mode, text string, limit int) ([]job.Job, error)
	DeliveryPayload(ctx context.Context, jobID uuid.UUID, deliveryID string) ([]byte, error)

	Overview(ctx context.Context, now time.Time) (job.Overview, error)
}

// Flows are the device flows of standin login, as device.Flows runs them.
type Flows interface {
	Pending(ctx context.Context, nonce string) (device.PendingFlow, bool, error)
	Complete(ctx context.Context, nonce, apiKey, email string) error
}

// HostReader reads the metrics of this machine.
type HostReader interface {
	Read(ctx context.Context) host.Metrics
}

// Tester posts a test event to a webhook endpoint, signed and guarded as any
// other.
type Tester interface {
	Test(ctx context.Context, consumer account.Consumer, address string) TestResult
}

// Settings are what a Dashboard is made of.
type Settings struct {
	Users      *account.Users
	Jobs       Jobs
	Recordings Recordings
	Records    Records
	Flows      Flows
	Host       HostReader
	Tester     Tester
	Capacity   Capacity     // nil when nobody tells
	OIDC       OIDCSettings // zero when nobody signs in elsewhere

	BaseURL string // as users reach it; decides on Secure cookies
	Proxies ratelimit.Proxies
	Now     func() time.Time
	Log     *slog.Logger
	Limits  Limits // those that are zero have their defaults
}

// Limits bound sign-ins.
type Limits struct {
	Address ratelimit.Rate // sign-ins and invitations of one client address; 30 a minute
	Account ratelimit.Rate // sign-ins under one e-mail; 10 in 15 minutes
}

func (l Limits) orDefaults() Limits {
	if l.Address.Off() {
		l.Address = ratelimit.Rate{Requests: 30, Per: time.Minute}
	}
	if l.Account.Off() {
		l.Account = ratelimit.Rate{Requests: 10, Per: 15 * time.Minute}
	}
	return l
}

// Dashboard is the pages as a handler.
type Dashboard struct {
	settings  Settings
	base      *url.URL
	pages     map[string]*template.Template
	assets    map[string]asset
	origins   *http.CrossOriginProtection
	byAddress *ratelimit.Limiter
	byAccount *ratelimit.Limiter
	elsewhere *provider // nil without OIDC
	mux       *http.ServeMux
	looked    lookedAt

	draining chan struct{} // closed by Drain
	drain    sync.Once
}

// New returns the dashboard.
func New(settings Settings) (*Dashboard, error) {
	base, err := url.Parse(settings.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("read the base URL: %w", err)
	}
	limits := settings.Limits.orDefaults()
	d := &Dashboard{
		settings: settings, base: base, mux: http.NewServeMux(), draining: make(chan struct{}),
		origins:   http.NewCrossOriginProtection(),
		byAddress: ratelimit.New(ratelimit.Settings{Rate: limits.Address, Now: settings.Now}),
		byAccount: ratelimit.New(ratelimit.Settings{Rate: limits.Account, Now: settings.Now}),
	}
	// Behind a proxy the Host of a request may be another than the Origin.
	if err := d.origins.AddTrustedOrigin(base.Scheme + "://" + base.Host); err != nil {
		return nil, fmt.Errorf("trust the service's own origin: %w", err)
	}
	if d.elsewhere, err = newProvider(settings.OIDC, settings.BaseURL); err != nil {
		return nil, err
	}
	if d.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	if d.pages, err = d.loadPages(); err != nil {
		return nil, err
	}
	d.route()
	return d, nil
}

// route gives every path its handler.
func (d *Dashboard) route() {
	public := func(pattern string, handle handler) { d.mux.Handle(pattern, d.serving(handle)) }
	user := func(pattern string, handle userHandler) { d.mux.Handle(pattern, d.serving(d.forUser(handle))) }
	operator := func(pattern string, handle userHandler) { user(pattern, forOperator(handle)) }

	public("GET /assets/{name}", d.serveAsset)
	public("GET /signin", d.signInPage)
	public("POST /signin", d.signIn)
	public("GET /signin/oidc", d.signInElsewhere)
	public("GET /signin/oidc/callback", d.comeBack)
	public("GET /welcome", d.invitationPage)
	public("POST /welcome", d.acceptInvitation)

	user("GET /{$}", func(x *exchange, _ account.Session) error { return x.redirect("/jobs") })
	user("POST /signout", d.signOut)
	user("GET /jobs", d.listJobs)
	user("GET /jobs/live", d.liveJobs)
	user("GET /jobs/new", d.newJobPage)
	user("GET /jobs/new/platform", d.recognize)
	user("POST /jobs", d.createJob)
	user("GET /jobs/{id}", d.jobPage)
	user("GET /jobs/{id}/live", d.liveJob)
	user("GET /jobs/{id}/media/{name}", d.media)
	user("GET /jobs/{id}/deliveries/{delivery}", d.payloadPage)
	user("POST /jobs/{id}/deliveries/{delivery}/redeliver", d.redeliver)
	user("POST /jobs/{id}/{verb}", d.control)
	user("GET /keys", d.keysPage)
	user("POST /keys", d.createKey)
	user("POST /keys/{id}/revoke", d.revokeKey)
	user("GET /webhooks", d.webhooksPage)
	user("POST /webhooks/endpoint", d.setEndpoint)
	user("POST /webhooks/test", d.testEndpoint)
	user("POST /webhooks/secret", d.revealSecret)
	user("POST /webhooks/rotate", d.rotateSecret)
	user("GET /usage", d.usagePage)
	user("GET /team", d.teamPage)
	user("POST /team/invite", d.invite)
	user("POST /team/withdraw", d.withdraw)
	user("POST /team/{id}/remove", d.removeUser)
	user("POST /team/password", d.changePassword)
	user("GET /cli", d.cliPage)
	user("POST /cli", d.authorizeCLI)
	operator("GET /operator", d.operatorPage)
	operator("GET /operator/live", d.liveOperator)
}

// Handler serves the dashboard's own paths, and gives every other request to the
// API's surface.
func (d *Dashboard) Handler(surface http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := d.mux.Handler(r); pattern == "" {
			surface.ServeHTTP(w, r)
			return
		}
		d.ServeHTTP(w, r)
	})
}

// Drain ends the live pages' streams, so that a server that stops need not wait
// for them.
func (d *Dashboard) Drain() { d.drain.Do(func() { close(d.draining) }) }

// FirstUserLink is the page on which the first user is made; false when there is
// one.
func (d *Dashboard) FirstUserLink(ctx context.Context) (string, bool, error) {
	token, ok, err := d.settings.Users.FirstUserToken(ctx)
	if err != nil || !ok {
		return "", false, err
	}
	return d.invitationLink(token), true, nil
}

// invitationLink is the page of an invitation. The token stands behind the
// path, where only this page reads it: the pages send no referrer.
func (d *Dashboard) invitationLink(token string) string {
	return d.settings.BaseURL + "/welcome?token=" + url.QueryEscape(token)
}

// asset is a file that pages load.
type asset struct {
	content     []byte
	contentType string
	version     string // of its content: a page asks for it by this
}

// loadAssets reads all assets.
func loadAssets() (map[string]asset, error) {
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	assets := make(map[string]asset)
	err := fs.WalkDir(assetFiles, "assets", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := assetFiles.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		contentType := types[path[strings.LastIndex(path, "."):]]
		assets[strings.TrimPrefix(path, "assets/")] = asset{content: content, contentType: contentType, version: hex.EncodeToString(sum[:8])}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the dashboard's assets: %w", err)
	}
	return assets, nil
}

// serveAsset serves a file. One that is asked for by its version never changes.
func (d *Dashboard) serveAsset(x *exchange) error {
	found, ok := d.assets[x.r.PathValue("name")]
	if !ok {
		return notFound("There is no such file.")
	}
	header := x.Header()
	header.Set("Content-Type", found.contentType)
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", `"`+found.version+`"`)
	if x.r.URL.Query().Get("v") == found.version {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if x.r.Header.Get("If-None-Match") == `"`+found.version+`"` {
		x.WriteHeader(http.StatusNotModified)
		return nil
	}
	_, _ = x.Write(found.content) // nobody is left to tell
	return nil
}
