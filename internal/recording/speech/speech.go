// Package speech makes what bots play and show in meetings: sounds and pictures from files
// of the consumer, and sounds from texts by a server with OpenAI's POST /v1/audio/speech.
package speech

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/budget"
	"standin/internal/base/dialguard"
	"standin/internal/base/text"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/recording/build"
)

const (
	// maxFile bounds the size of a file.
	maxFile = 64 << 20
	// maxErrorText bounds what is kept of the text of a server's error.
	maxErrorText = 300
	// fetchTimeout bounds fetching a file or the speech of a text, and decodeTimeout decoding it.
	fetchTimeout  = 30 * time.Second
	decodeTimeout = 2 * time.Minute
	dialTimeout   = 10 * time.Second
	maxRedirects  = 5
	// A team may have teamFiles fetched or waiting for their decoding at a time, all teams
	// together allFiles, and teamWaiting further calls of a team may wait. One file of a
	// team is decoded at a time, and decoders of all teams: each may take the memory of
	// what it is decoded to.
	teamFiles, allFiles, teamWaiting = 4, 64, 8
	decoders                         = 4
	// A server is too slow if fetchPiece takes longer than fetchPause.
	fetchPiece = 80 << 10
	fetchPause = 5 * time.Second
)

// Config is what an operator configures. Tags describe the flags and environment variables
// of package main.
type Config struct {
	URL    string `env:"STANDIN_SPEECH_URL" placeholder:"https://…" help:"Server with OpenAI's POST /v1/audio/speech, for bots that speak texts. If unset, bots play only audio files."`
	APIKey string `env:"STANDIN_SPEECH_API_KEY" help:"API key of the speech server. Prefer the environment variable."`
	Model  string `env:"STANDIN_SPEECH_MODEL" default:"tts-1" help:"Model of the speech server."`
	Voice  string `env:"STANDIN_SPEECH_VOICE" default:"alloy" help:"Voice of requests that name none."`
}

// Defaults of Config.
const (
	DefaultModel = "tts-1"
	DefaultVoice = "alloy"
)

// Settings configure a Maker.
type Settings struct {
	Config
	Files dialguard.Network // from which files are fetched
	Dir   string            // of temporary files; it is emptied
}

// Maker makes sounds and pictures, in the forms of ingest.OutputPath. Its errors are a
// *job.Error unless they are of this machine, or budget.ErrFull while too many calls of the
// team wait. Its methods may be called from any goroutine.
type Maker struct {
	settings Settings
	address  string // of the speech server; empty without one
	speech   *http.Client
	web      *http.Client // for files
	files    *budget.Budget
	decoding *budget.Budget
}

// NewMaker returns a Maker.
func NewMaker(settings Settings) (*Maker, error) {
	settings.Model, settings.Voice = cmp.Or(settings.Model, DefaultModel), cmp.Or(settings.Voice, DefaultVoice)
	m := &Maker{
		settings: settings, speech: &http.Client{CheckRedirect: dialguard.NoRedirects},
		web:      &http.Client{Transport: settings.Files.Transport(dialTimeout), CheckRedirect: fewRedirects},
		files:    budget.New(allFiles, teamFiles, teamWaiting),
		decoding: budget.New(decoders, 1, 0),
	}
	if err := errors.Join(os.RemoveAll(settings.Dir), os.MkdirAll(settings.Dir, 0o700)); err != nil {
		return nil, fmt.Errorf("empty the folder of sounds: %w", err)
	}
	if settings.URL == "" {
		return m, nil
	}
	address, err := dialguard.ServerURL("STANDIN_SPEECH_URL", settings.URL, "audio/speech", "http", "https")
	if err != nil {
		return nil, err
	}
	m.address = address.String()
	return m, nil
}

func fewRedirects(request *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects || request.URL.Scheme != "https" && via[0].URL.Scheme == "https" {
		return errors.New("too many redirects, or one to plain HTTP")
	}
	return nil
}

// File is a file of a consumer: either a URI from which it is fetched, or its content. Path
// is where the request has it; errors name it.
type File struct {
	URI  string
	Data []byte
	Path []any
}

// field returns the path of the URI or of the content.
func (f File) field() []any {
	name := "data"
	if f.URI != "" {
		name = "uri"
	}
	return append(slices.Clone(f.Path), name)
}

// Sound makes the sound of a team's file.
func (m *Maker) Sound(ctx context.Context, team uuid.UUID, file File) ([]byte, error) {
	return m.decodeSound(ctx, team, file.field(), func(to io.Writer) error { return m.fetch(ctx, file, to) })
}

// fetch writes a file. Errors name the field of the request.
func (m *Maker) fetch(ctx context.Context, file File, to io.Writer) error {
	if file.URI == "" {
		_, err := to.Write(file.Data)
		return err
	}
	if !job.IsWebAddress(file.URI) {
		return invalid(file.field(), "it is not an http or https URL without credentials")
	}
	failed := func(why string) error { return invalid(file.field(), "the file could not be fetched: "+why) }
	fetching, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(fetching, http.MethodGet, file.URI, http.NoBody)
	if err != nil {
		return invalid(file.field(), "it cannot be requested")
	}
	response, err := m.web.Do(request)
	if err != nil {
		return failed(describe(ctx, err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return failed(fmt.Sprintf("the server answered %d", response.StatusCode))
	}
	slow := time.AfterFunc(fetchPause, cancel)
	defer slow.Stop()
	for size := int64(0); err == nil && size <= maxFile; slow.Reset(fetchPause) {
		var n int64
		n, err = io.CopyN(to, response.Body, fetchPiece)
		size += n
	}
	switch {
	case err == nil:
		return failed(errTooLarge.Error())
	case errors.Is(err, io.EOF):
		return nil
	case errors.As(err, new(*fs.PathError)): // of the disk
		return err
	case errors.Is(err, context.Canceled) && ctx.Err() == nil:
		return failed(fmt.Sprintf("it arrives slower than %d kB/s", fetchPiece>>10/int(fetchPause.Seconds())))
	}
	return failed(describe(ctx, err))
}

// Text is a text to speak. An empty voice is the operator's, and an empty language the
// server's choice.
type Text struct {
	Text, Voice, Language string
}

// Speak makes the sound of a team's text.
func (m *Maker) Speak(ctx context.Context, team uuid.UUID, say Text) ([]byte, error) {
	if m.address == "" {
		return nil, unavailable("bots cannot speak texts: the operator has configured no speech server (STANDIN_SPEECH_URL)")
	}
	pcm, err := m.decodeSound(ctx, team, []any{"text"}, func(to io.Writer) error { return m.ask(ctx, say, to) })
	if job.ErrorIs(err, job.InvalidInput) {
		return nil, unavailable("the speech server answered no sound that can be decoded")
	}
	return pcm, err
}

// ask writes what the speech server makes of a text.
func (m *Maker) ask(ctx context.Context, say Text, to io.Writer) error {
	body, err := json.Marshal(struct {
		Model    string `json:"model"`
		Input    string `json:"input"`
		Voice    string `json:"voice"`
		Language string `json:"language,omitempty"`
		Format   string `json:"response_format"`
	}{m.settings.Model, say.Text, cmp.Or(say.Voice, m.settings.Voice), say.Language, "wav"})
	if err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(asking, http.MethodPost, m.address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if m.settings.APIKey != "" {
		request.Header.Set("Authorization", "Bearer "+m.settings.APIKey)
	}
	response, err := m.speech.Do(request)
	if err != nil {
		return unavailable("the speech server could not be asked: " + describe(ctx, err))
	}
	defer response.Body.Close()
	answer := io.LimitReader(response.Body, maxFile+1)
	if response.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(answer)
		return unavailable(m.refusal(response.StatusCode, said))
	}
	size, err := io.Copy(to, answer)
	if size > maxFile {
		err = errTooLarge
	}
	if err != nil {
		return unavailable("the answer of the speech server could not be read: " + describe(ctx, err))
	}
	return nil
}

// refusal says why the speech server made no sound, without its key.
func (m *Maker) refusal(status int, answer []byte) string {
	refusal := fmt.Sprintf("the speech server answered %d", status)
	if status == http.StatusUnauthorized || status == http.StatusForbidden { // the text may repeat a part of the key
		return refusal
	}
	said := strings.ReplaceAll(string(answer), cmp.Or(m.settings.APIKey, "\x00"), "…")
	return refusal + ": " + text.CleanLine(said[:min(len(said), maxErrorText)], maxErrorText)
}

// decodeSound decodes the sound that write writes. Errors name the field of the request.
func (m *Maker) decodeSound(ctx context.Context, team uuid.UUID, field []any, write func(to io.Writer) error) ([]byte, error) {
	pcm, err := m.decode(ctx, team, write, func(ctx context.Context, tools build.Tools, from, to string) error {
		return tools.DecodeSound(ctx, from, to, ingest.MaxSound+time.Second) // one second more, to see that it is too long
	})
	switch {
	case build.RejectedInput(err):
		return nil, invalid(field, "it is not audio in a format that can be decoded, such as MP3, WAV, AAC, FLAC or Opus")
	case err != nil:
		return nil, err
	case len(pcm) == 0:
		return nil, invalid(field, "it contains no audio")
	case int64(len(pcm)) > ingest.MaxSoundBytes:
		return nil, invalid(field, fmt.Sprintf("it is longer than %s", ingest.MaxSound))
	}
	return pcm, nil
}

// decode returns what a tool makes of the file that write writes. A team waits for its own
// files, and a file that arrives slowly keeps no other one from its decoding.
func (m *Maker) decode(ctx context.Context, team uuid.UUID, write func(to io.Writer) error,
	run func(ctx context.Context, tools build.Tools, from, to string) error) (made []byte, err error) {
	written, err := m.files.Acquire(ctx, team.String(), 1)
	if err != nil {
		return nil, err
	}
	defer written()
	dir, err := os.MkdirTemp(m.settings.Dir, "output-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	file, err := os.Create(from)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return nil, err
	}
	tools, err := build.FindTools()
	if err != nil {
		return nil, err
	}
	decoded, err := m.decoding.Acquire(ctx, team.String(), 1)
	if err != nil {
		return nil, err
	}
	defer decoded()
	ctx, cancel := context.WithTimeout(ctx, decodeTimeout)
	defer cancel()
	if err := run(ctx, tools, from, to); err != nil {
		return nil, err
	}
	return os.ReadFile(to)
}

var errTooLarge = fmt.Errorf("it has more than %d bytes", maxFile)

// describe returns what a caller may know of an error of a request.
func describe(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return "it took too long"
	}
	return dialguard.Public(err)
}

func invalid(field []any, message string) error {
	return &job.Error{Code: job.InvalidInput, Message: message, Path: field}
}

func unavailable(message string) error {
	return &job.Error{Code: job.Unavailable, Message: message}
}
