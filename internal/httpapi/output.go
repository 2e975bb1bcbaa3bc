package httpapi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/httpmw"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/recording"
	"standin/internal/speech"
)

// SoundMaker makes the sounds that bots play: PCM S16LE, mono, 48 kHz.
type SoundMaker interface {
	Fetch(ctx context.Context, uri string) ([]byte, error)
	Decode(ctx context.Context, file []byte) ([]byte, error)
	Speak(ctx context.Context, say speech.Text) ([]byte, error)
}

// playRequest is the PlayAudio schema of api/openapi.yaml.
type playRequest struct {
	URI       string `json:"uri"`
	Data      string `json:"data"`
	Interrupt bool   `json:"interrupt"`
}

func (a *API) playAudio(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	var request playRequest
	if err := a.readRequest(w, r, "playAudio", &request); err != nil {
		return err
	}
	sound := lifecycle.Sound{Kind: ingest.PlayAudio, Interrupt: request.Interrupt}
	switch {
	case (request.URI == "") == (request.Data == ""):
		return &job.Error{Code: job.InvalidInput, Message: "either uri or data is required", Path: []any{}}
	case request.URI != "":
		sound.Make = func(ctx context.Context) ([]byte, error) { return a.settings.Sounds.Fetch(ctx, request.URI) }
	default:
		file, err := base64.StdEncoding.DecodeString(request.Data)
		if err != nil {
			return &job.Error{Code: job.InvalidInput, Message: "data is not base64", Path: []any{"data"}}
		}
		sound.Make = func(ctx context.Context) ([]byte, error) { return a.settings.Sounds.Decode(ctx, file) }
	}
	command, err := a.settings.Controls.PlaySound(r.Context(), caller, id, sound)
	return a.writeQueued(w, command, err)
}

// speakRequest is the Speak schema of api/openapi.yaml.
type speakRequest struct {
	Text      string `json:"text"`
	Voice     string `json:"voice"`
	Language  string `json:"language"`
	Interrupt bool   `json:"interrupt"`
}

func (a *API) speak(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	var request speakRequest
	if err := a.readRequest(w, r, "speak", &request); err != nil {
		return err
	}
	say := speech.Text{Text: request.Text, Voice: request.Voice, Language: request.Language}
	command, err := a.settings.Controls.PlaySound(r.Context(), caller, id, lifecycle.Sound{
		Kind: ingest.Speak, Interrupt: request.Interrupt,
		Make: func(ctx context.Context) ([]byte, error) { return a.settings.Sounds.Speak(ctx, say) },
	})
	return a.writeQueued(w, command, err)
}

// readOutput serves the sound of a command to the job's bot.
func (a *API) readOutput(w http.ResponseWriter, r *http.Request) error {
	token, ok := bearer(r)
	if !ok {
		return invalidToken()
	}
	id, attempt, issues := uploader(r)
	command, err := uuid.Parse(r.PathValue("commandId"))
	if err != nil {
		issues = append(issues, issue("format", "must be a UUID", "commandId")...)
	}
	if len(issues) > 0 {
		return invalid(issues)
	}
	httpmw.RecordOf(r).JobID = id
	if !ingest.ValidToken(a.settings.SigningKey, id.String(), attempt, token) {
		return invalidToken()
	}
	if err := a.settings.Bots.AdmitOutput(r.Context(), id); err != nil {
		return fmt.Errorf("admit a bot: %w", err)
	}
	content, size, err := a.settings.Recordings.OpenSound(r.Context(), id, command)
	if missing := (*recording.NotFoundError)(nil); errors.As(err, &missing) {
		return &job.Error{Code: job.NotFound, Message: "no such sound"}
	}
	if err != nil {
		return fmt.Errorf("read a sound: %w", err)
	}
	defer content.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	_, _ = io.Copy(&stallWriter{ResponseWriter: w, api: a}, content) // the bot notices that it is incomplete
	return nil
}
