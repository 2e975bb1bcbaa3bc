package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/recording/build"
	"standin/internal/recording/transcript"
)

// Formats makes files from recordings; see package formats.
type Formats interface {
	Make(ctx context.Context, consumer, jobID uuid.UUID, media []recording.Media, name string) (ok bool, err error)
}

// conversionWait is how long a request for a file waits while it is made.
const conversionWait = 20 * time.Second

// signedURLExpiry is how long a signed URL of a media file is valid: long enough
// to download hours of video once, too short to be shared.
const signedURLExpiry = 15 * time.Minute

func (a *API) getManifest(r *apiRequest) error {
	j, err := r.job()
	if err != nil {
		return err
	}
	manifest, err := a.Recordings.Manifest(r.Context(), j.ID)
	if recording.IsNotFound(err) || err == nil && j.ManifestURI == "" {
		return errNoRecording // stored elsewhere, or deleted
	}
	if err != nil {
		return err
	}
	return r.respondContent("application/json", manifest)
}

// manifest returns the manifest of the job in the path.
func (r *apiRequest) manifest() (m recording.Manifest, err error) {
	j, err := r.job()
	if err != nil {
		return m, err
	}
	m, found, err := r.api.Recordings.StoredManifest(r.Context(), j.ID)
	if err == nil && (!found || j.ManifestURI == "") {
		err = errNoRecording
	}
	return m, err
}

var errNoRecording error = job.NewError(job.NotFound, "The job has no recording.")

var errNoFile error = job.NewError(job.NotFound, "The recording has no such file.")

func (a *API) getMedia(r *apiRequest) error {
	manifest, err := r.manifest()
	if err != nil {
		return err
	}
	var file recording.File
	name := r.PathValue("name")
	if at := slices.IndexFunc(manifest.Media, func(m recording.Media) bool { return m.Name == name }); at >= 0 {
		file = manifest.Media[at].File
	} else if _, composed, ok := build.Composable(manifest); ok && name == composed {
		if due, err := a.Jobs.RequestVideo(r.Context(), r.id); err != nil || !due {
			return cmp.Or(err, errNoFile)
		}
	} else if file, err = a.convert(r.Context(), r.caller.ConsumerID, r.id, manifest.Media, name); err != nil {
		return err
	}
	if file.Name == "" {
		r.Header().Set("Retry-After", "5")
		return r.respondStatus(http.StatusAccepted, map[string]string{"status": "processing"}, nil)
	}
	if r.Method == http.MethodGet { // a URL is signed for one method
		signedURL, signed, err := a.Recordings.SignedURL(r.Context(), r.id, file.Name, signedURLExpiry)
		if err != nil {
			return err
		}
		if signed {
			r.Header().Set("Location", signedURL)
			r.WriteHeader(http.StatusTemporaryRedirect)
			return nil
		}
	}
	content, modified, err := a.Recordings.OpenMedia(r.Context(), r.id, file.Name)
	if recording.IsNotFound(err) {
		return errNoFile
	}
	if err != nil {
		return err
	}
	defer content.Close() // read only
	header := r.Header()
	header.Set("Cache-Control", "private, no-cache") // caches must revalidate
	header.Set("Content-Type", file.ContentType)
	if file.SHA256 != "" {
		header.Set("ETag", `"`+file.SHA256+`"`)
	}
	if !byteRanges.MatchString(r.Request.Header.Get("Range")) {
		r.Request.Header.Del("Range") // a malformed one is ignored (RFC 9110, section 14.2)
	}
	http.ServeContent(&stallWriter{apiRequest: r}, r.Request, file.Name, modified, content)
	return nil
}

// convert makes a file that is not in the manifest. It has no name while it is being made.
func (a *API) convert(ctx context.Context, consumer, id uuid.UUID, media []recording.Media, name string) (file recording.File, err error) {
	how, known := build.ConversionNamed(name)
	if !known || a.Formats == nil {
		return file, errNoFile
	}
	waiting, cancel := context.WithTimeout(ctx, conversionWait)
	defer cancel()
	ok, err := a.Formats.Make(waiting, consumer, id, media, name)
	switch {
	case ok:
		return recording.File{Name: name, ContentType: how.ContentType}, nil
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return file, nil
	case err == nil || recording.IsNotFound(err):
		return file, errNoFile
	}
	return file, fmt.Errorf("make %s: %w", name, err)
}

// byteRanges matches a well-formed Range header in bytes (RFC 9110, section 14.1.2).
var byteRanges = regexp.MustCompile(`^bytes=[ \t]*(\d+-\d*|-\d+)([ \t]*,[ \t]*(\d+-\d*|-\d+))*[ \t]*$`)

// stallWriter lets a client pause for the stall timeout between two reads. An
// error that http.ServeContent would write as text becomes an Error body.
type stallWriter struct {
	*apiRequest
	failed bool // an error was written, and the rest is dropped
}

func (w *stallWriter) WriteHeader(status int) {
	if status < http.StatusBadRequest || status == http.StatusPreconditionFailed {
		w.apiRequest.WriteHeader(status)
		return
	}
	w.failed = true
	body := errorBody{Error: "range_not_satisfiable", Message: "The file has no such range.", DocURL: errorsPage}
	if status != http.StatusRequestedRangeNotSatisfiable {
		body = errorBody{Error: "internal_server_error", Message: "The file could not be read.", DocURL: errorsPage}
	}
	w.Header().Set("Cache-Control", "no-store")
	w.writeJSON(status, body)
}

func (w *stallWriter) Write(data []byte) (int, error) {
	if w.failed {
		return len(data), nil
	}
	_ = http.NewResponseController(w.apiRequest).SetWriteDeadline(time.Now().Add(w.api.Timeouts.Stall)) // see ServeHTTP
	return w.apiRequest.Write(data)
}

// transcriptFormats are the formats of a transcript, by media type.
var transcriptFormats = map[string]string{
	"application/json": "json", "text/vtt": "vtt", "text/plain": "text", "*/*": "json", "text/*": "text", "application/*": "json",
}

type transcriptQuery struct {
	Format string `json:"format"`
}

func (a *API) getTranscript(r *apiRequest, query transcriptQuery) error {
	release, err := r.costlyRead()
	if err != nil {
		return err
	}
	defer release()
	m, err := r.manifest()
	if err != nil {
		return err
	}
	document, err := a.transcript(r.Context(), r.id, m)
	if err != nil {
		return err
	}
	if query.Format == "" {
		query.Format = acceptedFormat(r.Request.Header.Get("Accept"))
		r.Header().Set("Vary", "Accept")
	}
	switch query.Format {
	case "vtt":
		return r.respondContent("text/vtt; charset=utf-8", document.VTT(m.Gaps))
	case "text":
		return r.respondContent("text/plain; charset=utf-8", document.Text())
	}
	return r.respond(document, nil)
}

func (a *API) transcribeAgain(r *apiRequest, options job.TranscriptionOptions) error {
	err := a.Jobs.RequestTranscription(r.Context(), r.caller, r.id, options)
	return r.respondStatus(http.StatusAccepted, map[string]string{"status": "queued"}, err)
}

// transcript returns the transcript of a recording, or else its captions.
func (a *API) transcript(ctx context.Context, id uuid.UUID, m recording.Manifest) (document transcript.Document, err error) {
	content, _, err := a.Recordings.OpenMedia(ctx, id, transcript.FileName)
	if err == nil {
		defer content.Close() // read only
		return transcript.Read(content)
	}
	if !recording.IsNotFound(err) {
		return document, err
	}
	texts, err := a.Jobs.Store.Texts(ctx, id)
	if err != nil {
		return document, err
	}
	document = transcript.FromCaptions(m.JobID, texts, m.Timeline.Origin(), m.Participants)
	if len(document.Segments) > 0 {
		return document, nil
	}
	problem, err := a.Jobs.TranscriptProblem(ctx, id)
	if err != nil {
		return document, err
	}
	return document, job.NewError(job.NotFound, strings.TrimSpace("The recording has no transcript and no captions. "+problem))
}

// acceptedFormat returns the format with the highest quality in an Accept header
// (RFC 9110, section 12.5.1), the first of several. Without a known one it is
// json.
func acceptedFormat(accept string) string {
	format, best := "json", 0.0
	for part := range strings.SplitSeq(accept, ",") {
		mediaType, params, err := mime.ParseMediaType(part)
		known, ok := transcriptFormats[mediaType]
		if err != nil || !ok {
			continue
		}
		quality := 1.0
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			quality = q
		}
		if quality > best {
			format, best = known, quality
		}
	}
	return format
}
