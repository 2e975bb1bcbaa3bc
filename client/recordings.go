package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Manifest describes a recording. Its JSON Schema is /manifest.schema.json of
// every Standin. Times in milliseconds are relative to the start of the recording.
type Manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	Revision      int               `json:"revision"` // 2 or more after files were attached
	JobID         string            `json:"jobId"`
	ExternalID    string            `json:"externalId"`
	Platform      string            `json:"platform"`
	MeetingURL    string            `json:"meetingUrl"`
	Metadata      json.RawMessage   `json:"metadata"`
	Bot           ManifestBot       `json:"bot"`
	Timeline      RecordingTimeline `json:"timeline"`
	End           End               `json:"end"`
	Partial       bool              `json:"partial"` // something is missing
	Gaps          []Gap             `json:"gaps"`
	MediaFaults   []MediaFault      `json:"mediaFaults"` // nil in manifests of earlier versions
	Media         []Media           `json:"media"`
	Participants  []Participant     `json:"participants"`
	Speech        []Speech          `json:"speech"`
	SpeechSource  string            `json:"speechSource"` // none, page, audio or page_and_audio; empty in manifests of earlier versions
	Consent       []Consent         `json:"consent"`
}

// ManifestBot is the bot that recorded.
type ManifestBot struct {
	Name    string  `json:"name"`
	Version *string `json:"version"`
}

// RecordingTimeline has the times of the bot's stay in the meeting.
type RecordingTimeline struct {
	JoinedAt           *time.Time `json:"joinedAt"`
	AdmittedAt         *time.Time `json:"admittedAt"`
	RecordingStartedAt *time.Time `json:"recordingStartedAt"`
	RecordingStoppedAt *time.Time `json:"recordingStoppedAt"`
	LeftAt             *time.Time `json:"leftAt"`
}

// End is the reason why the recording ended.
type End struct {
	Reason string  `json:"reason"`
	Detail *string `json:"detail"`
}

// Gap is an interval without a recording.
type Gap struct {
	StartMS int64  `json:"startMs"`
	EndMS   int64  `json:"endMs"`
	Reason  string `json:"reason"`
}

// MediaFault is an interval whose media is recorded but faulty.
type MediaFault struct {
	Kind    string `json:"kind"` // no_sound, frozen_picture, no_captions or no_chat
	StartMS int64  `json:"startMs"`
	EndMS   int64  `json:"endMs"`
}

// Media is a file of a recording.
type Media struct {
	Name          string  `json:"name"`
	Kind          string  `json:"kind"` // video, audio, participant_audio, participant_video, screen_share, chat, captions, transcript
	URI           string  `json:"uri"`
	ContentType   string  `json:"contentType"`
	Codecs        string  `json:"codecs"` // RFC 6381
	Bytes         int64   `json:"bytes"`
	SHA256        string  `json:"sha256"`
	DurationMS    int64   `json:"durationMs"`
	StartOffsetMS int64   `json:"startOffsetMs"`
	ParticipantID *string `json:"participantId"`
	Width         *int    `json:"width"`
	Height        *int    `json:"height"`
}

// Participant is a person in the meeting.
type Participant struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	JoinedAt time.Time  `json:"joinedAt"`
	LeftAt   *time.Time `json:"leftAt"`
}

// Speech is an interval in which a participant spoke.
type Speech struct {
	ParticipantID string `json:"participantId"`
	StartMS       int64  `json:"startMs"`
	EndMS         int64  `json:"endMs"`
}

// Consent is a request for permission to record, and its outcome.
type Consent struct {
	CommandID   string     `json:"commandId"`
	RequestedAt time.Time  `json:"requestedAt"`
	Outcome     *string    `json:"outcome"`
	RespondedAt *time.Time `json:"respondedAt"`
}

// Manifest returns the manifest of a job. The error has the code not_found as long
// as there is none.
func (c *Client) Manifest(ctx context.Context, id string) (Manifest, error) {
	return get[Manifest](ctx, c, "jobs", id, "manifest")
}

// Transcript is what was said in a meeting. Times in milliseconds are relative to
// the start of the recording.
type Transcript struct {
	SchemaVersion int                 `json:"schemaVersion"`
	JobID         string              `json:"jobId"`
	Language      string              `json:"language"` // empty if unknown
	Model         string              `json:"model"`    // name of the recognizer's model; empty for captions
	Partial       bool                `json:"partial"`  // audio beyond the limit of a job is missing
	Segments      []TranscriptSegment `json:"segments"`
}

// TranscriptSegment is a section of speech of one speaker.
type TranscriptSegment struct {
	StartMS       int64            `json:"startMs"`
	EndMS         int64            `json:"endMs"`
	ParticipantID string           `json:"participantId"` // empty if unknown
	Speaker       string           `json:"speaker"`       // empty if unknown
	Text          string           `json:"text"`          // plain text, not markup
	Confidence    *float64         `json:"confidence"`    // 0 to 1; nil if unknown
	Source        string           `json:"source"`        // participant_audio, mixed or captions
	Unconfirmed   bool             `json:"unconfirmed"`   // nobody is known to have spoken then
	Words         []TranscriptWord `json:"words"`
}

// TranscriptWord is a word of a segment, or of a LiveTranscript.
type TranscriptWord struct {
	StartMS    int64    `json:"startMs"` // 0, like EndMS, if unknown
	EndMS      int64    `json:"endMs"`
	Text       string   `json:"text"`
	Confidence *float64 `json:"confidence"`
}

// Transcript returns the transcript of a job, or the captions of the meeting
// platform if it has none. The error has the code not_found as long as there is
// neither.
func (c *Client) Transcript(ctx context.Context, id string) (Transcript, error) {
	return get[Transcript](ctx, c, "jobs", id, "transcript")
}

// TranscriptText opens the transcript of a job as a text: in the format json, vtt
// or text. The caller closes it.
func (c *Client) TranscriptText(ctx context.Context, id, format string) (io.ReadCloser, error) {
	return c.open(ctx, request{path: apiPath("jobs", id, "transcript"), query: url.Values{"format": {format}}})
}

// TranscriptionOptions are how a recording is transcribed again. Empty fields are those of
// the job, or else of the service.
type TranscriptionOptions struct {
	Model    string   `json:"model,omitempty"`
	Language string   `json:"language,omitempty"` // that is spoken, as a BCP 47 tag
	Keyterms []string `json:"keyterms,omitempty"` // words and names that are likely
}

// TranscribeAgain queues another transcription of a recording. Its transcript replaces
// the current one. The error has the code invalid_state if that is not possible now.
func (c *Client) TranscribeAgain(ctx context.Context, id string, options TranscriptionOptions) error {
	_, err := fetch[json.RawMessage](ctx, c, http.MethodPost, options, "jobs", id, "transcript")
	return err
}

// TextMatch is a text that matches a search.
type TextMatch struct {
	JobID        string    `json:"jobId"`
	JobCreatedAt time.Time `json:"jobCreatedAt"`
	MeetingURL   string    `json:"meetingUrl"`
	Kind         string    `json:"kind"`    // transcript, caption or chat
	StartMS      int64     `json:"startMs"` // since the start of the recording
	Speaker      string    `json:"speaker"` // empty if unknown
	Text         string    `json:"text"`    // plain text, not markup
}

// SearchTexts returns up to limit texts, at most 100, of recordings of all jobs that
// contain all words, in any case, or words that begin with them: those of the newest
// jobs first.
func (c *Client) SearchTexts(ctx context.Context, words string, limit int) ([]TextMatch, error) {
	var found struct {
		Matches []TextMatch `json:"matches"`
	}
	query := url.Values{"q": {words}, "limit": {strconv.Itoa(limit)}}
	_, err := c.call(ctx, request{path: apiPath("search"), query: query}, &found)
	return found.Matches, err
}

// Download opens a file of a recording at a byte offset. The caller closes it and
// verifies the size and the SHA-256 of the manifest. It waits for a file that is made on
// request, such as recording.mp3. The API key is not sent to object storage.
func (c *Client) Download(ctx context.Context, id, name string, from int64) (io.ReadCloser, error) {
	header := http.Header{}
	if from > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	for {
		response, err := c.send(ctx, request{path: apiPath("jobs", id, "media", name), header: header})
		if err != nil {
			return nil, err
		}
		switch {
		case response.StatusCode == http.StatusAccepted: // it is being made
			response.Body.Close()
			if err := sleep(ctx, 5*time.Second); err != nil {
				return nil, err
			}
		case from > 0 && response.StatusCode != http.StatusPartialContent:
			response.Body.Close()
			return nil, fmt.Errorf("the service does not send %s from byte %d on", name, from)
		default:
			return response.Body, nil
		}
	}
}

// ErrChecksum reports that a downloaded file is not the one that the manifest
// describes.
var ErrChecksum = errors.New("the file does not have the size and SHA-256 of the manifest")

// DownloadFile writes a file of a manifest to w. It reconnects when the connection is
// lost, continues where it stopped, and returns ErrChecksum if the size or the
// SHA-256 is not that of the manifest. Discard what was written after an error.
func (c *Client) DownloadFile(ctx context.Context, id string, file Media, w io.Writer) error {
	return c.downloadFrom(ctx, id, file, w, sha256.New(), 0)
}

// ResumeFile is like DownloadFile for a file whose beginning is there already. It reads
// that from part, and then writes the rest to part. The beginning can be used again
// after an error other than ErrChecksum.
func (c *Client) ResumeFile(ctx context.Context, id string, file Media, part io.ReadWriter) error {
	sum := sha256.New()
	at, err := io.Copy(sum, part)
	if err != nil {
		return fmt.Errorf("read the beginning of %s: %w", file.Name, err)
	}
	return c.downloadFrom(ctx, id, file, part, sum, at)
}

// downloadFrom writes a file from a byte on. sum is that of the bytes before it.
func (c *Client) downloadFrom(ctx context.Context, id string, file Media, w io.Writer, sum hash.Hash, at int64) error {
	into := io.MultiWriter(w, sum)
	for failures := 0; at < file.Bytes; failures++ {
		content, err := c.Download(ctx, id, file.Name, at)
		if err != nil { // it was repeated
			return fmt.Errorf("download %s: %w", file.Name, err)
		}
		n, err := io.CopyN(into, content, file.Bytes-at)
		content.Close()
		if at += n; at == file.Bytes {
			break
		}
		if n > 0 {
			failures = 0
		}
		if failures >= c.retries || sleep(ctx, backoff(failures)) != nil {
			return fmt.Errorf("download %s: %w", file.Name, err)
		}
	}
	if hex.EncodeToString(sum.Sum(nil)) != file.SHA256 {
		return fmt.Errorf("download %s: %w", file.Name, ErrChecksum)
	}
	return nil
}

// UploadMedia stores a file of a recording, for bots that are not Standin's own. The
// token is that of the attempt. It sends the SHA-256, so that a damaged body is
// refused, and can be repeated.
func (c *Client) UploadMedia(ctx context.Context, token, id string, attempt int, name string, content []byte) error {
	sum := sha256.Sum256(content)
	header := http.Header{"Content-Type": {"application/octet-stream"}, "X-Content-Sha256": {hex.EncodeToString(sum[:])}}
	path := apiPath("ingest", "media", id, strconv.Itoa(attempt), name)
	_, err := c.call(ctx, request{method: http.MethodPut, path: path, content: content, token: token, header: header}, nil)
	return err
}

// DeleteRecording deletes all files of a recording.
func (c *Client) DeleteRecording(ctx context.Context, id string) error {
	return c.remove(ctx, "jobs", id, "recording")
}
