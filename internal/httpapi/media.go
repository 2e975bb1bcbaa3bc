package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/recording"
)

// Recordings is where media is kept, as package recording's Storage does, with
// the errors of that package.
type Recordings interface {
	Manifest(ctx context.Context, jobID uuid.UUID) ([]byte, error)
	OpenMedia(ctx context.Context, jobID uuid.UUID, name string) (content io.ReadSeekCloser, size int64, modified time.Time, err error)
	SignedURL(ctx context.Context, jobID uuid.UUID, name string, expiry time.Duration) (address string, ok bool, err error)
	PutUpload(ctx context.Context, jobID uuid.UUID, attempt int, name string, content io.Reader, sha256Hex string, maxBytes int64) (recording.StoredObject, error)
}

// signedURLExpiry is how long a signed address of a media file is good: long
// enough to download hours of video once, too short to be passed around.
const signedURLExpiry = 15 * time.Minute

func (a *API) getManifest(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	_, manifest, err := a.namedManifest(r, caller)
	if err != nil {
		return err
	}
	a.write(w, http.StatusOK, "application/json", manifest)
	return nil
}

// namedManifest returns the manifest of the caller's job that the path names.
func (a *API) namedManifest(r *http.Request, caller account.Caller) (uuid.UUID, []byte, error) {
	none := &job.Error{Code: job.NotFound, Message: "The job has no recording."}
	j, err := a.namedJob(r, caller)
	if err != nil {
		return uuid.Nil, nil, err
	}
	if j.ManifestURI == "" {
		return uuid.Nil, nil, none
	}
	manifest, err := a.settings.Recordings.Manifest(r.Context(), j.ID)
	if missing := (*recording.NotFoundError)(nil); errors.As(err, &missing) {
		return uuid.Nil, nil, none // finalized elsewhere, or deleted since
	}
	if err != nil {
		return uuid.Nil, nil, fmt.Errorf("fetch a manifest: %w", err)
	}
	return j.ID, manifest, nil
}

// mediaFile is what a manifest tells of a file.
type mediaFile struct {
	Name        string `json:"name"`
	ContentType string `json:"contentType"`
	SHA256      string `json:"sha256"`
}

// namedMedia finds the file that the path names in a manifest.
func namedMedia(manifest []byte, name string) (mediaFile, error) {
	var listed struct {
		Media []mediaFile `json:"media"`
	}
	if err := json.Unmarshal(manifest, &listed); err != nil {
		return mediaFile{}, fmt.Errorf("read a manifest: %w", err)
	}
	for _, file := range listed.Media {
		if file.Name == name {
			return file, nil
		}
	}
	return mediaFile{}, &job.Error{Code: job.NotFound, Message: "The recording has no such file."}
}

func (a *API) getMedia(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, manifest, err := a.namedManifest(r, caller)
	if err != nil {
		return err
	}
	file, err := namedMedia(manifest, r.PathValue("name"))
	if err != nil {
		return err
	}
	if r.Method == http.MethodGet { // an address is signed for one method
		address, signed, err := a.settings.Recordings.SignedURL(r.Context(), id, file.Name, signedURLExpiry)
		if err != nil {
			return fmt.Errorf("sign an address: %w", err)
		}
		if signed {
			w.Header().Set("Location", address)
			w.WriteHeader(http.StatusTemporaryRedirect)
			return nil
		}
	}
	content, _, modified, err := a.settings.Recordings.OpenMedia(r.Context(), id, file.Name)
	if missing := (*recording.NotFoundError)(nil); errors.As(err, &missing) {
		return &job.Error{Code: job.NotFound, Message: "The recording has no such file."}
	}
	if err != nil {
		return fmt.Errorf("open a media file: %w", err)
	}
	defer content.Close() // read only
	a.serveContent(w, r, file, content, modified)
	return nil
}

func (a *API) serveContent(w http.ResponseWriter, r *http.Request, file mediaFile, content io.ReadSeeker, modified time.Time) {
	header := w.Header()
	header.Set("Cache-Control", "private, no-cache") // may be kept, but not shown without asking
	header.Set("Content-Type", file.ContentType)
	if file.SHA256 != "" {
		header.Set("ETag", `"`+file.SHA256+`"`)
	}
	steady := &steadyWriter{ResponseWriter: w, api: a}
	http.ServeContent(steady, r, file.Name, modified, content)
}

func (a *API) deleteRecording(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	if err := a.settings.Jobs.DeleteRecording(r.Context(), caller, id); err != nil {
		return fmt.Errorf("delete a recording: %w", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// steadyWriter lets an answer take its time as long as the client takes some
// of it. An error that http.ServeContent would write as text is written as
// the Error schema says.
type steadyWriter struct {
	http.ResponseWriter
	api      *API
	answered bool // with an error; what else is written is dropped
}

func (w *steadyWriter) WriteHeader(status int) {
	if status < http.StatusBadRequest || status == http.StatusPreconditionFailed {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.answered = true
	body := errorBody{Error: "range_not_satisfiable", Message: "The file has no such range."}
	if status != http.StatusRequestedRangeNotSatisfiable {
		body = errorBody{Error: "internal_server_error", Message: "The file could not be read."}
	}
	w.Header().Set("Cache-Control", "no-store")
	w.api.writeJSON(w.ResponseWriter, status, body)
}

func (w *steadyWriter) Write(data []byte) (int, error) {
	if w.answered {
		return len(data), nil
	}
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.api.settings.Timeouts.Stall)) // see ServeHTTP
	return w.ResponseWriter.Write(data)
}

// steadyReader lets a body take its time as long as some of it comes, up to
// a bound for the whole.
type steadyReader struct {
	body     io.Reader
	control  *http.ResponseController
	stall    time.Duration
	deadline time.Time
	err      error // the first that reading gave, but for its end
}

func newSteadyReader(w http.ResponseWriter, body io.Reader, timeouts Timeouts) *steadyReader {
	return &steadyReader{
		body:     body,
		control:  http.NewResponseController(w),
		stall:    timeouts.Stall,
		deadline: time.Now().Add(timeouts.Upload),
	}
}

func (s *steadyReader) Read(buffer []byte) (int, error) {
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
