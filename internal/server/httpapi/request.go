package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/api"
	"standin/internal/account"
	"standin/internal/base/budget"
	"standin/internal/base/text"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
)

// maxBodyBytes bounds a JSON body.
const maxBodyBytes = 1 << 20

// readBody reads a body of at most limit bytes, and waits until the process may decode it. Call
// done when it is decoded.
func (a *API) readBody(w http.ResponseWriter, r *http.Request, limit int64) (body []byte, done func(), err error) {
	body, done, err = a.Bodies.Open(w, r, a.addressKey(r), limit, a.Timeouts.ReadJSON)
	if err != nil {
		return nil, nil, bodyError(err)
	}
	return body, done, nil
}

// NewCostlyReads returns the budget for reads that take much memory or CPU: one at a time
// for a consumer, and four for all.
func NewCostlyReads() *budget.Budget { return budget.New(4, 1, 0) }

// costlyRead waits until the consumer may make a costly read.
func (a *API) costlyRead(r *http.Request, caller account.Caller) (release func(), err error) {
	return a.CostlyReads.AcquireWithin(r.Context(), a.Timeouts.WriteJSON, caller.ConsumerID.String(), 1)
}

// readRequest reads a body, checks it against the schema of an operation, and
// decodes it into the struct that into points to.
func (a *API) readRequest(w http.ResponseWriter, r *http.Request, operationID string, into any) error {
	_, err := a.readChecked(w, r, operationID, into)
	return err
}

// readChecked does the same as readRequest, and returns the checked body too, also if it
// has issues.
func (a *API) readChecked(w http.ResponseWriter, r *http.Request, operationID string, into any) (api.Checked, error) {
	body, done, err := a.readBody(w, r, maxBodyBytes)
	if err != nil {
		return api.Checked{}, err
	}
	defer done()
	checked := a.Description.CheckRequest(operationID, body)
	return checked, decode(w, checked, into)
}

// readQuery checks the query against the parameters of an operation and decodes
// it into the struct that into points to.
func (a *API) readQuery(w http.ResponseWriter, r *http.Request, operationID string, into any) error {
	return decode(w, a.Description.CheckQuery(operationID, r.URL.Query()), into)
}

// decode decodes a checked body or query and lists its unknown fields in the
// response.
func decode(w http.ResponseWriter, checked api.Checked, into any) error {
	if len(checked.Ignored) > 0 {
		w.Header().Set(ignoredFieldsHeader, fieldList(checked.Ignored))
	}
	if len(checked.Issues) > 0 {
		return invalid(checked.Issues)
	}
	return checked.Decode(into)
}

// ignoredFieldsHeader lists the unknown fields and query parameters of a request.
const ignoredFieldsHeader = "X-Ignored-Fields"

// fieldList joins field names for a header. It encodes them and bounds the length.
func fieldList(names []string) string {
	const maxBytes = 1000
	var list strings.Builder
	for _, name := range names {
		name = url.QueryEscape(name)
		if list.Len()+len(name) > maxBytes {
			break
		}
		if list.Len() > 0 {
			list.WriteString(", ")
		}
		list.WriteString(name)
	}
	return list.String()
}

// pageQuery selects a part of a list.
type pageQuery struct {
	Cursor string `json:"cursor"`
	Limit  int    `json:"limit"`
}

func (q pageQuery) page() lifecycle.Page { return lifecycle.Page{Cursor: q.Cursor, Limit: q.Limit} }

// pathID returns the id of an entity in the path. A text that is not a UUID names none.
func pathID(r *http.Request, name, entity string) (uuid.UUID, error) {
	id, ok := parseID(r.PathValue(name))
	if !ok {
		return uuid.Nil, job.NewError(job.NotFound, "no such "+entity)
	}
	return id, nil
}

// parseID parses a UUID in its canonical form. uuid.Parse accepts others too.
func parseID(text string) (uuid.UUID, bool) {
	id, err := uuid.Parse(text)
	return id, err == nil && len(text) == len(uuid.Nil.String())
}

// okBody is the response of operations without a result.
type okBody struct {
	OK bool `json:"ok"`
}

// respond responds with the result of an operation: a JSON body, or an error.
func (a *API) respond(w http.ResponseWriter, status int, body any, err error) error {
	if err == nil {
		a.writeJSON(w, status, body)
	}
	return err
}

// noContent responds with the result of an operation that has no body.
func noContent(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// changing serves an operation on what an ID names that has no response body.
func changing(change func(context.Context, account.Caller, uuid.UUID) error) idHandler {
	return func(w http.ResponseWriter, r *http.Request, caller account.Caller, id uuid.UUID) error {
		return noContent(w, change(r.Context(), caller, id))
	}
}

// writeJSON responds with a JSON body.
func (a *API) writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := text.EncodeJSON(value)
	if err != nil {
		panic(fmt.Sprintf("encode a response: %v", err)) // every value is from this service
	}
	a.write(w, status, "application/json", append(body, '\n'))
}

// writeJob responds with a job.
func (a *API) writeJob(w http.ResponseWriter, status int, j job.Job) {
	a.writeJSON(w, status, job.NewView(j))
}

// write responds with a complete body, which the client must read within the
// response timeout.
func (a *API) write(w http.ResponseWriter, status int, contentType string, body []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(a.Timeouts.WriteJSON)) // see ServeHTTP
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// bodiesOf returns the bodies of values: an empty list, not null, if there are none.
func bodiesOf[T, B any](values []T, body func(T) B) []B {
	bodies := make([]B, len(values))
	for i, value := range values {
		bodies[i] = body(value)
	}
	return bodies
}

// nullText returns a pointer to a text, nil for an empty one, so that it is
// null in JSON.
func nullText(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
