package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/api"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording"
)

// Bots is what bots may do, once their token was checked. A job that is
// missing gives a *job.Error with InvalidInput and the path jobId.
type Bots interface {
	Ingest(ctx context.Context, event ingest.Event) (ingest.EventResponse, error)
	// Heartbeat holds its answer for up to wait. When ctx ends before, it
	// returns an error that is ctx's.
	Heartbeat(ctx context.Context, beat ingest.Heartbeat, wait time.Duration) (ingest.HeartbeatResponse, error)
	// AdmitUpload returns nil when media of the attempt may be stored.
	AdmitUpload(ctx context.Context, jobID uuid.UUID, attempt int) error
}

// maxWait is how long a heartbeat's answer is held at most.
const maxWait = 60 * time.Second

// readBotMessage reads a bot's message and checks it and its token, in the
// contract's order (State machine): no bearer 401; no JSON, or jobId or attempt
// missing or malformed, 400; token wrong 401. What is left is the caller's
// to check.
func (a *API) readBotMessage(w http.ResponseWriter, r *http.Request, operationID string) (fields object, issues []api.Issue, err error) {
	token, ok := bearer(r)
	if !ok {
		return nil, nil, unauthorized()
	}
	value, err := a.readValue(w, r)
	if err != nil {
		return nil, nil, err
	}
	if len(a.settings.Description.CheckIdentity(value)) > 0 {
		return nil, nil, invalid(a.settings.Description.CheckValue(operationID, value))
	}
	fields = asObject(value)
	id, ok := parseID(fields.text("jobId"))
	if !ok {
		return nil, nil, errors.New("the schema let a jobId through that is no UUID")
	}
	exchangeOf(r).job = id
	fields["jobId"] = id.String() // tokens are made over the lower-case form
	if !ingest.ValidToken(a.settings.SigningKey, id.String(), int(fields.whole("attempt", 0)), token) {
		return nil, nil, unauthorized()
	}
	return fields, a.settings.Description.CheckValue(operationID, value), nil
}

func (a *API) ingestEvent(w http.ResponseWriter, r *http.Request) error {
	fields, issues, err := a.readBotMessage(w, r, "ingestEvent")
	if err != nil {
		return err
	}
	if len(issues) > 0 {
		return invalid(issues)
	}
	event := ingest.Event{
		Kind:    job.Trigger(fields.text("kind")),
		JobID:   fields.text("jobId"),
		Attempt: int(fields.whole("attempt", 0)),
	}
	if event.EmittedAt, err = fields.time("emittedAt"); err != nil {
		return fmt.Errorf("decode the event: %w", err)
	}
	if event.Data, err = fields.raw("data", "{}"); err != nil {
		return fmt.Errorf("decode the event: %w", err)
	}
	answer, err := a.settings.Bots.Ingest(r.Context(), event)
	if err != nil {
		return fmt.Errorf("take an event: %w", err)
	}
	answer.Commands = listOf(answer.Commands)
	a.writeJSON(w, http.StatusOK, answer)
	return nil
}

func (a *API) heartbeat(w http.ResponseWriter, r *http.Request) error {
	fields, issues, err := a.readBotMessage(w, r, "heartbeat")
	if err != nil {
		return err
	}
	query, queryIssues := a.settings.Description.CheckQuery("heartbeat", r.URL.Query())
	if issues = append(issues, queryIssues...); len(issues) > 0 {
		return invalid(issues)
	}
	beat := ingest.Heartbeat{
		JobID:   fields.text("jobId"),
		Attempt: int(fields.whole("attempt", 0)),
		Acked:   fields.texts("acked"),
		Stats:   stats(fields),
	}
	answer, err := a.hold(r.Context(), beat, waitOf(query))
	if err != nil {
		return fmt.Errorf("take a heartbeat: %w", err)
	}
	answer.Commands = listOf(answer.Commands)
	a.writeJSON(w, http.StatusOK, answer)
	return nil
}

// hold waits for the heartbeat's answer, but not past the service's own stop.
// The same heartbeat again, without a wait, then fetches what there is.
func (a *API) hold(ctx context.Context, beat ingest.Heartbeat, wait time.Duration) (ingest.HeartbeatResponse, error) {
	if wait == 0 {
		return a.settings.Bots.Heartbeat(ctx, beat, 0)
	}
	holding, release := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-a.draining:
			release()
		case <-holding.Done():
		}
	})
	answer, err := a.settings.Bots.Heartbeat(holding, beat, wait)
	release()
	watching.Wait()
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return a.settings.Bots.Heartbeat(ctx, beat, 0)
	}
	return answer, err
}

// waitOf is how long an answer may be held.
func waitOf(query object) time.Duration {
	return time.Duration(min(query.number("wait"), maxWait.Seconds()) * float64(time.Second))
}

// stats reads what a bot tells of itself; nil when it tells nothing.
func stats(fields object) *ingest.Stats {
	if _, ok := fields["stats"]; !ok {
		return nil
	}
	told := fields.inner("stats")
	return &ingest.Stats{
		BytesRecorded:  told.whole("bytesRecorded", 0),
		BytesUploaded:  told.whole("bytesUploaded", 0),
		FinalBytes:     told.whole("bytesToHandIn", 0),
		FinalBytesSent: told.whole("bytesHandedIn", 0),
		EventsWaiting:  int(told.whole("eventsWaiting", 0)),
		RecordedMillis: told.whole("recordedMillis", 0),
		CoresUsed:      told.number("coresUsed"),
		MemoryBytes:    told.whole("memoryBytes", 0),
	}
}

// listOf keeps an empty list from being null on the wire.
func listOf(commands []ingest.Command) []ingest.Command {
	if commands == nil {
		return []ingest.Command{}
	}
	return commands
}

// checksumForm is the SHA-256 of an uploaded piece in hex.
var checksumForm = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

func (a *API) uploadMedia(w http.ResponseWriter, r *http.Request) error {
	token, ok := bearer(r)
	if !ok {
		return unauthorized()
	}
	id, attempt, issues := uploader(r)
	if len(issues) > 0 {
		return invalid(append(issues, uploadIssues(r)...))
	}
	exchangeOf(r).job = id
	if !ingest.ValidToken(a.settings.SigningKey, id.String(), attempt, token) {
		return unauthorized()
	}
	if issues := uploadIssues(r); len(issues) > 0 {
		return invalid(issues)
	}
	if r.ContentLength > a.settings.MaxUploadBytes {
		return tooLarge(a.settings.MaxUploadBytes)
	}
	if err := a.settings.Bots.AdmitUpload(r.Context(), id, attempt); err != nil {
		return fmt.Errorf("admit an upload: %w", err)
	}
	content := newSteadyReader(w, r.Body, a.settings.Timeouts)
	_, err := a.settings.Recordings.PutUpload(
		r.Context(), id, attempt, r.PathValue("name"), content, r.Header.Get(ingest.ChecksumHeader), a.settings.MaxUploadBytes)
	if err != nil {
		return uploadError(err, content.err)
	}
	a.writeJSON(w, http.StatusOK, done{true})
	return nil
}

// uploader reads from the path who uploads: what the token is bound to.
func uploader(r *http.Request) (uuid.UUID, int, []api.Issue) {
	var issues []api.Issue
	id, ok := parseID(r.PathValue("jobId"))
	if !ok {
		issues = append(issues, issue("format", "must be a UUID", "jobId")...)
	}
	attempt, err := strconv.ParseUint(r.PathValue("attempt"), 10, 31)
	if err != nil {
		issues = append(issues, issue("type", "must be an integer from 0 to 2147483647", "attempt")...)
	}
	return id, int(attempt), issues
}

// uploadIssues checks what remains of an upload's parameters.
func uploadIssues(r *http.Request) []api.Issue {
	var issues []api.Issue
	if !ingest.ValidMediaName(r.PathValue("name")) {
		issues = append(issues, issue("pattern", "must be a plain file name in lower case", "name")...)
	}
	switch sum := r.Header.Get(ingest.ChecksumHeader); {
	case sum == "":
		issues = append(issues, issue("required", "is required", ingest.ChecksumHeader)...)
	case !checksumForm.MatchString(sum):
		issues = append(issues, issue("pattern", "must be the SHA-256 of the body in hex", ingest.ChecksumHeader)...)
	}
	return issues
}

// uploadError is the answer to an upload that was not kept.
func uploadError(err, reading error) error {
	if large := (*recording.TooLargeError)(nil); errors.As(err, &large) {
		return tooLarge(large.MaxBytes)
	}
	if reading != nil {
		return bodyError(reading)
	}
	if sum := (*recording.ChecksumError)(nil); errors.As(err, &sum) {
		return invalid(issue(api.CodeChecksum, sum.Error(), ingest.ChecksumHeader))
	}
	if name := (*recording.NameError)(nil); errors.As(err, &name) {
		return invalid(issue("pattern", name.Error(), "name"))
	}
	if conflict := (*recording.ConflictError)(nil); errors.As(err, &conflict) {
		return &job.Error{Code: job.InvalidState, Message: conflict.Error()}
	}
	return fmt.Errorf("store an upload: %w", err)
}
