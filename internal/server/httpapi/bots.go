package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/api"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/server/httpmw"
)

// maxWait bounds how long the response to a heartbeat is held.
const maxWait = 60 * time.Second

func (a *API) ingestEvent(r *apiRequest) error {
	event := ingest.Event{Data: json.RawMessage("{}")}
	bot, err := r.readBotMessage(&event)
	if err != nil {
		return err
	}
	return r.respond(a.Jobs.Ingest(r.Context(), bot, event))
}

// message serves an operation on the message of a bot.
func message[In, Out any](handle func(context.Context, ingest.Bot, In) (Out, error)) handler {
	return func(r *apiRequest) error {
		var in In
		bot, err := r.readBotMessage(&in)
		if err != nil {
			return err
		}
		return r.respond(handle(r.Context(), bot, in))
	}
}

func (a *API) heartbeat(r *apiRequest) error {
	var query struct {
		Wait float64 `json:"wait"` // seconds
	}
	r.Level = slog.LevelDebug
	var beat ingest.Heartbeat
	parameters := a.Description.CheckQuery(r.operation, r.URL.Query())
	bot, err := r.readBotMessage(&beat, parameters.Issues...)
	if err != nil {
		return err
	}
	if err := parameters.Decode(&query); err != nil {
		return err
	}
	ctx := r.Context()
	wait := time.Duration(min(query.Wait, maxWait.Seconds()) * float64(time.Second))
	if wait == 0 {
		return r.respond(a.Jobs.Heartbeat(ctx, bot, beat, 0))
	}
	holding, stop := a.untilDrain(ctx)
	response, err := a.Jobs.Heartbeat(holding, bot, beat, wait)
	stop()
	if errors.Is(err, context.Canceled) && ctx.Err() == nil { // the service shuts down
		response, err = a.Jobs.Heartbeat(ctx, bot, beat, 0)
	}
	return r.respond(response, err)
}

// maxUnidentified is the size of the largest message that is decoded to list all of its
// issues although it does not name its sender.
const maxUnidentified = 64 << 10

// readBotMessage reads and checks the message of a bot, and decodes it into the struct
// that into points to. It returns the bot. more are issues of the rest of the
// request.
//
// The token is bound to the job and the attempt in the message, so the order of the
// checks is: no bearer 401; unreadable JSON, or jobId or attempt missing or malformed
// 400; wrong token 401; other issues 400. The message is decoded after its token was
// checked, because a decoded message takes much more memory.
func (r *apiRequest) readBotMessage(into any, more ...api.Issue) (bot ingest.Bot, err error) {
	token, ok := r.bearer()
	if !ok {
		return bot, errInvalidToken
	}
	// A bot that says who it is in a header does not compete with strangers.
	id, number, _ := strings.Cut(r.Request.Header.Get(ingest.AttemptHeader), ":")
	attempt, _ := strconv.Atoi(number)
	if jobID, ok := parseID(id); ok {
		_, _ = r.authenticateBot(jobID, attempt, token)
	}
	body, done, err := r.readBody(maxBodyBytes)
	if err != nil {
		return bot, err
	}
	defer done()
	identity := r.api.Description.FindIdentity(body)
	identified := len(identity.Issues) == 0
	if !identified && len(body) > maxUnidentified {
		return bot, invalid(identity.Issues)
	}
	if identified {
		var sender struct {
			JobID   uuid.UUID `json:"jobId"`
			Attempt int       `json:"attempt"`
		}
		if err = identity.Decode(&sender); err == nil {
			bot, err = r.authenticateBot(sender.JobID, sender.Attempt, token)
		}
		if err != nil {
			return bot, err
		}
	}
	checked := r.api.Description.CheckRequest(r.operation, body)
	if !identified {
		if len(checked.Issues) == 0 {
			checked = identity
		}
		return bot, invalid(checked.Issues)
	}
	checked.Issues = append(checked.Issues, more...)
	return bot, r.decode(checked, into)
}

// authenticateBot returns the bot whose token this is.
func (r *apiRequest) authenticateBot(jobID uuid.UUID, attempt int, token string) (ingest.Bot, error) {
	r.JobID = jobID
	bot, ok := ingest.Authenticate(r.api.SigningKey, jobID, attempt, token)
	if !ok {
		return bot, errInvalidToken
	}
	r.Caller = jobID.String()
	return bot, nil
}

func (a *API) uploadMedia(r *apiRequest) error {
	r.Level = slog.LevelDebug // each second of a recording is a file
	ctx, name, sum := r.Context(), r.PathValue("name"), r.Request.Header.Get(ingest.ChecksumHeader)
	var issues []api.Issue
	if !ingest.ValidMediaName(name) {
		issues = issue("pattern", "must be a plain file name in lower case", "name")
	}
	switch {
	case sum == "":
		issues = append(issues, issue("required", "is required", ingest.ChecksumHeader)...)
	case !checksumForm.MatchString(sum):
		issues = append(issues, issue("pattern", "must be the SHA-256 of the body in hex", ingest.ChecksumHeader)...)
	}
	bot, err := r.botInPath(issues)
	if err != nil {
		return err
	}
	size := r.ContentLength
	if size < 0 { // unknown
		size = a.MaxUploadBytes
	}
	_, done, err := a.admitUpload(ctx, bot, size)
	if err != nil {
		return err
	}
	stall := a.Timeouts.Stall
	content := httpmw.NewPacedReader(r, r.Body, stall, stall, a.Timeouts.Upload)
	stored, err := a.Recordings.PutUpload(ctx, bot.JobID(), bot.Attempt(), name, content, sum, a.MaxUploadBytes)
	done(err == nil && stored.New)
	if err != nil {
		if large, ok := errors.AsType[*recording.TooLargeError](err); ok {
			return tooLarge(large.MaxBytes)
		}
		if content.Err != nil {
			return bodyError(content.Err)
		}
		if wrong, ok := errors.AsType[*recording.ChecksumError](err); ok {
			return invalid(issue(api.CodeChecksum, wrong.Error(), ingest.ChecksumHeader))
		}
		if unusable, ok := errors.AsType[*recording.NameError](err); ok {
			return invalid(issue("pattern", unusable.Error(), "name"))
		}
		if conflict, ok := errors.AsType[*recording.ConflictError](err); ok {
			return job.NewError(job.InvalidState, conflict.Error())
		}
		return err
	}
	// The recording may have been deleted meanwhile.
	if _, err := a.Jobs.AdmitUpload(ctx, bot); stored.New && job.ErrorIs(err, job.InvalidState) {
		return errors.Join(err, a.Recordings.DeleteUpload(ctx, bot.JobID(), bot.Attempt(), stored.Name))
	}
	return r.respond(okBody{true}, nil)
}

// admitUpload reserves space for a file of a bot. Call done when its upload has ended.
func (a *API) admitUpload(ctx context.Context, bot ingest.Bot, size int64) (q recording.UploadQuota, done func(stored bool), err error) {
	if size > a.MaxUploadBytes {
		return q, nil, tooLarge(a.MaxUploadBytes)
	}
	if q, err = a.Jobs.AdmitUpload(ctx, bot); err != nil {
		return q, nil, err
	}
	done, err = a.Recordings.ReserveUpload(ctx, bot.JobID(), size, q)
	if exceeded, ok := errors.AsType[*recording.QuotaError](err); ok {
		err = job.NewError(job.OverQuota, exceeded.Error())
	}
	return q, done, err
}

// signUpload signs the upload of a file to the object store, which counts as stored when the upload can no longer begin. After
// the end of a job its recording may be deleted, so that the service itself has to take what is late.
func (a *API) signUpload(r *apiRequest) error {
	r.Level = slog.LevelDebug
	var u ingest.DirectUpload
	bot, err := r.readBotMessage(&u)
	if err != nil {
		return err
	}
	quota, done, err := a.admitUpload(r.Context(), bot, u.Bytes)
	if err != nil {
		return err
	}
	var signed ingest.SignedUpload
	if quota.Live {
		signed, err = a.Recordings.SignUpload(r.Context(), bot, u)
	}
	if signed.URL == "" {
		done(false)
	} else {
		time.AfterFunc(ingest.SignExpiry, func() { done(true) })
	}
	return r.respond(signed, err)
}

// botInPath returns the bot of the job and the attempt in the path, whose token it checks.
// rest are the issues of the rest of the request.
func (r *apiRequest) botInPath(rest []api.Issue) (bot ingest.Bot, err error) {
	token, ok := r.bearer()
	if !ok {
		return bot, errInvalidToken
	}
	var issues []api.Issue
	jobID, ok := parseID(r.PathValue("jobId"))
	if !ok {
		issues = append(issues, issue("format", "must be a UUID", "jobId")...)
	}
	attempt, err := strconv.ParseUint(r.PathValue("attempt"), 10, 31)
	if err != nil {
		issues = append(issues, issue("type", "must be an integer from 0 to 2147483647", "attempt")...)
	}
	if len(issues) > 0 {
		return bot, invalid(append(issues, rest...))
	}
	if bot, err = r.authenticateBot(jobID, int(attempt), token); err == nil && len(rest) > 0 {
		err = invalid(rest)
	}
	return bot, err
}

// checksumForm is the form of a SHA-256 in hex.
var checksumForm = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)
