package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/google/uuid"

	"standin/internal/bot/browser"
	"standin/internal/bot/recorder"
	"standin/internal/bot/session"
	"standin/internal/bot/zoomsdk"
	"standin/internal/fsutil"
	"standin/internal/job"
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
	if err := browser.CheckSandbox(config.NoSandbox); err != nil {
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
	settings := newBotSettings(config)
	settings.Log = config.Logger(to.Err).With("job", config.JobID, "attempt", config.Attempt)
	err = session.Run(ctx, settings)
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

// newBotSettings converts a configuration to the settings of package bot,
// without the logger.
func newBotSettings(c launch.BotConfig) session.Settings {
	r := c.Recording
	return session.Settings{
		JobID: c.JobID.String(), Attempt: c.Attempt, Token: c.Token, ServiceURL: c.ServiceURL,
		MeetingURL: c.MeetingURL, Platform: c.Platform, DisplayName: c.DisplayName, AutoLeave: c.AutoLeave, JoinAt: c.JoinAt,
		AllowedHosts: c.AllowedHosts, OwnHosts: c.OwnHosts, LoopbackPeers: c.LoopbackPeers, RequirePermission: c.RequirePermission,
		Dir: c.Dir, SpoolLimit: int64(c.SpoolMiB) << 20, BrowserPath: c.Browser, BrowserMode: browser.Mode(c.BrowserMode), NoSandbox: c.NoSandbox, MediaOverTCP: c.MediaOverTCP, ProfilesDir: c.Profiles, SignInDir: c.SignIn,
		ZoomSDK: zoomsdk.Settings(c.ZoomSDK),
		Recorder: recorder.Settings{
			AudioOnly: r.Mode.RecordsLess(job.RecordVideo), Width: r.Picture.Width, Height: r.Picture.Height,
			FramesPerSecond: r.FrameRate, VideoBitsPerSecond: int(r.VideoBitRate), AudioBitsPerSecond: int(r.AudioBitRate),
			MaxParticipantTracks: r.ParticipantAudioLimit,
		},
		Chat: r.Chat == launch.TextsOn, Captions: r.Captions == launch.TextsOn, CaptionsLanguage: r.CaptionsLanguage,
		Output: r.Output, OutputOptions: r.OutputOptions,
		WithoutRecording: r.Mode == job.RecordNothing,
		Layout:           cmp.Or(r.Layout, job.LayoutSpeaker), ParticipantAudio: r.ParticipantAudio == launch.ParticipantAudioOn, Version: version(),
	}
}
