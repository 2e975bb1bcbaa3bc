package dashboard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/base/budget"
	"standin/internal/base/text"
	"standin/internal/jobs/job"
	"standin/internal/server/httpmw"
)

// Bounds of a request that is neither a stream nor media.
const (
	bodyTimeout     = 30 * time.Second
	responseTimeout = time.Minute
	maxForm         = 1 << 20  // of a signed-in user
	maxPublicForm   = 64 << 10 // of anyone
)

// policy lets pages load only the dashboard's own files and run no inline
// scripts or styles. No site may frame a page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// pageRequest is a request for a page and the writer of its response.
type pageRequest struct {
	httpmw.Exchange
	account.Session // of a signed-in user
	d               *Dashboard
	secret          string // of the session; empty when nobody is signed in
	owned           bool   // the page is about something that has a mode
}

// handler serves a page. A returned error becomes an error page. A handler that
// has started its response returns nil.
type handler func(req *pageRequest) error

// owned returns what turns handlers of pages about something of the user's team into handlers: they get what
// find returns, and the user as a caller. The mode of the page is that of the caller.
func owned[T any](find func(*pageRequest) (T, account.Caller, error)) func(func(*pageRequest, T, account.Caller) error) handler {
	return func(handle func(*pageRequest, T, account.Caller) error) handler {
		return func(req *pageRequest) error {
			found, as, err := find(req)
			if err != nil {
				return err
			}
			query := req.URL.Query()
			query.Set("mode", string(as.Mode))
			req.URL.RawQuery, req.owned = query.Encode(), true
			return handle(req, found, as)
		}
	}
}

// as returns the user as a caller in a mode.
func (req *pageRequest) as(mode job.Mode) account.Caller { return account.CallerOf(req.User, mode) }

// adapt turns a handler into an http.Handler that sets headers, deadlines and
// bounds, and writes a line to the log.
func (d *Dashboard) adapt(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		record, r := httpmw.StartRecord(w, r)
		req := &pageRequest{Exchange: httpmw.Exchange{Record: record, Request: r}, d: d}
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Security-Policy", policy)
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		if d.base.Scheme == "https" {
			header.Set("Strict-Transport-Security", "max-age=31536000")
		}
		// Writers without deadlines return an error, which is of no consequence.
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(started.Add(bodyTimeout))
		_ = control.SetWriteDeadline(started.Add(responseTimeout))

		defer func() { record.Log(d.Log, "page", r) }()
		defer record.Recover(req.fail)
		if err := d.origins.Check(r); err != nil {
			req.fail(&pageError{http.StatusForbidden, "This request came from another site, so nothing was done."})
			return
		}
		if err := checkTexts(r.URL.Query()); err != nil {
			req.fail(err)
			return
		}
		if err := handle(req); err != nil {
			req.fail(err)
		}
	})
}

// parseForm parses the form of the body, which may have up to limit bytes. Every form of
// a page has far fewer fields than it accepts.
func (req *pageRequest) parseForm(limit int64) error {
	const maxFields = 100
	address := httpmw.AddressKey(req.d.TrustedProxies.ClientAddress(req.Request))
	body, done, err := req.d.Bodies.Open(req, req.Request, address, limit, bodyTimeout)
	if err != nil {
		return formError(err)
	}
	defer done()
	req.Body = io.NopCloser(bytes.NewReader(body))
	if err := req.ParseForm(); err != nil {
		return formError(err)
	}
	fields := 0
	for _, values := range req.PostForm {
		fields += len(values)
	}
	if fields > maxFields {
		return &pageError{http.StatusBadRequest, "The form has too many fields."}
	}
	return checkTexts(req.PostForm)
}

// formError returns the error for a form that was not read.
func formError(err error) error {
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooLarge:
		return &pageError{http.StatusRequestEntityTooLarge, "The form is too large."}
	case errors.Is(err, budget.ErrFull):
		return &pageError{http.StatusServiceUnavailable, "The service is too busy for this form. Try again."}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &pageError{http.StatusRequestTimeout, "The form arrived too slowly. Try again on a better connection."}
	}
	return &pageError{http.StatusBadRequest, "The form could not be read."}
}

// costlyRead waits until a consumer may make a costly read.
func (req *pageRequest) costlyRead(consumer uuid.UUID) (release func(), err error) {
	return req.d.CostlyReads.AcquireWithin(req.Context(), bodyTimeout, consumer.String(), 1)
}

// checkTexts refuses control characters in the fields of a form or a query.
func checkTexts(fields url.Values) error {
	for name, values := range fields {
		for _, value := range append([]string{name}, values...) {
			if err := text.Check(value, maxForm); err != nil {
				return &pageError{http.StatusBadRequest, fmt.Sprintf("The field %.100q %s.", name, err)}
			}
		}
	}
	return nil
}

// errorView is the data of the error page.
type errorView struct{ Status, Message string }

// fail responds with an error page.
func (req *pageRequest) fail(err error) {
	if !req.Fail(req.Request, err) {
		return
	}
	status, message := req.describe(err)
	if status >= http.StatusInternalServerError {
		req.d.Log.Error("page failed", "request_id", req.ID, "error", err)
	}
	_ = req.showStatus(status, "error", "Error", errorView{http.StatusText(status), message})
}

// pageError is an error whose message is shown to the user.
type pageError struct {
	status  int
	message string
}

func (e *pageError) Error() string { return e.message }

func notFound(message string) error { return &pageError{http.StatusNotFound, message} }

var errNoPage = notFound("There is no such page.")

// describe returns the status and the message of the response to an error.
func (req *pageRequest) describe(err error) (int, string) {
	if own, ok := errors.AsType[*pageError](err); ok {
		if own.status == http.StatusServiceUnavailable {
			req.Header().Set("Retry-After", "5")
		}
		return own.status, own.message
	}
	known := req.Explain(err, req.d.Unavailable)
	if known.Wait > 0 {
		req.Header().Set("Retry-After", strconv.Itoa(httpmw.RetryAfterSeconds(known.Wait)))
	}
	return known.Status, known.Message
}

// correct returns the status and the message of the response to an error that the user of a form can correct; ok is false
// for others.
func (req *pageRequest) correct(err error) (status int, message string, ok bool) {
	if !job.ErrorIs(err, job.InvalidInput) && !job.ErrorIs(err, job.InvalidState) {
		return 0, "", false
	}
	status, message = req.describe(err)
	return status, message, true
}

// show responds with a page.
func (req *pageRequest) show(page, title string, data any) error {
	return req.showStatus(http.StatusOK, page, title, data)
}

// showAfter responds with a page, unless reading its data failed.
func (req *pageRequest) showAfter(err error, page, title string, data any) error {
	if err != nil {
		return err
	}
	return req.show(page, title, data)
}

// showStatus responds with a page and a status.
func (req *pageRequest) showStatus(status int, page, title string, data any) error {
	text, err := req.render(page, "layout", title, data)
	if err != nil {
		return err
	}
	req.Header().Set("Content-Type", "text/html; charset=utf-8")
	req.WriteHeader(status)
	_, _ = req.Write(text) // the client may be gone
	return nil
}

// render executes a template of a page.
func (req *pageRequest) render(page, name, title string, data any) ([]byte, error) {
	view := view{
		Title: title, Page: page, Data: data, Notice: notices[req.URL.Query().Get("note")],
		SignedIn: req.secret != "", User: req.User, Mode: modeOf(req.URL.Query()),
		here: url.URL{Path: "/jobs"},
	}
	if req.Method == http.MethodGet && page != "error" {
		view.here = *req.URL
	}
	if req.owned { // the other mode lacks it
		list, _, _ := strings.Cut(req.URL.Path[1:], "/")
		view.here, view.ModeQuery = url.URL{Path: "/" + list}, "?mode="+string(view.Mode)
	}
	if req.secret != "" {
		view.Token = account.FormToken(req.secret)
	}
	var text bytes.Buffer
	if err := pages()[page].ExecuteTemplate(&text, name, view); err != nil {
		return nil, fmt.Errorf("render page %s: %w", page, err)
	}
	return text.Bytes(), nil
}

// redirect sends the browser to another page with GET.
func (req *pageRequest) redirect(path string) error {
	req.Header().Set("Location", path)
	req.WriteHeader(http.StatusSeeOther)
	return nil
}

// redirectAfter sends the browser to another page, unless a change failed.
func (req *pageRequest) redirectAfter(err error, path string) error {
	if err != nil {
		return err
	}
	return req.redirect(path)
}

// notices are the confirmations that a page shows after an action. The URL has
// only their names, because anyone can create a URL.
var notices = map[string]string{
	"queued":            "The command is queued for the bot.",
	"cancelled":         "The job is cancelled. A bot that is in the meeting leaves.",
	"recording-deleted": "The recording is deleted.",
	"link-revoked":      "The link is revoked. It no longer shows the recording.",
	"jobs-cancelled":    "The selected jobs are cancelled. Bots that are in a meeting leave.",
	"jobs-sent":         "The bots of the selected jobs are sent again, as new jobs.",
	"none-selected":     "No job was selected.",
	"redelivered":       "The webhook will be sent again.",
	"replayed":          "A job with this external ID already exists. No second bot was sent.",
	"account-added":     "The account is added.",
	"account-changed":   "The account is changed.",
	"account-removed":   "The account is removed.",
	"key-revoked":       "The key is revoked and no longer accepted.",
	"disconnected":      "The calendar is disconnected. The jobs that only it asked for are cancelled.",
	"mail-retried":      "The message will be processed again.",
	"endpoint":          "The default endpoint is saved.",
	"endpoint-added":    "The endpoint is registered.",
	"endpoint-changed":  "The endpoint is changed.",
	"endpoint-deleted":  "The endpoint is deleted.",
	"endpoint-retried":  "The waiting webhooks are sent now.",
	"redelivered-since": "The webhooks that had failed since then will be sent again.",
	"rotated":           "There is a new secret. The old one also signs webhooks for another 24 hours.",
	"withdrawn":         "The invitation is withdrawn.",
	"role":              "The role is changed.",
	"removed":           "The user is removed and signed out everywhere.",
	"password":          "The password is changed. All other sessions are signed out.",
	"signed-out":        "You are signed out.",
}
