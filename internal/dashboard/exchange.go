package dashboard

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"standin/internal/account"
	"standin/internal/httpapi/ratelimit"
	"standin/internal/job"
)

// Bounds of a request that is no stream and no media.
const (
	bodyTime   = 30 * time.Second
	answerTime = time.Minute
	maxBody    = 1 << 20
)

// policy lets pages load nothing but the dashboard's own files, run no script
// and no style that stands in a page, and be framed by nobody.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// exchange is one request and its answer.
type exchange struct {
	http.ResponseWriter
	d       *Dashboard
	r       *http.Request
	id      string
	session account.Session // of a signed-in user
	secret  string          // of the session
	status  int             // 0 until the answer begins
	bytes   int64
	err     error
	stack   string
}

// handler serves a page; an error it returns is answered with a page that
// tells of it. It returns none once it has begun its answer.
type handler func(x *exchange) error

// userHandler serves a page for somebody who is signed in.
type userHandler func(x *exchange, session account.Session) error

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

// ServeHTTP serves a request of the dashboard's own paths.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.mux.ServeHTTP(w, r) }

// serving is a handler with all that every request gets: headers, deadlines,
// bounds, one line in the log.
func (d *Dashboard) serving(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		x := &exchange{ResponseWriter: w, d: d, r: r, id: "req_" + rand.Text()}
		header := w.Header()
		header.Set("X-Request-Id", x.id)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Security-Policy", policy)
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		if d.base.Scheme == "https" {
			header.Set("Strict-Transport-Security", "max-age=31536000")
		}
		control := http.NewResponseController(w)
		// Writers that have no deadlines cannot be kept waiting.
		_ = control.SetReadDeadline(started.Add(bodyTime))
		_ = control.SetWriteDeadline(started.Add(answerTime))
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)

		defer func() { x.log(time.Since(started)) }()
		defer x.recoverPanic()
		if err := d.origins.Check(r); err != nil {
			x.fail(&pageError{http.StatusForbidden, "This request came from another site, so nothing was done."})
			return
		}
		if err := handle(x); err != nil {
			x.fail(err)
		}
	})
}

// recoverPanic answers a panic like any other internal error.
func (x *exchange) recoverPanic() {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler)
	}
	x.stack = string(debug.Stack())
	err := fmt.Errorf("panic: %v", cause)
	if x.status != 0 {
		x.err = err
		panic(http.ErrAbortHandler)
	}
	x.fail(err)
}

// log writes the one line of a request. It never holds a query, a form or a
// cookie; the route stands for the path.
func (x *exchange) log(took time.Duration) {
	level := slog.LevelInfo
	if x.status >= 500 || x.stack != "" {
		level = slog.LevelError
	}
	_, route, _ := strings.Cut(x.r.Pattern, " ")
	line := []slog.Attr{
		slog.String("method", x.r.Method), slog.String("route", route), slog.Int("status", x.status),
		slog.Duration("duration", took), slog.Int64("bytes", x.bytes), slog.String("request_id", x.id),
	}
	if x.secret != "" {
		line = append(line, slog.String("user_id", x.session.User.ID.String()), slog.String("consumer_id", x.session.User.ConsumerID.String()))
	}
	if x.err != nil {
		line = append(line, slog.String("error", x.err.Error()))
	}
	if x.stack != "" {
		line = append(line, slog.String("stack", x.stack))
	}
	x.d.settings.Log.LogAttrs(x.r.Context(), level, "page", line...)
}

// pageError is an error that a page tells as it is.
type pageError struct {
	status  int
	message string
}

func (e *pageError) Error() string { return e.message }

func notFound(message string) error { return &pageError{http.StatusNotFound, message} }

// limitedError tells somebody who tries too often when to come back.
type limitedError struct{ wait time.Duration }

func (e *limitedError) Error() string {
	return fmt.Sprintf("Too many tries. Please try again in %s.", inWords(e.wait))
}

// inWords is a wait as people say it.
func inWords(wait time.Duration) string {
	seconds := ratelimit.RetryAfterSeconds(wait)
	switch {
	case seconds == 1:
		return "a second"
	case seconds < 120:
		return strconv.Itoa(seconds) + " seconds"
	}
	return strconv.Itoa((seconds+59)/60) + " minutes"
}

// told returns the status and the sentence with which an error is answered.
func (x *exchange) told(err error) (int, string) {
	if own := (*pageError)(nil); errors.As(err, &own) {
		return own.status, own.message
	}
	if own := (*limitedError)(nil); errors.As(err, &own) {
		x.Header().Set("Retry-After", strconv.Itoa(ratelimit.RetryAfterSeconds(own.wait)))
		return http.StatusTooManyRequests, own.Error()
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return http.StatusRequestEntityTooLarge, "What was sent is too long."
	}
	if own := (*job.Error)(nil); errors.As(err, &own) {
		switch own.Code {
		case job.InvalidInput:
			return http.StatusBadRequest, sentence(own.Message)
		case job.NotFound:
			return http.StatusNotFound, "There is nothing here: " + sentence(own.Message)
		case job.InvalidState:
			return http.StatusConflict, sentence(own.Message)
		case job.Unauthorized:
			return http.StatusUnauthorized, sentence(own.Message)
		}
	}
	return http.StatusInternalServerError, "Something went wrong on our side. Quote " + x.id + " when you report it."
}

// sentence gives a message a capital letter and a full stop.
func sentence(message string) string {
	if message == "" {
		return message
	}
	message = strings.ToUpper(message[:1]) + message[1:]
	if !strings.HasSuffix(message, ".") && !strings.HasSuffix(message, "?") {
		message += "."
	}
	return message
}

// fail answers an error with a page.
func (x *exchange) fail(err error) {
	x.err = err
	if x.r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		x.status = 499 // nobody is left to answer
		return
	}
	status, message := x.told(err)
	if status == http.StatusInternalServerError {
		x.d.settings.Log.Error("a page failed", "request_id", x.id, "error", err)
	}
	_ = x.showStatus(status, "error", "Not done", struct{ Status, Message string }{http.StatusText(status), message})
}

// show writes a page.
func (x *exchange) show(page, title string, data any) error {
	return x.showStatus(http.StatusOK, page, title, data)
}

// showStatus writes a page under a status.
func (x *exchange) showStatus(status int, page, title string, data any) error {
	text, err := x.render(page, "layout", title, data)
	if err != nil {
		return err
	}
	x.Header().Set("Content-Type", "text/html; charset=utf-8")
	x.WriteHeader(status)
	_, _ = x.Write(text) // nobody is left to tell
	return nil
}

// render writes a template of a page.
func (x *exchange) render(page, name, title string, data any) ([]byte, error) {
	view := view{Title: title, Page: page, Data: data, Path: x.r.URL.Path, Note: notes()[x.r.URL.Query().Get("note")], SignedIn: x.secret != "", User: x.session.User}
	if x.secret != "" {
		view.Token = account.FormToken(x.secret)
	}
	var text bytes.Buffer
	if err := x.d.pages[page].ExecuteTemplate(&text, name, view); err != nil {
		return nil, fmt.Errorf("write page %s: %w", page, err)
	}
	return text.Bytes(), nil
}

// redirect sends the browser to another page of the dashboard, by GET.
func (x *exchange) redirect(path string) error {
	x.Header().Set("Location", path)
	x.WriteHeader(http.StatusSeeOther)
	return nil
}

// notes are what pages tell after something was done, by the name that stands
// in the address: a text there would be anybody's.
func notes() map[string]string {
	return map[string]string{
		"queued":            "The bot has been told.",
		"cancelled":         "The job is cancelled. A bot in its meeting leaves.",
		"recording-deleted": "The recording is deleted.",
		"redelivered":       "The webhook will be sent once more.",
		"replayed":          "There was a job with this external id already; here it is. No second bot was sent.",
		"key-revoked":       "The key is revoked. It is refused from now on.",
		"endpoint":          "The default endpoint is saved.",
		"rotated":           "There is a new secret. For a day the old one signs too.",
		"withdrawn":         "The invitation is withdrawn.",
		"removed":           "The user is removed and signed out everywhere.",
		"password":          "The password is changed. All other sessions are signed out.",
		"signed-out":        "You are signed out.",
	}
}
