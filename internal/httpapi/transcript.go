package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/transcript"
)

// Texts returns the chat messages and captions of a job.
type Texts interface {
	Texts(ctx context.Context, id uuid.UUID) ([]job.MeetingText, error)
}

// maxTranscript bounds a transcript that is read into memory.
const maxTranscript = 256 << 20

// transcriptFormats are the formats of a transcript, by media type.
var transcriptFormats = map[string]string{"application/json": "json", "text/vtt": "vtt", "text/plain": "text", "*/*": "json", "text/*": "text", "application/*": "json"}

func (a *API) getTranscript(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	var query struct {
		Format string `json:"format"`
	}
	if err := a.readQuery(w, r, "getTranscript", &query); err != nil {
		return err
	}
	id, manifest, err := a.namedManifest(r, caller)
	if err != nil {
		return err
	}
	var m recording.Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return fmt.Errorf("read a manifest: %w", err)
	}
	document, err := a.transcript(r.Context(), id, m)
	if err != nil {
		return err
	}
	if query.Format == "" {
		query.Format = acceptedFormat(r.Header.Get("Accept"))
		w.Header().Set("Vary", "Accept")
	}
	switch query.Format {
	case "vtt":
		a.write(w, http.StatusOK, "text/vtt; charset=utf-8", document.VTT(m.Gaps))
	case "text":
		a.write(w, http.StatusOK, "text/plain; charset=utf-8", document.Text())
	default:
		a.writeJSON(w, http.StatusOK, document)
	}
	return nil
}

// transcript returns the transcript of a recording, or else its captions.
func (a *API) transcript(ctx context.Context, id uuid.UUID, m recording.Manifest) (transcript.Document, error) {
	content, _, _, err := a.settings.Recordings.OpenMedia(ctx, id, transcript.FileName)
	if missing := (*recording.NotFoundError)(nil); errors.As(err, &missing) {
		return a.captions(ctx, id, m)
	}
	if err != nil {
		return transcript.Document{}, fmt.Errorf("open a transcript: %w", err)
	}
	defer content.Close() // read only
	text, err := io.ReadAll(io.LimitReader(content, maxTranscript))
	if err != nil {
		return transcript.Document{}, fmt.Errorf("read a transcript: %w", err)
	}
	return transcript.Parse(text)
}

func (a *API) captions(ctx context.Context, id uuid.UUID, m recording.Manifest) (transcript.Document, error) {
	texts, err := a.settings.Texts.Texts(ctx, id)
	if err != nil {
		return transcript.Document{}, err
	}
	document := transcript.FromCaptions(m.JobID, texts, m.Timeline.RecordingStartedAt.Time, m.Participants)
	if len(document.Segments) == 0 {
		return document, &job.Error{Code: job.NotFound, Message: "The recording has no transcript and no captions."}
	}
	return document, nil
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
