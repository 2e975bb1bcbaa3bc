package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"standin/internal/account"
	"standin/internal/base/text"
	"standin/internal/jobs/job"
)

const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotent-Replayed"
	maxIdempotencyKey = 255
	// answerTime is after how long a request without an answer counts as interrupted.
	answerTime = 5 * time.Minute
	// maxKeptAnswer bounds an answer that is kept.
	maxKeptAnswer = 1 << 20
)

// keptAnswer is the answer to a request, as it is kept.
type keptAnswer struct {
	Status int         `json:"status"`
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

// once serves a POST of a caller. One with an Idempotency-Key is executed once: when it is repeated
// within a day, the answer is repeated. Only what was executed is kept, so that a request that
// was refused can be corrected, and one that failed can be repeated.
func (a *API) once(r *apiRequest, handle handler) error {
	key, given := r.Request.Header.Get(idempotencyHeader), r.Request.Header.Values(idempotencyHeader)
	if r.Method != http.MethodPost || len(given) == 0 || !strings.HasPrefix(r.URL.Path, "/api/") { // POST /mcp streams
		return handle(r)
	}
	if key == "" {
		return invalid(issue("minLength", "must not be empty", idempotencyHeader))
	}
	if err := text.CheckLine(key, maxIdempotencyKey); err != nil {
		return invalid(issue("format", err.Error(), idempotencyHeader))
	}
	body, err := a.Bodies.Read(r, r.Request, r.address(), maxBodyBytes, a.Timeouts.ReadJSON)
	if err != nil {
		return bodyError(err)
	}
	defer body.Close()
	r.Body = body // the handler reads it again
	hash := body.Sum(r.URL.RequestURI() + "\n")
	kept, claimed, err := a.Jobs.Store.ClaimRequest(r.Context(), account.KeptRequest{
		ConsumerID: r.caller.ConsumerID, Mode: r.caller.Mode, Key: key, Hash: hash, At: time.Now(),
	}, time.Now().Add(-answerTime))
	switch {
	case err != nil:
		return err
	case !claimed && kept.Hash != hash:
		return job.NewError(job.InvalidState, "this Idempotency-Key was used with another request")
	case !claimed && kept.Answer == "":
		return job.NewError(job.Unavailable, "a request with this Idempotency-Key is being answered")
	case !claimed:
		return a.repeatAnswer(r, kept)
	}
	recorder := &answerRecorder{ResponseWriter: r.ResponseWriter}
	r.ResponseWriter = recorder
	defer func() { // also after a panic
		answer, keep := recorder.answer, a.Jobs.Store.KeepAnswer
		if answer.Status == 0 || answer.Status >= http.StatusMultipleChoices || len(answer.Body) > maxKeptAnswer {
			keep = a.Jobs.Store.ForgetRequest
		}
		answer.Header = r.Header().Clone()
		encoded, err := json.Marshal(answer)
		if err == nil {
			kept.Answer = a.Jobs.Sealer.Seal(kept.ConsumerID.String()+" "+kept.Key, string(encoded)) // it may contain a new secret
			err = keep(context.WithoutCancel(r.Context()), kept)
		}
		if err != nil {
			a.Log.Error("cannot keep the answer to a request with an Idempotency-Key", "error", err)
		}
	}()
	return handle(r)
}

// repeatAnswer responds with an answer that was kept.
func (a *API) repeatAnswer(r *apiRequest, kept account.KeptRequest) error {
	opened, err := a.Jobs.Sealer.Open(kept.ConsumerID.String()+" "+kept.Key, kept.Answer)
	var answer keptAnswer
	if err == nil {
		err = json.Unmarshal([]byte(opened), &answer)
	}
	if err != nil {
		return fmt.Errorf("read a kept answer: %w", err)
	}
	for _, name := range []string{"Location", warningHeader, ignoredFieldsHeader} {
		if value := answer.Header.Get(name); value != "" {
			r.Header().Set(name, value)
		}
	}
	r.Header().Set(replayedHeader, "true")
	if len(answer.Body) == 0 {
		r.WriteHeader(answer.Status)
		return nil
	}
	r.write(answer.Status, answer.Header.Get("Content-Type"), answer.Body)
	return nil
}

// answerRecorder remembers the response that it writes.
type answerRecorder struct {
	http.ResponseWriter
	answer keptAnswer
}

// Unwrap returns the writer of the connection, for http.ResponseController.
func (r *answerRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (r *answerRecorder) WriteHeader(status int) {
	r.answer.Status = status
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *answerRecorder) Write(data []byte) (int, error) {
	if len(r.answer.Body) <= maxKeptAnswer {
		r.answer.Body = append(r.answer.Body, data...)
	}
	return r.ResponseWriter.Write(data)
}
