package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"standin/api"
	"standin/internal/lifecycle"
)

// maxBodyBytes is how long a JSON body may be (contract, Errors and limits).
const maxBodyBytes = 1 << 20

// readBody reads a JSON body within its time, and then lifts the deadline:
// one that passed while the answer is held would look like a client that has
// gone.
func (a *API) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBodyBytes {
		return nil, tooLarge(maxBodyBytes)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1))
	if err != nil {
		return nil, bodyError(err)
	}
	if len(body) > maxBodyBytes {
		return nil, tooLarge(maxBodyBytes)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // see ServeHTTP
	return body, nil
}

// readRequest reads a body and checks it against an operation's schema.
func (a *API) readRequest(w http.ResponseWriter, r *http.Request, operationID string) (object, error) {
	body, err := a.readBody(w, r)
	if err != nil {
		return nil, err
	}
	value, issues := a.settings.Description.CheckRequest(operationID, body)
	if len(issues) > 0 {
		return nil, invalid(issues)
	}
	return asObject(value), nil
}

// readValue reads a body that is JSON, whatever else it may be.
func (a *API) readValue(w http.ResponseWriter, r *http.Request) (any, error) {
	body, err := a.readBody(w, r)
	if err != nil {
		return nil, err
	}
	value, issues := api.Parse(body)
	if len(issues) > 0 {
		return nil, invalid(issues)
	}
	return value, nil
}

// readQuery reads the query and checks it against an operation's parameters.
func (a *API) readQuery(r *http.Request, operationID string) (object, error) {
	values, issues := a.settings.Description.CheckQuery(operationID, r.URL.Query())
	if len(issues) > 0 {
		return nil, invalid(issues)
	}
	return values, nil
}

// done is the answer to what has nothing else to tell.
type done struct {
	OK bool `json:"ok"`
}

// pageOf is the part of a list that a query asks for.
func pageOf(query object) lifecycle.Page {
	return lifecycle.Page{Cursor: query.text("cursor"), Limit: int(query.whole("limit", 0))}
}

// textOrNull is null on the wire for an empty text.
func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// writeJSON answers with a JSON body.
func (a *API) writeJSON(w http.ResponseWriter, status int, value any) {
	text, err := encode(value)
	if err != nil {
		panic(fmt.Sprintf("write an answer: %v", err)) // every value comes from this service
	}
	a.write(w, status, "application/json", text)
}

// write answers with a whole body. The client must take it in time.
func (a *API) write(w http.ResponseWriter, status int, contentType string, text []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(a.settings.Timeouts.Answer)) // see ServeHTTP
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that has gone needs no answer
}

// encode writes JSON without the escapes that only HTML needs.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
