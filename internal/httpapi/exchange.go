package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
)

// RequestIDHeader names the request in every answer and in the log.
const RequestIDHeader = "x-request-id"

// exchange is one request and its answer: the writer of the answer, and what
// the canonical log line will say of both.
type exchange struct {
	http.ResponseWriter
	id       string
	consumer uuid.UUID // nil until a key was checked
	job      uuid.UUID // nil where no job is named
	status   int       // 0 until the answer begins
	bytes    int64
	err      error // why the request was not served
	stack    string
}

type exchangeKey struct{}

// exchangeOf returns the exchange that a request is part of.
func exchangeOf(r *http.Request) *exchange {
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		panic("httpapi: a handler was called past API.ServeHTTP")
	}
	return x
}

// Unwrap gives http.ResponseController the connection's own writer.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *exchange) Write(data []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(data)
	x.bytes += int64(n)
	return n, err
}

// ServeHTTP serves a request, whatever becomes of it, with one line in the log.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	x := &exchange{ResponseWriter: w, id: "req_" + rand.Text()}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	header := w.Header()
	header.Set(RequestIDHeader, x.id)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")

	control := http.NewResponseController(x)
	// The deadlines of a connection's last request would stay. Writers that
	// have none cannot be kept waiting.
	_ = control.SetWriteDeadline(time.Time{})
	if r.Body != nil && r.Body != http.NoBody {
		_ = control.SetReadDeadline(started.Add(a.settings.Timeouts.Body))
	}

	defer func() { a.logExchange(r, x, time.Since(started)) }()
	defer a.recoverPanic(x, r)
	if !cleanPath(r.URL.Path) {
		a.answering(noSuchPath).ServeHTTP(x, r) // ServeMux would redirect it
		return
	}
	a.mux.ServeHTTP(x, r)
}

// cleanPath reports whether a path is written the one way in which ServeMux
// takes it.
func cleanPath(p string) bool {
	clean := path.Clean(p)
	return strings.HasPrefix(p, "/") && (p == clean || p == clean+"/" && clean != "/")
}

// answering turns a handler's error into its answer.
func (a *API) answering(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := handle(w, r); err != nil {
			a.fail(exchangeOf(r), r, err)
		}
	})
}

// recoverPanic answers a panic like any other internal error. An answer that
// has begun is broken off.
func (a *API) recoverPanic(x *exchange, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		x.err = http.ErrAbortHandler
		panic(http.ErrAbortHandler)
	}
	x.stack = string(debug.Stack())
	err := fmt.Errorf("panic: %v", cause)
	if x.status != 0 {
		x.err = err
		panic(http.ErrAbortHandler)
	}
	a.fail(x, r, err)
}

// statusClientGone stands in the log where nobody was left to answer.
const statusClientGone = 499

// logExchange writes the one line of a request. It never holds a token, a
// query or a body; the route stands for the path.
func (a *API) logExchange(r *http.Request, x *exchange, took time.Duration) {
	level := slog.LevelInfo
	switch {
	case x.status >= 500 || x.stack != "":
		level = slog.LevelError
	case r.Pattern == "GET /healthz":
		level = slog.LevelDebug
	}
	if !a.settings.Log.Enabled(r.Context(), level) {
		return
	}
	line := []slog.Attr{
		slog.String("method", knownMethod(r.Method)),
		slog.String("route", routeOf(r)),
		slog.Int("status", x.status),
		slog.Duration("duration", took),
		slog.Int64("bytes", x.bytes),
		slog.String("request_id", x.id),
	}
	if x.consumer != uuid.Nil {
		line = append(line, slog.String("consumer_id", x.consumer.String()))
	}
	if x.job != uuid.Nil {
		line = append(line, slog.String("job_id", x.job.String()))
	}
	if x.err != nil {
		line = append(line, slog.String("error", x.err.Error()))
	}
	if x.stack != "" {
		line = append(line, slog.String("stack", x.stack))
	}
	a.settings.Log.LogAttrs(r.Context(), level, "request", line...)
}

// routeOf is the pattern that served the request, without its method.
func routeOf(r *http.Request) string {
	if _, route, ok := strings.Cut(r.Pattern, " "); ok {
		return route
	}
	return r.Pattern
}

// knownMethod keeps what a client made up out of the log.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return method
	}
	return "other"
}
