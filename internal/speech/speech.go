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
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"standin/internal/dialguard"
	"standin/internal/fsutil"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording/build"
	"standin/internal/text"
)

const (
	// maxFile bounds the size of a file.
	maxFile = 64 << 20
	// maxErrorText bounds what is kept of the text of a server's error.
	maxErrorText = 300
	// fetchTimeout bounds fetching a file, and decodeTimeout decoding it.
	fetchTimeout  = 30 * time.Second
	decodeTimeout = 2 * time.Minute
	dialTimeout   = 10 * time.Second
	maxRedirects  = 5
	// concurrency is how many sounds and pictures are made at a time. Each may take the
	// memory of what it is decoded to.
	concurrency = 4
)

// Config is what an operator configures. Tags describe the flags and environment variables
// of package main.
type Config struct {
	URL        string        `env:"STANDIN_SPEECH_URL" placeholder:"https://…" help:"Server with OpenAI's POST /v1/audio/speech, for bots that speak texts. If unset, bots play only audio files."`
	APIKey     string        `env:"STANDIN_SPEECH_API_KEY" help:"API key of the speech server. Prefer the environment variable."`
	APIKeyFile string        `env:"STANDIN_SPEECH_API_KEY_FILE" type:"existingfile" help:"File with the API key of the speech server."`
	Model      string        `env:"STANDIN_SPEECH_MODEL" default:"tts-1" help:"Model of the speech server."`
	Voice      string        `env:"STANDIN_SPEECH_VOICE" default:"alloy" help:"Voice of requests that name none."`
	AllowCIDRs string        `name:"allow-cidrs" env:"STANDIN_SPEECH_ALLOW_CIDRS" help:"Private networks that the speech server may be in, comma-separated. Default: none."`
	Timeout    time.Duration `env:"STANDIN_SPEECH_TIMEOUT" default:"30s" help:"Maximum duration of a request to the speech server."`
}

// Defaults of Config.
const (
	DefaultModel   = "tts-1"
	DefaultVoice   = "alloy"
	DefaultTimeout = 30 * time.Second
)

// Settings configure a Maker.
type Settings struct {
	Config
	AllowSpeech []netip.Prefix    // networks of Config.AllowCIDRs
	Files       dialguard.Network // from which files are fetched
	Dir         string            // of temporary files; it is emptied
}

// Maker makes sounds and pictures, in the forms of ingest.OutputPath. Its errors are a
// *job.Error unless they are of this machine. Its methods may be called from any goroutine.
type Maker struct {
	settings Settings
	address  string // of the speech server; empty without one
	speech   *http.Client
	files    *http.Client
	turns    chan struct{}
}

// NewMaker returns a Maker.
func NewMaker(settings Settings) (*Maker, error) {
	settings.Model, settings.Voice = cmp.Or(settings.Model, DefaultModel), cmp.Or(settings.Voice, DefaultVoice)
	settings.Timeout = cmp.Or(settings.Timeout, DefaultTimeout)
	m := &Maker{
		settings: settings, turns: make(chan struct{}, concurrency),
		speech: newHTTPClient(dialguard.Network{Allow: settings.AllowSpeech}, 0),
		files:  newHTTPClient(settings.Files, maxRedirects),
	}
	if err := errors.Join(os.RemoveAll(settings.Dir), os.MkdirAll(settings.Dir, 0o700)); err != nil {
		return nil, fmt.Errorf("empty the folder of sounds: %w", err)
	}
	if settings.URL == "" {
		return m, nil
	}
	address, err := url.Parse(strings.TrimRight(settings.URL, "/"))
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" || address.User != nil {
		return nil, errors.New("STANDIN_SPEECH_URL must be an http or https URL without credentials") // parse errors contain it
	}
	if !strings.HasSuffix(address.Path, "/v1") {
		address = address.JoinPath("v1")
	}
	m.address = address.JoinPath("audio", "speech").String()
	if settings.APIKeyFile != "" {
		if m.settings.APIKey, err = fsutil.ReadSecret(settings.APIKeyFile); err != nil {
			return nil, fmt.Errorf("read the API key of the speech server: %w", err)
		}
	}
	return m, nil
}

// newHTTPClient returns a client that connects to allowed addresses only.
func newHTTPClient(network dialguard.Network, redirects int) *http.Client {
	transport := network.Transport(dialTimeout)
	transport.MaxIdleConnsPerHost = concurrency
	return &http.Client{
		Transport: transport,
		CheckRedirect: func(request *http.Request, via []*http.Request) error {
			switch {
			case redirects == 0:
				return http.ErrUseLastResponse
			case len(via) > redirects || request.URL.Scheme != "https" && via[0].URL.Scheme == "https":
				return errors.New("too many redirects, or one to plain HTTP")
			}
			return nil
		},
	}
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

// Sound makes the sound of a file.
func (m *Maker) Sound(ctx context.Context, file File) ([]byte, error) {
	return m.make(ctx, file, m.decode)
}

// make reads a file and decodes it.
func (m *Maker) make(ctx context.Context, file File,
	decode func(ctx context.Context, field []any, content []byte) ([]byte, error)) ([]byte, error) {
	done, err := m.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if file.URI != "" {
		if file.Data, err = m.fetch(ctx, file.URI, file.field()); err != nil {
			return nil, err
		}
	}
	return decode(ctx, file.field(), file.Data)
}

// fetch returns the file at a URI. Errors name the field of the request.
func (m *Maker) fetch(ctx context.Context, uri string, field []any) ([]byte, error) {
	if !job.IsWebAddress(uri) {
		return nil, invalid(field, "it is not an http or https URL without credentials")
	}
	fetching, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(fetching, http.MethodGet, uri, http.NoBody)
	if err != nil {
		return nil, invalid(field, "it cannot be requested")
	}
	response, err := m.files.Do(request)
	if err != nil {
		return nil, invalid(field, "the file could not be fetched: "+describe(ctx, err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, invalid(field, fmt.Sprintf("the file could not be fetched: the server answered %d", response.StatusCode))
	}
	content, err := readBounded(response.Body)
	if err != nil {
		return nil, invalid(field, "the file could not be fetched: "+describe(ctx, err))
	}
	return content, nil
}

// Text is a text to speak. An empty voice is the operator's, and an empty language the
// server's choice.
type Text struct {
	Text, Voice, Language string
}

// Speak makes the sound of a text.
func (m *Maker) Speak(ctx context.Context, say Text) ([]byte, error) {
	if m.address == "" {
		return nil, unavailable("bots cannot speak texts: the operator has configured no speech server (STANDIN_SPEECH_URL)")
	}
	done, err := m.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	body, err := json.Marshal(struct {
		Model    string `json:"model"`
		Input    string `json:"input"`
		Voice    string `json:"voice"`
		Language string `json:"language,omitempty"`
		Format   string `json:"response_format"`
	}{m.settings.Model, say.Text, cmp.Or(say.Voice, m.settings.Voice), say.Language, "wav"})
	if err != nil {
		return nil, fmt.Errorf("encode a text: %w", err)
	}
	asking, cancel := context.WithTimeout(ctx, m.settings.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(asking, http.MethodPost, m.address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("create a request to the speech server: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if m.settings.APIKey != "" {
		request.Header.Set("Authorization", "Bearer "+m.settings.APIKey)
	}
	response, err := m.speech.Do(request)
	if err != nil {
		return nil, unavailable("the speech server could not be asked: " + describe(ctx, err))
	}
	defer response.Body.Close()
	answer, err := readBounded(response.Body)
	switch {
	case err != nil:
		return nil, unavailable("the answer of the speech server could not be read: " + describe(ctx, err))
	case response.StatusCode != http.StatusOK:
		return nil, unavailable(m.refusal(response.StatusCode, answer))
	}
	pcm, err := m.decode(ctx, []any{"text"}, answer)
	if job.ErrorIs(err, job.InvalidInput) {
		return nil, unavailable("the speech server answered no sound that can be decoded")
	}
	return pcm, err
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

// turn waits for a turn, so that few sounds are in memory at a time.
func (m *Maker) turn(ctx context.Context) (done func(), err error) {
	select {
	case m.turns <- struct{}{}:
		return func() { <-m.turns }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// decode decodes a sound. Errors name the field of the request.
func (m *Maker) decode(ctx context.Context, field []any, file []byte) ([]byte, error) {
	pcm, err := m.convert(ctx, file, func(ctx context.Context, tools build.Tools, from, to string) error {
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

// convert returns what a tool makes of a file.
func (m *Maker) convert(ctx context.Context, file []byte,
	run func(ctx context.Context, tools build.Tools, from, to string) error) (made []byte, err error) {
	tools, err := build.FindTools()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(m.settings.Dir, "output-")
	if err != nil {
		return nil, fmt.Errorf("create a folder for a file: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	if err := os.WriteFile(from, file, 0o600); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, decodeTimeout)
	defer cancel()
	if err := run(ctx, tools, from, to); err != nil {
		return nil, err
	}
	return os.ReadFile(to)
}

// readBounded reads a body of at most maxFile.
func readBounded(body io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(body, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("it has more than %d bytes", maxFile)
	}
	return content, err
}

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
