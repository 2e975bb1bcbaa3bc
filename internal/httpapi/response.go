package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
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

// jobBytes is the usual size of a job in JSON.
const jobBytes = 700

// writeJob responds with a job.
func (a *API) writeJob(w http.ResponseWriter, status int, j job.Job) error {
	buffer := bodyBuffers.Get().(*[]byte)
	defer releaseBuffer(buffer)
	body, err := job.NewView(j).AppendJSON((*buffer)[:0])
	if err != nil {
		return fmt.Errorf("encode job %s: %w", j.ID, err)
	}
	*buffer = append(body, '\n')
	a.write(w, status, "application/json", *buffer)
	return nil
}

// writeJobs responds with a page of jobs and the cursor of the next page.
func (a *API) writeJobs(w http.ResponseWriter, jobs []job.Job, next string) error {
	buffer := bodyBuffers.Get().(*[]byte)
	defer releaseBuffer(buffer)
	body := append((*buffer)[:0], `{"jobs":[`...)
	for i, j := range jobs {
		if i > 0 {
			body = append(body, ',')
		}
		var err error
		if body, err = job.NewView(j).AppendJSON(body); err != nil {
			return fmt.Errorf("encode job %s: %w", j.ID, err)
		}
	}
	cursor, err := api.Encode(nullText(next))
	if err != nil {
		return fmt.Errorf("encode a cursor: %w", err)
	}
	body = append(append(body, `],"nextCursor":`...), cursor...)
	*buffer = append(body, "}\n"...)
	a.write(w, http.StatusOK, "application/json", *buffer)
	return nil
}

// bodyBuffers are buffers for jobs and pages of jobs.
var bodyBuffers = sync.Pool{New: func() any { return new([]byte) }}

// releaseBuffer returns a buffer that is not unusually large.
func releaseBuffer(buffer *[]byte) {
	if cap(*buffer) <= 200*jobBytes {
		bodyBuffers.Put(buffer)
	}
}

// write responds with a complete body, which the client must read within the
// response timeout.
func (a *API) write(w http.ResponseWriter, status int, contentType string, body []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(a.settings.Timeouts.Answer)) // see ServeHTTP
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
