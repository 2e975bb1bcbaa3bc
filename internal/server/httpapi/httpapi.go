// Package httpapi serves Standin's HTTP API. It authenticates and decodes
// requests, calls the service, and encodes responses.
//
// api/openapi.yaml describes every operation. Each has a handler here, and each
// request body is checked against its schema before it is decoded. The package
// does not import the store.
package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"standin/api"
	"standin/internal/account"
	"standin/internal/account/billing"
	"standin/internal/account/device"
	"standin/internal/base/budget"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/lifecycle"
	"standin/internal/operation/host"
	"standin/internal/operation/tracing"
	"standin/internal/recording/sound"
	"standin/internal/recording/speech"
	"standin/internal/recording/storage"
	"standin/internal/server/httpmw"
	"standin/internal/server/live"
	"standin/internal/server/mcpserver"
)

// Options are the settings of the API that operators choose, and limits that tests
// change.
type Options struct {
	IntakeSecret    string                `env:"STANDIN_INTAKE_SECRET" help:"Secret for calendar intake, sent in the x-service-intake-secret header. If unset, calendar intake returns 401. Prefer the environment variable."`
	AdminSecret     string                `env:"STANDIN_ADMIN_SECRET" help:"Secret for the admin endpoints, sent in the x-service-admin-secret header. If unset, these endpoints return 401. Prefer the environment variable."`
	MetricsSecret   string                `env:"STANDIN_METRICS_SECRET" help:"Bearer token for /metrics on the main listener; the admin secret is accepted too. Prefer the environment variable."`
	RateLimit       httpmw.Rate           `env:"STANDIN_RATE_LIMIT" default:"off" help:"Rate limit per API key, such as 600/1m, or off."`
	TrustedProxies  httpmw.TrustedProxies `env:"STANDIN_TRUSTED_PROXIES" default:"0" help:"Number of reverse proxies in front of the service. With N, the client address is the Nth entry of X-Forwarded-For from the end; with 0, that of the connection."`
	CORSOrigins     []string              `env:"STANDIN_CORS_ORIGINS" help:"Origins whose pages may call the API from a browser, such as https://app.example.com, comma-separated. Default: none."`
	SecurityContact string                `env:"STANDIN_SECURITY_CONTACT" help:"Where to report vulnerabilities, such as mailto:security@example.com or an https URL, for /.well-known/security.txt. Default: none; the file does not exist."`

	Timeouts Timeouts `kong:"-"`
}

// Settings configure an API.
type Settings struct {
	Options
	Description *api.Description
	BaseURL     string // where consumers reach the service
	Version     string // of this program
	Keys        *account.Keys
	Jobs        *lifecycle.Service
	Output      *speech.Maker
	Tester      *lifecycle.EndpointTester
	Recordings  *storage.Recordings
	Formats     Formats // nil when none can be made
	Live        *live.Hub
	Sound       *sound.Service
	Agents      *mcpserver.Tools // nil when agents are not served
	Invites     *lifecycle.EventScheduler
	Calendars   Calendars
	Logins      *device.Flows
	Payments    *billing.Receiver // nil when no payment secret is configured
	Host        *host.Reader
	Metrics     http.Handler            // nil when there are no metrics
	Readiness   func() []ReadinessCheck // whether this node can do its work; must not block
	Tracer      *tracing.Tracer         // nil when there are no traces

	Revocations *account.Revocations // nil when there are none
	SigningKey  []byte               // signs the bots' tokens

	AllowedMeetingHosts []string // hosts that bots may open besides the platforms'

	Bodies         *httpmw.Bodies   // of this process; new when nil
	CostlyReads    *budget.Budget   // by consumer; new when nil
	Streams        *budget.Budget   // live ones of this node, by consumer; new when nil
	MaxUploadBytes int64            // of a file; 32 GiB when 0, far more than a recording of a day
	Unavailable    func(error) bool // reports whether an error may end by itself; nil: none may
	Log            *slog.Logger
}

// API serves every operation of the API description.
type API struct {
	Settings
	keys      *httpmw.Limiter // of the requests with a key
	guesses   *httpmw.Limiter // of shared secrets, which people choose, by address
	listeners *budget.Budget  // of live sound
	agents    *budget.Budget  // the messages of agents that are being answered: some wait for minutes

	description     []byte                 // as this service serves it
	descriptionYAML func() ([]byte, error) // made on the first request, because it takes a while

	mux      *http.ServeMux
	draining chan struct{} // closed by Drain
	drain    sync.Once
	sockets  sync.WaitGroup // WebSockets, which a server that shuts down does not wait for
}

// New returns an API. It fails when an operation of the description has no
// handler, or a handler no operation.
func New(settings Settings) (*API, error) {
	if len(settings.SigningKey) == 0 {
		return nil, errors.New("the ingest signing key is empty: anybody could forge bot tokens")
	}
	settings.MaxUploadBytes = cmp.Or(settings.MaxUploadBytes, 32<<30)
	settings.Bodies = cmp.Or(settings.Bodies, httpmw.NewBodies())
	settings.CostlyReads = cmp.Or(settings.CostlyReads, NewCostlyReads())
	settings.Streams = cmp.Or(settings.Streams, budget.New(1000, 100, 0))
	if settings.Unavailable == nil {
		settings.Unavailable = func(error) bool { return false }
	}
	settings.Timeouts = settings.Timeouts.orDefaults()
	description, err := settings.Description.ServedAt(settings.BaseURL)
	if err != nil {
		return nil, err
	}
	a := &API{
		Settings: settings, keys: newLimiter(settings.RateLimit), guesses: perMinute(60),
		listeners: budget.New(1000, 100, 0), agents: budget.New(500, 50, 0),
		description: description, descriptionYAML: sync.OnceValues(func() ([]byte, error) { return api.YAML(description) }),
		mux: http.NewServeMux(), draining: make(chan struct{}),
	}
	return a, a.route()
}

// Drain ends held heartbeat requests, live streams and WebSockets, so that a server that shuts down does not
// wait for them. The servers of NewServer call it on shutdown.
func (a *API) Drain() { a.drain.Do(func() { close(a.draining) }) }

// untilDrain returns a context that ends with ctx, when the API is drained, or when stop is
// called, as the caller must.
func (a *API) untilDrain(ctx context.Context) (draining context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-a.draining:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(); watching.Wait() }
}

// Wait waits until all WebSockets have ended, after Drain.
func (a *API) Wait() { a.sockets.Wait() }

// ServeHTTP serves a request and writes its line to the log.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	record, r := httpmw.StartRecord(w, r)
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")

	// Deadlines of the previous request on this connection would still apply.
	// Writers without deadlines return an error, which is of no consequence.
	control := http.NewResponseController(record)
	_ = control.SetWriteDeadline(time.Time{})
	if r.Body != nil && r.Body != http.NoBody {
		_ = control.SetReadDeadline(started.Add(a.Timeouts.ReadJSON))
	}

	defer func() {
		record.Log(a.Log, "request", r)
		if a.Tracer != nil {
			a.Tracer.Request(r, record.Summary(r))
		}
	}()
	defer record.Recover(a.exchange(r, "").fail)
	if !isClean(r.URL.Path) {
		a.adapt("", noSuchPath).ServeHTTP(record, r) // ServeMux would redirect it
		return
	}
	a.mux.ServeHTTP(record, r)
}

// Serves reports whether the API has an operation at the path of a request.
func (a *API) Serves(r *http.Request) bool {
	_, pattern := a.mux.Handler(r)
	return pattern != "/" && isClean(r.URL.Path)
}

// isClean reports whether ServeMux accepts a path without a redirect.
func isClean(p string) bool {
	clean := path.Clean(p)
	return strings.HasPrefix(p, "/") && (p == clean || p == clean+"/" && clean != "/")
}

// handler serves an operation. A returned error becomes an error response. A
// handler that has started its response returns nil.
type handler func(r *apiRequest) error

// adapt turns the handler of an operation into an http.Handler.
func (a *API) adapt(operation string, handle handler) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, outer *http.Request) { // whose writer is its Record
		r := a.exchange(outer, operation)
		if err := handle(r); err != nil {
			r.fail(err)
		}
	})
}

// exchange returns a request that StartRecord returned as a request for an operation.
func (a *API) exchange(r *http.Request, operation string) *apiRequest {
	return &apiRequest{Exchange: httpmw.Exchange{Record: httpmw.RecordOf(r), Request: r}, api: a, operation: operation}
}

// route registers a handler for every operation of the description, 405 for
// the other methods of their paths, and 404 for all other paths.
func (a *API) route() error {
	handlers := a.handlers()
	allowed := map[string][]string{}
	security := map[string]string{} // security scheme by path
	shared, err := newCORS(a.CORSOrigins)
	if err != nil {
		return err
	}
	if contact := a.SecurityContact; contact != "" { // RFC 9116, section 2.5.3
		parsed, err := url.Parse(contact)
		if err != nil || parsed.Scheme != "mailto" && parsed.Scheme != "https" || strings.ContainsFunc(contact, unicode.IsSpace) {
			return fmt.Errorf("the security contact %q is not a mailto or https URL", contact)
		}
	}
	for _, operation := range a.Description.Operations() {
		serve, ok := handlers[operation.ID]
		if !ok {
			return fmt.Errorf("operation %s has no handler", operation.ID)
		}
		delete(handlers, operation.ID)
		a.mux.Handle(operation.Method+" "+operation.Path, forPages(shared, operation.Path, operation.Security, a.adapt(operation.ID, serve)))
		allowed[operation.Path] = append(allowed[operation.Path], operation.Method)
		security[operation.Path] = operation.Security
	}
	for id := range handlers {
		return fmt.Errorf("handler %s has no operation", id)
	}
	handle := func(pattern string, serve handler) { a.mux.Handle(pattern, a.adapt("", serve)) }
	if a.Metrics != nil { // not part of the description: it changes with the version
		handle("GET /metrics", a.forScraper(func(r *apiRequest) error {
			a.Metrics.ServeHTTP(r, r.Request)
			return nil
		}))
		handle("/metrics", a.forScraper(methodNotAllowed([]string{http.MethodGet, http.MethodHead})))
	}
	if a.Agents != nil { // the Model Context Protocol describes itself
		handle("POST /mcp", a.forScope(account.ReadScope, a.mcp)) // each tool sends requests with the same key
		handle("/mcp", a.authenticated("apiKey", methodNotAllowed([]string{http.MethodPost})))
	}
	// Not part of the description: Google and Microsoft describe what they send.
	handle("POST "+calendarsync.NotifyPath+"{id}/{secret}", ofCalendar(a.calendarNotification))
	handle(calendarsync.NotifyPath+"{id}/{secret}", methodNotAllowed([]string{http.MethodPost}))
	handle("GET /docs/assets/{name}", perAddress(perMinute(600), a.referenceAsset))
	for path, methods := range allowed {
		if slices.Contains(methods, http.MethodGet) && !slices.Contains(methods, http.MethodHead) {
			methods = append(methods, http.MethodHead) // ServeMux serves it with GET
		}
		slices.Sort(methods)
		refuse := forPages(shared, path, security[path], a.adapt("", a.authenticated(security[path], methodNotAllowed(methods))))
		// These are the path of another operation with an ID, too.
		if !slices.Contains([]string{"/api/v1/jobs/batch", "/api/v1/deliveries/redeliver"}, path) {
			a.mux.Handle(path, refuse)
			continue
		}
		for _, method := range api.Methods() { // without a method, it would conflict with GET of the other path
			if !slices.Contains(methods, method) {
				a.mux.Handle(method+" "+path, refuse)
			}
		}
	}
	handle("/", noSuchPath)
	return nil
}

// signed serves a request whose payment signature is that of an empty body.
func (a *API) signed(handle handler) handler {
	return func(r *apiRequest) error {
		if a.Payments == nil {
			return r.failWithoutBody(http.StatusServiceUnavailable, billing.ErrNoSecret)
		}
		signature := cmp.Or(r.Request.Header.Get(billing.Header), r.Request.Header.Get(billing.ProviderHeader))
		if _, err := a.Payments.Decode(signature, nil); errors.Is(err, billing.ErrSignature) {
			return r.failWithoutBody(http.StatusBadRequest, err)
		}
		return handle(r)
	}
}
