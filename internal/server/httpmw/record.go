// Package httpmw holds what the HTTP API and the dashboard do with every request:
// they limit its rate, find the address of its client, and write one line to the
// log.
package httpmw

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
)

// RequestIDHeader is the response header with the id of the request.
const RequestIDHeader = "x-request-id"

// statusClientClosed is logged when the client closed the connection before the
// response.
const statusClientClosed = 499

// Record collects the log line of one request. It is also the writer of the
// response. The line has the route instead of the path, and never a token, a query,
// a form or a body.
type Record struct {
	http.ResponseWriter

	ID         string
	UserID     uuid.UUID // uuid.Nil unless a user signed in
	ConsumerID uuid.UUID // uuid.Nil before authentication
	JobID      uuid.UUID // uuid.Nil when the request names no job
	Client     string    // address of the client; empty unless it is logged
	Caller     string    // who was authenticated, such as a team or a job; empty for strangers
	Level      slog.Level
	Err        error // why the request failed

	started time.Time
	status  int // 0 before the response starts
	bytes   int64
	stack   string
}

type recordKey struct{}

// StartRecord returns the Record of a request, and the request with the Record in its
// context.
func StartRecord(w http.ResponseWriter, r *http.Request) (*Record, *http.Request) {
	record := &Record{ResponseWriter: w, ID: "req_" + rand.Text(), started: time.Now()}
	w.Header().Set(RequestIDHeader, record.ID)
	return record, r.WithContext(context.WithValue(r.Context(), recordKey{}, record))
}

// RecordOf returns the Record of a request that StartRecord returned.
func RecordOf(r *http.Request) *Record {
	record, ok := r.Context().Value(recordKey{}).(*Record)
	if !ok {
		panic("httpmw: the request did not pass StartRecord")
	}
	return record
}

// Exchange is a request and the writer of its response.
type Exchange struct {
	*Record // the response
	*http.Request
}

// Header implements http.ResponseWriter.
func (e Exchange) Header() http.Header { return e.Record.Header() }

// Write implements http.ResponseWriter.
func (e Exchange) Write(data []byte) (int, error) { return e.Record.Write(data) }

// Status returns the status of the response, 0 before it starts.
func (rec *Record) Status() int { return rec.status }

// Unwrap returns the writer of the connection, for http.ResponseController.
func (rec *Record) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (rec *Record) WriteHeader(status int) {
	if rec.status == 0 {
		rec.status = status
	}
	rec.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (rec *Record) Write(data []byte) (int, error) {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	n, err := rec.ResponseWriter.Write(data)
	rec.bytes += int64(n)
	return n, err
}

// Fail records why a request failed. It reports false when the client is gone,
// so that no response is needed.
func (rec *Record) Fail(r *http.Request, err error) bool {
	rec.Err = err
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		rec.status = statusClientClosed
		return false
	}
	return true
}

// Recover handles a panic of the handler as an internal error. It aborts a
// response that has started. It must be deferred.
func (rec *Record) Recover(respond func(error)) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		rec.Err = http.ErrAbortHandler
		panic(http.ErrAbortHandler)
	}
	rec.stack = string(debug.Stack())
	rec.Err = fmt.Errorf("panic: %v", cause)
	if rec.status != 0 {
		panic(http.ErrAbortHandler)
	}
	respond(rec.Err)
}

// RequestSummary describes a request that has ended, for traces.
type RequestSummary struct {
	ID         string
	Method     string // "other" for an unknown one
	Route      string // the pattern of the path
	Status     int
	Started    time.Time
	Duration   time.Duration
	ConsumerID uuid.UUID // uuid.Nil before authentication
	JobID      uuid.UUID // uuid.Nil when the request names no job
}

// Summary returns the summary of the request.
func (rec *Record) Summary(r *http.Request) RequestSummary {
	return RequestSummary{
		ID: rec.ID, Method: knownMethod(r.Method), Route: route(r), Status: rec.status, Started: rec.started, Duration: time.Since(rec.started),
		ConsumerID: rec.ConsumerID, JobID: rec.JobID,
	}
}

// maxAttrs is the number of attributes of a line that has all of them.
const maxAttrs = 12

// Log writes the line of the request. Responses with a status of 500 or more
// are logged as errors.
func (rec *Record) Log(log *slog.Logger, message string, r *http.Request) {
	level := rec.Level
	if rec.status >= http.StatusInternalServerError || rec.stack != "" {
		level = slog.LevelError
	}
	attrs := append(make([]slog.Attr, 0, maxAttrs),
		slog.String("method", knownMethod(r.Method)),
		slog.String("route", route(r)),
		slog.Int("status", rec.status),
		slog.Duration("duration", time.Since(rec.started)),
		slog.Int64("bytes", rec.bytes),
		slog.String("request_id", rec.ID),
	)
	for _, named := range []struct {
		key string
		id  uuid.UUID
	}{{"user_id", rec.UserID}, {"consumer_id", rec.ConsumerID}, {"job_id", rec.JobID}} {
		if named.id != uuid.Nil {
			attrs = append(attrs, slog.String(named.key, named.id.String()))
		}
	}
	if rec.Client != "" {
		attrs = append(attrs, slog.String("client", rec.Client))
	}
	if rec.Err != nil {
		attrs = append(attrs, slog.String("error", rec.Err.Error()))
	}
	if rec.stack != "" {
		attrs = append(attrs, slog.String("stack", rec.stack))
	}
	log.LogAttrs(r.Context(), level, message, attrs...)
}

// route returns the pattern that matched the request, without its method.
func route(r *http.Request) string {
	if _, path, ok := strings.Cut(r.Pattern, " "); ok {
		return path
	}
	return r.Pattern
}

// knownMethod keeps methods that a client made up out of the log.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return method
	}
	return "other"
}
