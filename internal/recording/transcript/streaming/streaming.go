// Package streaming recognizes speech while a meeting runs.
//
// The sound of a source, such as one participant, is divided into utterances at pauses.
// A Recognizer gets the audio of one utterance after the other, and reports what it has
// heard so far. Sound without speech is not sent.
package streaming

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"standin/internal/recording/transcript"
)

// Sound is S16LE with one channel.
const (
	SampleRate     = 16_000 // of sound that is recognized, in Hz
	bytesPerSample = 2
	bytesPerMs     = SampleRate * bytesPerSample / 1000
)

// Protocol is how a recognizer is called.
type Protocol string

// The protocols.
const (
	OpenAIHTTP     Protocol = "openai-http"     // OpenAI's POST /v1/audio/transcriptions
	OpenAIRealtime Protocol = "openai-realtime" // OpenAI's or vLLM's WebSocket /v1/realtime
	Deepgram       Protocol = "deepgram"        // Deepgram's WebSocket /v1/listen
)

// Config is what an operator configures. Tags describe the flags and environment
// variables of package main.
type Config struct {
	Protocol Protocol `name:"transcriber" env:"STANDIN_LIVE_TRANSCRIBER" enum:",openai-http,openai-realtime,deepgram" default:"" help:"Protocol of the live transcriber: openai-http, openai-realtime or deepgram. If unset, meetings are not transcribed while they run."`
	URL      string   `name:"transcriber-url" env:"STANDIN_LIVE_TRANSCRIBER_URL" placeholder:"https://…" help:"Server of the live transcriber. Default: OpenAI or Deepgram."`
	APIKey   string   `name:"transcriber-api-key" env:"STANDIN_LIVE_TRANSCRIBER_API_KEY" help:"API key of the live transcriber. Prefer the environment variable."`
	Model    string   `name:"transcriber-model" env:"STANDIN_LIVE_TRANSCRIBER_MODEL" help:"Model of the live transcriber. Default: whisper-1, gpt-live-transcribe or nova-3, by protocol."`
}

// Options are the options of a job.
type Options struct {
	Language string // BCP 47; empty if unknown
	Keyterms []string
}

// Audio is a piece of an utterance.
type Audio struct {
	Utterance int    // number of the utterance of the source
	StartMs   int64  // of the utterance
	PCM       []byte // at SampleRate
	End       bool   // the utterance ends with this piece
}

// Result is what a recognizer has heard of an utterance so far. Each result replaces the
// earlier one of the same utterance.
type Result struct {
	Utterance int
	Words     []transcript.Word // times are milliseconds since the start of the utterance; 0 if unknown
	Confirmed int               // how many of the first words do not change any more
	Final     bool              // no result of this utterance follows
}

// Recognizer recognizes the speech of sources.
type Recognizer interface {
	// Recognize recognizes the utterances of one source until in is closed, and calls
	// heard with what it has heard, in the order of the utterances. Each utterance whose
	// end was read has a final result when Recognize returns without an error. It can be
	// called from several goroutines at a time. When the recognizer fails, the error is a
	// *transcript.Error.
	Recognize(ctx context.Context, options Options, in <-chan Audio, heard func(Result)) error
	// Model returns the model that the recognizer uses.
	Model() string
}

// unusable returns the error of a response that cannot be read.
func unusable(err error) error {
	return &transcript.Error{Status: http.StatusOK, Accepted: true, Err: err}
}

const (
	// dialTimeout bounds resolving, connecting and the handshake.
	dialTimeout = 10 * time.Second
	// maxErrorText bounds what is kept of the text of an error, in characters.
	maxErrorText = 300
)

// Defaults of the servers.
const (
	openAIURL   = "https://api.openai.com"
	deepgramURL = "https://api.deepgram.com"
)

// New returns the recognizer of the settings, at any address. It is nil if they name none.
func New(config Config) (Recognizer, error) {
	switch config.Protocol {
	case "":
		if config.URL != "" {
			return nil, errors.New("STANDIN_LIVE_TRANSCRIBER_URL needs STANDIN_LIVE_TRANSCRIBER: openai-http, openai-realtime or deepgram")
		}
		return nil, nil
	case OpenAIHTTP:
		recognizer, err := transcript.NewClient(transcript.Config{
			URL: cmp.Or(config.URL, openAIURL), APIKey: config.APIKey, Model: config.Model, Timeout: requestTimeout,
		})
		if err != nil {
			return nil, fmt.Errorf("STANDIN_LIVE_TRANSCRIBER_URL: %w", err)
		}
		return &windows{client: recognizer}, nil
	case OpenAIRealtime:
		return newConnector(config, server{
			url: openAIURL, path: "realtime", scheme: "Bearer", model: "gpt-live-transcribe", open: openRealtime,
		})
	case Deepgram:
		return newConnector(config, server{url: deepgramURL, path: "listen", scheme: "Token", model: "nova-3", open: openDeepgram})
	}
	return nil, fmt.Errorf("STANDIN_LIVE_TRANSCRIBER must be openai-http, openai-realtime or deepgram, not %q", config.Protocol)
}

// Check lets a recognizer hear half a second of speech, and returns what it has heard.
func Check(ctx context.Context, r Recognizer) (heard string, err error) {
	in := make(chan Audio, 1)
	in <- Audio{Utterance: 1, PCM: transcript.Hello()[44:], End: true}
	close(in)
	err = r.Recognize(ctx, Options{}, in, func(result Result) { heard = result.Text() })
	return heard, err
}

// plainWords returns the words of a text without times.
func plainWords(text string) []transcript.Word {
	fields := strings.Fields(text)
	words := make([]transcript.Word, len(fields))
	for i, field := range fields {
		words[i] = transcript.Word{Text: field}
	}
	return words
}

// Text returns the words as a text.
func (r Result) Text() string {
	texts := make([]string, len(r.Words))
	for i, word := range r.Words {
		texts[i] = word.Text
	}
	return strings.Join(texts, " ")
}
