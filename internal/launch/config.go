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

	"standin/internal/job"
)

// ConfigFile is the name of the file from which a launched bot reads its
// BotConfig.
const ConfigFile = "config.json"

// maxConfigBytes bounds the size of a ConfigFile.
const maxConfigBytes = 1 << 20

// BotConfig is the configuration of one bot. Launchers encode it as a JSON
// file, which "standin bot --config FILE" reads. Arguments, environment and
// labels of a bot hold no part of it, because it contains the bot's token, the
// meeting's passcode and the Zoom SDK's secret.
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
	LoopbackPeers     bool          `json:"loopbackPeers,omitempty"`     // accept the meeting's media from this machine: replicas only
	RequirePermission bool          `json:"requirePermission,omitempty"` // record nothing without the host's permission

	Mode     job.Mode        `json:"-"`
	Metadata json.RawMessage `json:"-"` // the job's; see Recording.WithMetadata
}

// BotSettings is the part of a BotConfig that the operator sets for all bots of
// a service.
type BotSettings struct {
	Browser     string     `json:"browser,omitempty"`     // path of the browser; found on PATH when empty
	BrowserMode string     `json:"browserMode,omitempty"` // headless, headed, or auto (the platform's default)
	NoSandbox   bool       `json:"noSandbox,omitempty"`
	Profiles    string     `json:"profiles,omitempty"` // folder of page profiles that replace the embedded ones
	SignIn      string     `json:"signIn,omitempty"`   // folder of cookies and browser profiles for signed-in joining
	ZoomSDK     ZoomSDK    `json:"zoomSdk"`
	Recording   Recording  `json:"recording"`
	SpoolMiB    int        `json:"spoolMiB,omitempty"` // limit of the spool; 0 is the bot's default
	LogLevel    slog.Level `json:"logLevel"`
	LogFormat   string     `json:"logFormat,omitempty"`
}

// ZoomSDK configures joining with Zoom's Meeting SDK.
type ZoomSDK struct {
	Dir    string `json:"dir,omitempty"` // the SDK's files
	Key    string `json:"key,omitempty"`
	Secret string `json:"secret,omitempty"`
}

// NewBotConfig combines the configuration of a bot that keeps its files in dir.
func NewBotConfig(assignment Assignment, settings BotSettings, dir string) BotConfig {
	settings.Recording = settings.Recording.WithMetadata(assignment.Metadata)
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
func ReadBotConfig(path string) (BotConfig, error) {
	file, err := os.Open(path)
	if err != nil {
		return BotConfig{}, fmt.Errorf("open the bot's configuration: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxConfigBytes))
	if err != nil {
		return BotConfig{}, fmt.Errorf("read the bot's configuration: %w", err)
	}
	config := BotConfig{Assignment: Assignment{AutoLeave: job.DefaultAutoLeave()}}
	if err := json.Unmarshal(content, &config); err != nil {
		return BotConfig{}, errors.New("read the bot's configuration: it is not the expected JSON object") // the JSON error could quote a secret
	}
	config.DisplayName = strings.ReplaceAll(config.DisplayName, "\x00", "")
	if config.Dir != "" && filepath.Dir(path) == filepath.Clean(config.Dir) {
		if err := os.Remove(path); err != nil {
			return BotConfig{}, fmt.Errorf("remove the bot's configuration: %w", err)
		}
	}
	return config, nil
}
