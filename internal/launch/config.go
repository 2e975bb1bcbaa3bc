package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
)

// ConfigFile is the name of the file from which a launched bot reads its
// BotConfig.
const ConfigFile = "config.json"

// maxConfigBytes bounds the size of a ConfigFile.
const maxConfigBytes = 1 << 20

// BotConfig is the configuration of one bot. Launchers encode it as a JSON
// file, which "standin bot --config FILE" reads. Arguments, environment and
// labels of a bot hold no part of it, because it contains the bot's token, the
// meeting's passcode and the signature of a stream.
type BotConfig struct {
	Assignment
	BotSettings
	Dir string `json:"dir"` // the bot's own folder
}

// Assignment is the part of a BotConfig that belongs to one attempt of a job.
type Assignment struct {
	JobID             uuid.UUID     `json:"jobId"`
	Attempt           int           `json:"attempt"`
	Token             string        `json:"token"` // authenticates the bot to the service
	ServiceURL        string        `json:"serviceUrl"`
	MeetingURL        string        `json:"meetingUrl"`
	Platform          job.Platform  `json:"platform"`
	DisplayName       string        `json:"displayName"`
	JoinAt            time.Time     `json:"joinAt,omitzero"` // the bot waits until then; it may be launched early
	AutoLeave         job.AutoLeave `json:"autoLeave"`
	AllowedHosts      []string      `json:"allowedHosts,omitempty"`      // besides the platforms' own
	OwnHosts          []string      `json:"ownHosts,omitempty"`          // names of the service's machine, which no page may reach
	LoopbackPeers     bool          `json:"loopbackPeers,omitempty"`     // accept the meeting's media from this machine: replicas only
	SignIn            job.SignIn    `json:"signIn,omitempty"`            // whether the bot asks the service for an account; empty: never
	RequirePermission bool          `json:"requirePermission,omitempty"` // record nothing without the host's permission
	ZoomStream        *ZoomStream   `json:"zoomStream,omitempty"`        // required on the platform zoom-sdk

	Mode     job.Mode        `json:"-"`
	Metadata json.RawMessage `json:"-"` // the job's, for the simulator
	Options  job.Options     `json:"-"` // the job's; see Recording.WithOptions
}

// ZoomStream is a stream of Zoom's Realtime Media Streams, and what a bot connects to it with. The app's secret,
// with which the service signs, is no part of it.
type ZoomStream struct {
	ClientID    string `json:"clientId"`
	MeetingUUID string `json:"meetingUuid"`
	StreamID    string `json:"streamId"`
	Signature   string `json:"signature"` // hex HMAC-SHA256(secret, "clientId,meetingUuid,streamId")
	ServerURLs  string `json:"serverUrls"`
}

// Key returns the key of the assignment's bot.
func (a Assignment) Key() Key { return Key{a.JobID, a.Attempt} }

// BotSettings is the part of a BotConfig that the operator sets for all bots of
// a service. Tags describe the flags and environment variables of package main.
type BotSettings struct {
	LogSettings

	Browser      string `json:"browser,omitempty" env:"STANDIN_BROWSER" help:"Chromium or Google Chrome for bots. Default: found on PATH."`
	BrowserMode  string `json:"browserMode,omitempty" env:"STANDIN_BROWSER_MODE" default:"auto" enum:"auto,headless,headed" help:"How bots run the browser: headless, headed (with windows on a virtual display of its own, which needs Xvfb) or auto: headed for meet and zoom-web, headless for the other platforms and on machines without Xvfb."`
	NoSandbox    bool   `json:"noSandbox,omitempty" env:"STANDIN_NO_SANDBOX" help:"Run Chromium without its sandbox, on systems that do not support it. Required as root."`
	MediaOverTCP bool   `json:"mediaOverTCP,omitempty" name:"media-over-tcp" env:"STANDIN_MEDIA_OVER_TCP" help:"Send the media of meetings over TCP through the bot's proxy, so that pages cannot send UDP packets. Quality is lower on a lossy connection, and platforms without media over TCP cannot be recorded."`
	Profiles     string `json:"profiles,omitempty" env:"STANDIN_PROFILES" placeholder:"DIR" help:"Folder of page profiles that replace the embedded ones."`

	Recording Recording `json:"recording" embed:""`
	SpoolMiB  int       `json:"spoolMiB,omitempty" name:"spool-limit" env:"STANDIN_SPOOL_LIMIT" default:"8192" placeholder:"MIB" help:"Disk space in MiB for a bot's recording, at least 64. When it is full, uploaded media is deleted first; after that, the recording has a gap."`
}

// minSpoolMiB is the smallest limit of a spool: some minutes of recording.
const minSpoolMiB = 64

// Validate returns an error for settings that are out of range. Zero values are
// the bot's defaults.
func (s BotSettings) Validate() error {
	if s.SpoolMiB != 0 && s.SpoolMiB < minSpoolMiB {
		return fmt.Errorf("STANDIN_SPOOL_LIMIT must be at least %d (MiB)", minSpoolMiB)
	}
	return s.Recording.Check()
}

// LogSettings configure logging.
type LogSettings struct {
	LogLevel  slog.Level `json:"logLevel" env:"STANDIN_LOG_LEVEL" default:"info" help:"Minimum log level: debug, info, warn or error."`
	LogFormat string     `json:"logFormat,omitempty" env:"STANDIN_LOG_FORMAT" default:"text" enum:"text,json" help:"Log format on standard error: text or json."`
}

// Logger returns a logger that writes to w.
func (s LogSettings) Logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: s.LogLevel}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// NewBotConfig combines the configuration of a bot that keeps its files in dir.
func NewBotConfig(assignment Assignment, settings BotSettings, dir string) BotConfig {
	settings.Recording = settings.Recording.WithOptions(assignment.Options)
	return BotConfig{Assignment: assignment, BotSettings: settings, Dir: dir}
}

// Encode returns the content of a ConfigFile.
func (c BotConfig) Encode() ([]byte, error) {
	content, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode the bot's configuration: %w", err)
	}
	return content, nil
}

// ReadBotConfig reads a configuration. A file in the bot's own folder is
// removed, so that its secrets do not stay on disk.
func ReadBotConfig(path string) (config BotConfig, err error) {
	file, err := os.Open(path)
	if err != nil {
		return config, fmt.Errorf("open the bot's configuration: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxConfigBytes))
	if err != nil {
		return config, fmt.Errorf("read the bot's configuration: %w", err)
	}
	config = BotConfig{Assignment: Assignment{AutoLeave: job.DefaultAutoLeave()}}
	if err := json.Unmarshal(content, &config); err != nil {
		return config, errors.New("read the bot's configuration: it is not the expected JSON object") // the JSON error could quote a secret
	}
	config.DisplayName = strings.ReplaceAll(config.DisplayName, "\x00", "")
	if config.Dir != "" && filepath.Dir(path) == filepath.Clean(config.Dir) {
		if err := os.Remove(path); err != nil {
			return config, fmt.Errorf("remove the bot's configuration: %w", err)
		}
	}
	return config, nil
}
