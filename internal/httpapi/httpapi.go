// Package httpapi is Standin's HTTP surface: it decodes requests, calls, and
// encodes answers. What it serves is what the description in package api
// says: each operation there has a handler here, and each body is checked
// against its schema before it is decoded.
//
// It decides nothing about jobs, keys or recordings, and must not know how
// they are kept.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"standin/api"
	"standin/internal/account"
	"standin/internal/httpapi/ratelimit"
	"standin/internal/httpapi/reference"
	"standin/internal/job"
)

// Keys tells who calls. A bearer that is no valid key gives a *job.Error with
// Unauthorized.
type Keys interface {
	Authenticate(ctx context.Context, bearer string) (account.Caller, error)
}

// DefaultMaxUploadBytes is how long one uploaded piece of media may be unless
// set otherwise. It is ample for segments; a service whose bots hand over
// finished files in one piece sets more.
const DefaultMaxUploadBytes = 64 << 20

// Settings are what an API is made of: whom each part of the surface calls, and
// how it treats those who call it.
type Settings struct {
	Description *api.Description
	Keys        Keys
	Jobs        Jobs
	Controls    Controls
	History     History
	Webhooks    Webhooks
	Recordings  Recordings
	Bots        Bots
	Invites     Invites
	Logins      Logins
	Payments    Payments // nil when no secret is configured to verify with
	Host        HostReader
	JobCounts   JobCounts
	Metrics     http.Handler // nil when there are none

	SigningKey    []byte // of the bots' tokens
	IntakeSecret  string // nobody may use the surface when empty
	AdminSecret   string // the same
	MetricsSecret string // shows metrics and nothing else, as the admin secret does too

	Proxies        ratelimit.Proxies
	KeyRate        ratelimit.Rate // of each API key; off when zero
	MaxUploadBytes int64          // DefaultMaxUploadBytes when 0
	Timeouts       Timeouts
	Log            *slog.Logger
}

// API is the HTTP surface as a handler.
type API struct {
	settings Settings
	limits   limits
	page     *reference.Page

	mux      *http.ServeMux
	draining chan struct{} // closed by Drain
	drain    sync.Once
}

// New returns the surface. It fails when an operation of the description has
// no handler, or a handler no operation.
func New(settings Settings) (*API, error) {
	if len(settings.SigningKey) == 0 {
		return nil, errors.New("the ingest signing key is empty: anybody could make tokens")
	}
	if settings.MaxUploadBytes == 0 {
		settings.MaxUploadBytes = DefaultMaxUploadBytes
	}
	settings.Timeouts = settings.Timeouts.orDefaults()
	page, err := reference.New(settings.Description)
	if err != nil {
		return nil, fmt.Errorf("write the reference page: %w", err)
	}
	a := &API{
		settings: settings, limits: newLimits(settings.KeyRate), page: page,
		mux: http.NewServeMux(), draining: make(chan struct{}),
	}
	return a, a.route()
}

// handler serves an operation; an error it returns is answered as the Error
// schema says. It returns none once it has begun its answer.
type handler func(w http.ResponseWriter, r *http.Request) error

// handlers are the operations of the description.
func (a *API) handlers() map[string]handler {
	return map[string]handler{
		"createJob": a.forConsumer(a.createJob),
		"listJobs":  a.forConsumer(a.listJobs),
		"getJob":    a.forConsumer(a.getJob),
		"patchJob":  a.forConsumer(a.patchJob),
		"cancelJob": a.forConsumer(a.cancelJob),

		"requestRecordingPermission": a.forConsumer(a.command(a.settings.Controls.RequestRecordingPermission)),
		"pauseRecording":             a.forConsumer(a.command(a.settings.Controls.PauseRecording)),
		"resumeRecording":            a.forConsumer(a.command(a.settings.Controls.ResumeRecording)),
		"stopRecording":              a.forConsumer(a.command(a.settings.Controls.StopRecording)),
		"leaveCall":                  a.forConsumer(a.command(a.settings.Controls.LeaveCall)),
		"sendChatMessage":            a.forConsumer(a.sendChatMessage),
		"pinParticipant":             a.forConsumer(a.pinParticipant),

		"getManifest":     a.forConsumer(a.getManifest),
		"getMedia":        a.forConsumer(a.getMedia),
		"headMedia":       a.forConsumer(a.getMedia),
		"deleteRecording": a.forConsumer(a.deleteRecording),

		"listTimeline":   a.forConsumer(a.listTimeline),
		"listDeliveries": a.forConsumer(a.listDeliveries),
		"redeliver":      a.forConsumer(a.redeliver),

		"listWebhookEndpoints": a.forConsumer(a.listWebhookEndpoints),
		"redeliverFailed":      a.forConsumer(a.redeliverFailed),
		"rotateWebhookSecret":  a.forConsumer(a.rotateWebhookSecret),

		"ingestEvent": a.ingestEvent,
		"heartbeat":   a.heartbeat,
		"uploadMedia": a.uploadMedia,

		"intakeInvite":   a.withSecret(IntakeSecretHeader, a.settings.IntakeSecret, a.intakeInvite),
		"hostMetrics":    a.withSecret(AdminSecretHeader, a.settings.AdminSecret, a.hostMetrics),
		"receivePayment": a.receivePayment,

		"initLogin":     a.perAddress(a.limits.initLogin, a.initLogin),
		"pollLogin":     a.perAddress(a.limits.pollLogin, a.pollLogin),
		"completeLogin": a.perAddress(a.limits.completeLogin, a.completeLogin),

		"health":           a.health, // never limited: a refused probe would look like a dead process
		"reference":        a.perAddress(a.limits.documents, a.reference),
		"describe":         a.perAddress(a.limits.documents, a.describe),
		"describeManifest": a.perAddress(a.limits.documents, a.describeManifest),
	}
}

// route gives every operation of the description its handler, every path a
// 405 for other methods, and every other path a 404.
func (a *API) route() error {
	handlers := a.handlers()
	allowed := map[string][]string{}
	for _, operation := range a.settings.Description.Operations() {
		handle, ok := handlers[operation.ID]
		if !ok {
			return fmt.Errorf("operation %s has no handler", operation.ID)
		}
		delete(handlers, operation.ID)
		a.mux.Handle(operation.Method+" "+operation.Path, a.answering(handle))
		allowed[operation.Path] = append(allowed[operation.Path], operation.Method)
	}
	for id := range handlers {
		return fmt.Errorf("handler %s has no operation", id)
	}
	for path, methods := range allowed {
		if slices.Contains(methods, http.MethodGet) && !slices.Contains(methods, http.MethodHead) {
			methods = append(methods, http.MethodHead) // ServeMux serves it with GET
		}
		slices.Sort(methods)
		a.mux.Handle(path, a.answering(methodNotAllowed(strings.Join(methods, ", "))))
	}
	a.routeMetrics()
	a.mux.Handle("/", a.answering(noSuchPath))
	return nil
}

// Drain ends the waiting of held answers, so that a server that stops need
// not wait for them. The servers of NewServer call it when they shut down.
func (a *API) Drain() { a.drain.Do(func() { close(a.draining) }) }

func methodNotAllowed(allowed string) handler {
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Allow", allowed)
		return &failure{status: http.StatusMethodNotAllowed, code: "method_not_allowed", message: "This path takes " + allowed + "."}
	}
}

func noSuchPath(http.ResponseWriter, *http.Request) error {
	return &job.Error{Code: job.NotFound, Message: "There is no such path."}
}
