package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"standin/internal/service"
)

// transcriberFlags configure the transcription of recordings.
type transcriberFlags struct {
	TranscriberURL         string        `env:"STANDIN_TRANSCRIBER_URL" name:"transcriber-url" placeholder:"https://…" help:"Server with OpenAI's POST /v1/audio/transcriptions that transcribes finished recordings. Default: none; recordings have no transcripts."`
	TranscriberKey         string        `env:"STANDIN_TRANSCRIBER_API_KEY" name:"transcriber-api-key" help:"API key of the transcriber. Prefer the environment variable."`
	TranscriberKeyFile     string        `env:"STANDIN_TRANSCRIBER_API_KEY_FILE" name:"transcriber-api-key-file" type:"existingfile" help:"File with the API key of the transcriber."`
	TranscriberModel       string        `env:"STANDIN_TRANSCRIBER_MODEL" name:"transcriber-model" default:"whisper-1" help:"Model that the transcriber uses."`
	TranscriberLanguage    string        `env:"STANDIN_TRANSCRIBER_LANGUAGE" name:"transcriber-language" placeholder:"en" help:"Language of all meetings (ISO 639-1). Default: the transcriber detects it."`
	TranscriberAllowCIDRs  string        `env:"STANDIN_TRANSCRIBER_ALLOW_CIDRS" name:"transcriber-allow-cidrs" help:"Networks that the transcriber may be in although they are not public, comma-separated. Default: none."`
	TranscriberTimeout     time.Duration `env:"STANDIN_TRANSCRIBER_TIMEOUT" name:"transcriber-timeout" default:"10m" help:"Maximum duration of a request to the transcriber."`
	TranscriberConcurrency int           `env:"STANDIN_TRANSCRIBER_CONCURRENCY" name:"transcriber-concurrency" default:"2" help:"Maximum number of recordings that this node transcribes at a time; each has one request."`
	TranscriberPiece       time.Duration `env:"STANDIN_TRANSCRIBER_PIECE" name:"transcriber-piece" default:"10m" help:"Maximum audio per request, 10s to 1h. Longer audio is divided at silences. Each minute is 1.9 MB."`
	TranscriberMaxMinutes  int           `env:"STANDIN_TRANSCRIBER_MAX_MINUTES" name:"transcriber-max-minutes" default:"600" help:"Maximum minutes of audio of one job that are sent. The transcript is marked as partial when there is more."`
	TranscriberGiveUpAfter time.Duration `env:"STANDIN_TRANSCRIBER_GIVE_UP_AFTER" name:"transcriber-give-up-after" default:"24h" help:"How long after the end of a recording its transcription is retried."`
}

// transcriberSettings returns the settings of the service.
func (f transcriberFlags) transcriberSettings() (service.TranscriberSettings, error) {
	settings := service.TranscriberSettings{
		URL: f.TranscriberURL, APIKey: f.TranscriberKey, Model: f.TranscriberModel, Language: f.TranscriberLanguage,
		AllowCIDRs: f.TranscriberAllowCIDRs, Timeout: f.TranscriberTimeout, Concurrency: f.TranscriberConcurrency, MaxPiece: f.TranscriberPiece,
		MaxAudio: time.Duration(f.TranscriberMaxMinutes) * time.Minute, GiveUpAfter: f.TranscriberGiveUpAfter,
	}
	if f.TranscriberKeyFile == "" {
		return settings, nil
	}
	key, err := os.ReadFile(f.TranscriberKeyFile)
	if err != nil {
		return settings, fmt.Errorf("read the API key of the transcriber: %w", err)
	}
	settings.APIKey = strings.TrimSpace(string(key))
	return settings, nil
}
