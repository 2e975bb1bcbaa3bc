package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/google/uuid"

	"standin/api"
	"standin/internal/account"
	"standin/internal/base/budget"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/server/httpmw"
)

// maxBodyBytes bounds a JSON body.
const maxBodyBytes = 1 << 20

// apiRequest is a request for an operation and the writer of its response.
type apiRequest struct {
	httpmw.Exchange
	api       *API
	operation string         // its ID in api/openapi.yaml; empty if it is not described there
	caller    account.Caller // the owner of the API key
	id        uuid.UUID      // of what the operation is on, from the path
}

// readBody reads a body of at most limit bytes, and waits until the process may decode it. Call
// done when it is decoded.
func (r *apiRequest) readBody(limit int64) (body []byte, done func(), err error) {
	body, done, err = r.api.Bodies.Open(r, r.Request, r.address(), limit, r.api.Timeouts.ReadJSON)
	if err != nil {
		return nil, nil, bodyError(err)
	}
	return body, done, nil
}

// NewCostlyReads returns the budget for reads that take much memory or CPU: one at a time
// for a consumer, and four for all.
func NewCostlyReads() *budget.Budget { return budget.New(4, 1, 0) }

// costlyRead waits until the caller may make a costly read.
func (r *apiRequest) costlyRead() (release func(), err error) {
	return r.api.CostlyReads.AcquireWithin(r.Context(), r.api.Timeouts.WriteJSON, r.caller.ConsumerID.String(), 1)
}

// input serves an operation with its input.
func input[In any](handle func(*apiRequest, In) error) handler {
	return func(r *apiRequest) error {
		var in In
		if err := r.read(&in); err != nil {
			return err
		}
		return handle(r, in)
	}
}

// read checks the input of an operation against api/openapi.yaml, and decodes it into the struct
// that into points to. The input is the query of a GET request, and the body of others.
func (r *apiRequest) read(into any) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return r.decode(r.api.Description.CheckQuery(r.operation, r.URL.Query()), into)
	}
	_, err := r.readChecked(into)
	return err
}

// readChecked reads a body like read, and returns the checked body too, also if it has issues.
func (r *apiRequest) readChecked(into any) (api.Checked, error) {
	body, done, err := r.readBody(maxBodyBytes)
	if err != nil {
		return api.Checked{}, err
	}
	defer done()
	checked := r.api.Description.CheckRequest(r.operation, body)
	return checked, r.decode(checked, into)
}

// decode decodes a checked body or query and lists its unknown fields in the
// response.
func (r *apiRequest) decode(checked api.Checked, into any) error {
	var ignored strings.Builder // their names, encoded for a header of a bounded length
	for _, name := range checked.Ignored {
		name = url.QueryEscape(name)
		if ignored.Len()+len(name) > maxIgnoredFields {
			break
		}
		if ignored.Len() > 0 {
			ignored.WriteString(", ")
		}
		ignored.WriteString(name)
	}
	if len(checked.Ignored) > 0 {
		r.Header().Set(ignoredFieldsHeader, ignored.String())
	}
	if len(checked.Issues) > 0 {
		return invalid(checked.Issues)
	}
	return checked.Decode(into)
}

const (
	// ignoredFieldsHeader lists the unknown fields and query parameters of a request.
	ignoredFieldsHeader = "X-Ignored-Fields"
	maxIgnoredFields    = 1000 // bytes of their names
)

// pageQuery selects a part of a list.
type pageQuery struct {
	Cursor string `json:"cursor"`
	Limit  int    `json:"limit"`
}

func (q pageQuery) page() lifecycle.Page { return lifecycle.Page{Cursor: q.Cursor, Limit: q.Limit} }

// pathID returns the id of an entity in the path. A text that is not a UUID names none.
func (r *apiRequest) pathID(name, entity string) (uuid.UUID, error) {
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
func (r *apiRequest) respond(body any, err error) error {
	return r.respondStatus(http.StatusOK, body, err)
}

// respondStatus is respond with another status.
func (r *apiRequest) respondStatus(status int, body any, err error) error {
	if err == nil {
		r.writeJSON(status, body)
	}
	return err
}

// respondPart responds with a page of a list that was read as a whole, in the order of the key of each value.
func respondPart[T, B any](r *apiRequest, in pageQuery, list byte, field string, values []T, key func(T) (int64, uuid.UUID),
	body func(T) B, err error) error {
	if err != nil {
		return err
	}
	values, next, err := lifecycle.PageOf(in.page(), list, values, key)
	return respondPage(r, field, values, body, next, err)
}

// respondPage responds with a page of a list, which has its values in a field.
func respondPage[T, B any](r *apiRequest, field string, values []T, body func(T) B, next string, err error) error {
	return r.respond(map[string]any{field: bodiesOf(values, body), "nextCursor": orNull(next)}, err)
}

// respondCreated responds with what an operation has created, and its path, or an error.
func (r *apiRequest) respondCreated(list string, id uuid.UUID, body any, err error) error {
	if err == nil {
		r.Header().Set("Location", "/api/v1/"+list+"/"+id.String())
	}
	return r.respondStatus(http.StatusCreated, body, err)
}

// noContent responds with the result of an operation that has no body.
func (r *apiRequest) noContent(err error) error {
	if err == nil {
		r.WriteHeader(http.StatusNoContent)
	}
	return err
}

// changing serves an operation on what an ID names that has no response body.
func changing(change func(context.Context, account.Caller, uuid.UUID) error) handler {
	return func(r *apiRequest) error { return r.noContent(change(r.Context(), r.caller, r.id)) }
}

// writeJSON responds with a JSON body.
func (r *apiRequest) writeJSON(status int, value any) {
	body, err := EncodeJSON(value)
	if err != nil {
		panic(fmt.Sprintf("encode a response: %v", err)) // every value is from this service
	}
	r.write(status, "application/json", body)
}

// EncodeJSON returns a value as JSON in the form of the API, with a line break at its end: times have milliseconds, and
// what only HTML needs is not escaped.
func EncodeJSON(value any, options ...json.Options) ([]byte, error) {
	encoded, err := json.Marshal(value, append(options, jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), timestamps)...)
	return append(encoded, '\n'), err
}

// timestamps writes times like job.Timestamp.
var timestamps = json.WithMarshalers(json.MarshalToFunc(func(to *jsontext.Encoder, t time.Time) error {
	return to.WriteToken(jsontext.String(job.Timestamp(t).String()))
}))

// write responds with a complete body, which the client must read within the
// response timeout.
func (r *apiRequest) write(status int, contentType string, body []byte) {
	_ = http.NewResponseController(r).SetWriteDeadline(time.Now().Add(r.api.Timeouts.WriteJSON)) // see ServeHTTP
	r.Header().Set("Content-Type", contentType)
	r.Header().Set("Content-Length", strconv.Itoa(len(body)))
	r.WriteHeader(status)
	_, _ = r.Write(body) // the client may be gone
}

// respondContent responds with content that is not JSON of this package.
func (r *apiRequest) respondContent(contentType string, content []byte) error {
	r.write(http.StatusOK, contentType, content)
	return nil
}

// bodiesOf returns the bodies of values: an empty list, not null, if there are none.
func bodiesOf[T, B any](values []T, body func(T) B) []B {
	bodies := make([]B, len(values))
	for i, value := range values {
		bodies[i] = body(value)
	}
	return bodies
}

// timeOrNull is orNull for a time.
func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// idOrNull is orNull for an ID.
func idOrNull(id uuid.UUID) *string {
	if id == uuid.Nil {
		return nil
	}
	return new(id.String())
}

// orNull returns a pointer to a value, nil for the zero value, so that it is
// null in JSON.
func orNull[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}
