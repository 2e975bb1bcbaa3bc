package transcript

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // for the speech of Check
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"standin/internal/base/dialguard"
	"standin/internal/base/retry"
	"standin/internal/base/text"
)

const (
	// maxResponse bounds a response. It is far above the size of one for ten minutes
	// of speech with words.
	maxResponse = 16 << 20
	// maxErrorText bounds what is kept of the text of an error.
	maxErrorText = 300
	// requestTimeout bounds a request.
	requestTimeout = 10 * time.Minute
	// maxRetryAfter bounds how long a recognizer can ask to wait.
	maxRetryAfter = time.Hour
)

// Config is what an operator configures. Tags describe the flags and environment
// variables of package main. Zero values have defaults.
type Config struct {
	URL         string        `env:"STANDIN_TRANSCRIBER_URL" placeholder:"https://…" help:"Server with OpenAI's POST /v1/audio/transcriptions that transcribes recordings. If unset, recordings have no transcripts."`
	APIKey      string        `env:"STANDIN_TRANSCRIBER_API_KEY" help:"API key of the transcriber. Prefer the environment variable."`
	Model       string        `env:"STANDIN_TRANSCRIBER_MODEL" default:"whisper-1" help:"Model of the transcriber."`
	Language    string        `env:"STANDIN_TRANSCRIBER_LANGUAGE" placeholder:"en" help:"Language of all meetings (ISO 639-1). A job's option transcript.language overrides it. Default: the transcriber detects it."`
	Timeout     time.Duration `kong:"-"` // of a request; requestTimeout when 0
	Concurrency int           `env:"STANDIN_TRANSCRIBER_CONCURRENCY" default:"2" help:"Maximum number of recordings that this node transcribes at a time."`
	MaxAudio    time.Duration `env:"STANDIN_TRANSCRIBER_MAX_AUDIO" default:"10h" help:"Maximum length of the audio that is sent for one job. Beyond that, the transcript is partial."`
}

// Check returns an error for settings that cannot work.
func (c Config) Check() error {
	switch {
	case c.Concurrency < 0:
		return errors.New("STANDIN_TRANSCRIBER_CONCURRENCY must not be negative")
	case c.MaxAudio < 0:
		return errors.New("STANDIN_TRANSCRIBER_MAX_AUDIO must not be negative")
	}
	return nil
}

// DefaultModel is the default of Config.Model.
const DefaultModel = "whisper-1"

// Client sends audio to a speech recognizer with the interface of OpenAI's
// POST /v1/audio/transcriptions. Its methods may be called from any goroutine.
type Client struct {
	config  Config
	address string
	http    *http.Client
	plain   atomic.Bool // the configured model does not know response_format=verbose_json
}

// NewClient returns a Client, or nil if the settings name no server. It may be at any address.
func NewClient(config Config) (*Client, error) {
	if config.URL == "" {
		return nil, nil
	}
	address, err := dialguard.ServerURL("the transcriber URL", config.URL, "audio/transcriptions", "http", "https")
	if err != nil {
		return nil, err
	}
	config.Model = cmp.Or(config.Model, DefaultModel)
	config.Timeout = cmp.Or(config.Timeout, requestTimeout)
	return &Client{
		config: config, address: address.String(),
		http: &http.Client{CheckRedirect: dialguard.NoRedirects}, // the key is for this host
	}, nil
}

// Model returns the model that the client asks for.
func (c *Client) Model() string { return c.config.Model }

// hello is half a second of speech, made with espeak-ng.
//
//go:embed hello.wav
var hello []byte

const helloLength = 500 * time.Millisecond

// Hello returns half a second of speech, a spoken "hello", as a WAV file with 16 kHz, one
// channel and 44 bytes of header.
func Hello() []byte { return slices.Clone(hello) }

// Check sends half a second of speech, and returns the text that the recognizer
// answers.
func (c *Client) Check(ctx context.Context) (heard string, err error) {
	result, err := c.Transcribe(ctx, Request{WAV: bytes.NewReader(hello), Length: helloLength})
	if err != nil {
		return "", err
	}
	texts := make([]string, len(result.Segments))
	for i, segment := range result.Segments {
		texts[i] = segment.Text
	}
	return strings.Join(texts, " "), nil
}

// Request is audio to transcribe.
type Request struct {
	WAV      io.ReadSeeker
	Length   time.Duration
	Model    string   // default: that of the settings
	Language string   // BCP 47; default: that of the settings, or else detected
	Keyterms []string // words and names that are likely
}

// Error is a failed request.
type Error struct {
	Status     int           // 0 without a complete response
	RetryAfter time.Duration // requested by the recognizer; 0 when it did not
	Permanent  bool          // another attempt with the same audio will fail too
	Accepted   bool          // the recognizer began to answer, and may charge for it
	Err        error         // cause, which may name hosts; nil if the recognizer says why
	Detail     string        // what the recognizer says; empty if it says nothing, or may repeat the key

	format bool // the recognizer does not support the format of the response
}

func (e *Error) Error() string {
	reason := e.Public()
	if e.Detail != "" {
		reason += ": " + e.Detail
	}
	if e.Err != nil {
		reason += ": " + e.Err.Error()
	}
	return reason
}

// Public returns the error without its cause and what the recognizer says.
func (e *Error) Public() string {
	switch {
	case e.Accepted:
		return "the response of the transcriber was not usable"
	case e.Status != 0:
		return fmt.Sprintf("the transcriber answered with status %d", e.Status)
	case e.Detail != "":
		return "the transcriber reported an error"
	}
	return "the transcriber did not answer"
}

func (e *Error) Unwrap() error { return e.Err }

// Transcribe implements Recognizer. The recognizer gets the first part of a language
// tag, such as en of en-US, and the key terms as a prompt. The error of a request is an
// *Error.
func (c *Client) Transcribe(ctx context.Context, r Request) (Recognized, error) {
	r.Model = cmp.Or(r.Model, c.config.Model)
	r.Language, _, _ = strings.Cut(strings.ToLower(r.Language), "-")
	r.Language = cmp.Or(r.Language, c.config.Language)
	plain := r.Model == c.config.Model && c.plain.Load()
	result, err := c.send(ctx, r, plain)
	refused := new(Error)
	if plain || !errors.As(err, &refused) || !refused.format {
		return result, err
	}
	if result, err = c.send(ctx, r, true); err == nil && r.Model == c.config.Model {
		c.plain.Store(true)
	}
	return result, err
}

// send sends one request.
func (c *Client) send(ctx context.Context, r Request, plain bool) (result Recognized, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	request, err := c.request(ctx, r, plain)
	if err != nil {
		return result, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return result, &Error{Err: dialguard.WithoutURL(err)}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if response.StatusCode != http.StatusOK {
		return result, c.refusal(response, body)
	}
	if err == nil && len(body) > maxResponse {
		err = fmt.Errorf("the response has more than %d bytes", maxResponse)
	}
	if err == nil {
		result, err = parseResponse(body, r.Length)
	}
	if err != nil {
		return result, &Error{Status: response.StatusCode, Accepted: true, Err: err}
	}
	return result, nil
}

// request returns a request with the audio as a stream.
func (c *Client) request(ctx context.Context, r Request, plain bool) (*http.Request, error) {
	size, err := r.WAV.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	if _, err := r.WAV.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	fields := [][2]string{{"model", r.Model}, {"response_format", "json"}}
	if !plain {
		fields[1][1] = "verbose_json"
		fields = append(fields, [2]string{"timestamp_granularities[]", "word"}, [2]string{"timestamp_granularities[]", "segment"})
	}
	if r.Language != "" {
		fields = append(fields, [2]string{"language", r.Language})
	}
	if len(r.Keyterms) > 0 {
		fields = append(fields, [2]string{"prompt", strings.Join(r.Keyterms, ", ")})
	}
	for _, field := range fields {
		if err := writer.WriteField(field[0], field[1]); err != nil {
			return nil, err
		}
	}
	if _, err := writer.CreateFormFile("file", "audio.wav"); err != nil {
		return nil, err
	}
	before := form.Len()
	if err := writer.Close(); err != nil {
		return nil, err
	}
	body := io.MultiReader(bytes.NewReader(form.Bytes()[:before]), r.WAV, bytes.NewReader(form.Bytes()[before:]))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, body)
	if err != nil {
		return nil, err
	}
	request.ContentLength = int64(form.Len()) + size
	request.Header.Set("Content-Type", writer.FormDataContentType())
	request.Header.Set("Accept", "application/json")
	if c.config.APIKey != "" {
		request.Header.Set("Authorization", "Bearer "+c.config.APIKey)
	}
	return request, nil
}

// refusal returns the error for a status other than 200. Statuses that an
// operator can repair, such as that of a wrong key, are not permanent.
func (c *Client) refusal(response *http.Response, body []byte) *Error {
	e := &Error{Status: response.StatusCode, RetryAfter: retry.After(response.Header.Get("Retry-After"), time.Now(), maxRetryAfter)}
	switch response.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		e.Permanent = true
	}
	if response.StatusCode == http.StatusBadRequest || response.StatusCode == http.StatusUnprocessableEntity {
		// Some models support only the format json, or no times of words. For example, OpenAI's API responds
		// "response_format 'verbose_json' is not compatible with model …", and servers that use FastAPI list
		// "loc":["body","response_format"].
		refusal := strings.ToLower(string(body))
		e.format = slices.ContainsFunc([]string{"response_format", "verbose_json", "timestamp_granularities"},
			func(name string) bool { return strings.Contains(refusal, name) })
	}
	if response.StatusCode != http.StatusUnauthorized && response.StatusCode != http.StatusForbidden { // these may repeat the key
		detail := strings.ReplaceAll(string(body), cmp.Or(c.config.APIKey, "\x00"), "…")
		e.Detail = text.CleanLine(detail, maxErrorText)
	}
	return e
}
