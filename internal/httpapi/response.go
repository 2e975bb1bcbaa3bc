package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"standin/api"
	"standin/internal/job"
)

// okBody is the response of operations without a result.
type okBody struct {
	OK bool `json:"ok"`
}

// writeJSON responds with a JSON body.
func (a *API) writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := api.Encode(value)
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
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(a.settings.Timeouts.WriteJSON)) // see ServeHTTP
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// nullText returns a pointer to a text, nil for an empty one, so that it is
// null in JSON.
func nullText(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
