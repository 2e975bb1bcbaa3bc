package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/google/uuid"

	"standin/internal/base/fsutil"
	"standin/internal/bot/browser"
	"standin/internal/bot/session"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/launch/process"
)

type botCommand struct {
	launch.BotSettings
	Config            string       `type:"existingfile" help:"Read the whole configuration from this JSON file, as launchers write it, instead of from flags and environment. A file in the bot's own folder is removed."`
	Job               uuid.UUID    `help:"ID of the job."`
	Attempt           int          `help:"Number of the attempt, from 0."`
	TokenFile         string       `type:"existingfile" help:"File with the attempt's bearer token: hex HMAC-SHA256 over <job>:<attempt> with the service's ingest signing key."`
	ServiceURL        string       `placeholder:"URL" help:"Base URL of the service."`
	MeetingURL        string       `placeholder:"URL" help:"The meeting to join. Arguments are visible to other users of the machine: put a link with a passcode into --config."`
	Platform          job.Platform `default:"meet" help:"Platform of the meeting."`
	Name              string       `default:"Standin" help:"Name shown to other participants."`
	AllowedHosts      []string     `env:"STANDIN_ALLOWED_MEETING_HOSTS" help:"Hosts that may be opened in addition to the platforms' hosts."`
	LoopbackPeers     bool         `help:"Let the meeting send media over loopback: for replicas."`
	Dir               string       `help:"The bot's own folder. Default: a temporary one, which is removed when everything is delivered."`
	RequirePermission bool         `help:"Record only with the host's permission."`
}

// Run joins the meeting and uploads the recording.
func (c *botCommand) Run(ctx context.Context, to terminal) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	if err := browser.CheckSandbox(config.NoSandbox); err != nil && config.Platform != job.ZoomSDK {
		return err
	}
	temporary := config.Dir == ""
	if temporary {
		if config.Dir, err = os.MkdirTemp("", "standin-bot-"); err != nil {
			return fmt.Errorf("create the bot's folder: %w", err)
		}
	}
	lock, err := process.LockDir(config.Dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	log := config.Logger(to.Err).With("job", config.JobID, "attempt", config.Attempt)
	err = session.Run(ctx, session.Settings{BotConfig: config, Version: version(), Log: log})
	switch {
	case !temporary:
		return err
	case err != nil:
		return fmt.Errorf("%w; what was not delivered is in %s", err, config.Dir)
	}
	return os.RemoveAll(config.Dir)
}

// config returns the bot's configuration from its file or from the flags.
func (c *botCommand) config() (launch.BotConfig, error) {
	if c.Config != "" {
		return launch.ReadBotConfig(c.Config)
	}
	if c.Job == uuid.Nil || c.TokenFile == "" || c.ServiceURL == "" || c.MeetingURL == "" {
		return launch.BotConfig{}, errors.New("a bot needs --config, or --job, --token-file, --service-url and --meeting-url")
	}
	token, err := fsutil.ReadSecret(c.TokenFile)
	if err != nil {
		return launch.BotConfig{}, fmt.Errorf("read the token: %w", err)
	}
	return launch.NewBotConfig(launch.Assignment{
		JobID: c.Job, Attempt: c.Attempt, Token: token, ServiceURL: c.ServiceURL,
		MeetingURL: c.MeetingURL, Platform: c.Platform, DisplayName: c.Name, AutoLeave: job.DefaultAutoLeave(),
		AllowedHosts: c.AllowedHosts, LoopbackPeers: c.LoopbackPeers, RequirePermission: c.RequirePermission,
	}, c.BotSettings, c.Dir), nil
}
