package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/google/uuid"

	"standin/api"
	"standin/internal/httpmw"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording"
)

func (a *API) uploadMedia(w http.ResponseWriter, r *http.Request) error {
	token, ok := bearer(r)
	if !ok {
		return invalidToken()
	}
	id, attempt, issues := uploader(r)
	if len(issues) > 0 {
		return invalid(append(issues, uploadIssues(r)...))
	}
	httpmw.RecordOf(r).JobID = id
	if !ingest.ValidToken(a.settings.SigningKey, id.String(), attempt, token) {
		return invalidToken()
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
	done, err := a.reserveUpload(r, id)
	if err != nil {
		return err
	}
	content := newStallReader(w, r.Body, a.settings.Timeouts)
	stored, err := a.settings.Recordings.PutUpload(
		r.Context(), id, attempt, r.PathValue("name"), content, r.Header.Get(ingest.ChecksumHeader), a.settings.MaxUploadBytes)
	done(err == nil && stored.New)
	if err != nil {
		return uploadError(err, content.err)
	}
	a.writeJSON(w, http.StatusOK, okBody{true})
	return nil
}

// reserveUpload reserves an upload in its job's quota. One of unknown length
// counts with the maximum.
func (a *API) reserveUpload(r *http.Request, id uuid.UUID) (done func(stored bool), err error) {
	quota, err := a.settings.Bots.UploadQuota(r.Context(), id)
	if err != nil {
		return nil, fmt.Errorf("determine the upload quota: %w", err)
	}
	size := r.ContentLength
	if size < 0 {
		size = a.settings.MaxUploadBytes
	}
	done, err = a.settings.Recordings.ReserveUpload(r.Context(), id, size, quota)
	if exceeded := (*recording.QuotaError)(nil); errors.As(err, &exceeded) {
		return nil, &job.Error{Code: job.OverQuota, Message: exceeded.Error()}
	}
	return done, err
}

// uploader returns the job and the attempt in the path, to which the token is
// bound.
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

// checksumForm is the form of a SHA-256 in hex.
var checksumForm = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

// uploadIssues checks the other parameters of an upload.
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

// uploadError returns the error for an upload that was not stored. readErr is
// the error of reading its body, if any.
func uploadError(err, readErr error) error {
	if large := (*recording.TooLargeError)(nil); errors.As(err, &large) {
		return tooLarge(large.MaxBytes)
	}
	if readErr != nil {
		return bodyError(readErr)
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

// stallReader reads a body whose client may pause for the stall timeout between
// two bytes, until the upload timeout.
type stallReader struct {
	body     io.Reader
	control  *http.ResponseController
	stall    time.Duration
	deadline time.Time
	err      error // the first error of reading other than io.EOF
}

func newStallReader(w http.ResponseWriter, body io.Reader, timeouts Timeouts) *stallReader {
	return &stallReader{
		body:     body,
		control:  http.NewResponseController(w),
		stall:    timeouts.Stall,
		deadline: time.Now().Add(timeouts.Upload),
	}
}

func (s *stallReader) Read(buffer []byte) (int, error) {
	next := time.Now().Add(s.stall)
	if next.After(s.deadline) {
		next = s.deadline
	}
	_ = s.control.SetReadDeadline(next) // see ServeHTTP
	n, err := s.body.Read(buffer)
	switch {
	case errors.Is(err, io.EOF):
		_ = s.control.SetReadDeadline(time.Time{}) // storing may take longer: see readBody
	case err != nil:
		s.err = err
	}
	return n, err
}
