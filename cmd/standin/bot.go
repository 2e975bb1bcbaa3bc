package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"standin/internal/bot"
	"standin/internal/bot/recorder"
	"standin/internal/bot/zoomsdk"
	"standin/internal/job"
	"standin/internal/launch"
)

type botCommand struct {
	logFlags
	setupFlags
	Job           string       `env:"STANDIN_BOT_JOB" required:"" help:"The job's id."`
	Attempt       int          `env:"STANDIN_BOT_ATTEMPT" help:"The attempt's number; the first is 0."`
	ServiceURL    string       `env:"STANDIN_BOT_SERVICE_URL" required:"" help:"How to reach the service."`
	MeetingURL    string       `env:"STANDIN_BOT_MEETING_URL" required:"" help:"The meeting to join. It may hold a passcode: better in the environment than on the command line."`
	Platform      job.Platform `env:"STANDIN_BOT_PLATFORM" default:"meet" help:"The meeting's platform."`
	Name          string       `env:"STANDIN_BOT_NAME" default:"Standin" help:"Name shown to other participants."`
	JoinAt        time.Time    `env:"STANDIN_BOT_JOIN_AT" placeholder:"RFC3339" help:"When to open the meeting's page; until then the bot waits with its browser ready. Default: at once."`
	AutoLeave     string       `env:"STANDIN_BOT_AUTO_LEAVE" placeholder:"JSON" help:"The job's autoLeave object; what is left out has its default."`
	AllowedHosts  []string     `env:"STANDIN_ALLOWED_MEETING_HOSTS" help:"Hosts that may be opened beside the platforms' own."`
	LoopbackPeers bool         `env:"STANDIN_BOT_LOOPBACK_PEERS" help:"Let the meeting send media over loopback: for replicas."`
	Dir           string       `env:"STANDIN_BOT_DIR" help:"The bot's own folder. Default: a temporary one."`
	AskFirst      bool         `env:"STANDIN_BOT_ASK_FIRST" help:"Record only with the host's permission."`

	WishedMode             launch.RecordingMode `env:"STANDIN_BOT_RECORDING_MODE" name:"wished-mode" enum:"video,audio," default:"" help:"What the job says in its metadata's recordingMode."`
	WishedParticipantAudio string               `env:"STANDIN_BOT_PARTICIPANT_AUDIO" name:"wished-participant-audio" enum:"true,false," default:"" help:"What the job says in its metadata's participantAudio."`
}

// records is how this job is recorded.
func (c *botCommand) records() launch.Recording {
	return c.recording().For(launch.Wishes{Mode: c.WishedMode, ParticipantAudio: c.WishedParticipantAudio})
}

// recorderSettings are those of the recorder.
func recorderSettings(r launch.Recording) recorder.Settings {
	return recorder.Settings{
		AudioOnly: r.Mode == launch.RecordAudio, Width: r.Picture.Width, Height: r.Picture.Height,
		FramesPerSecond: r.FrameRate, VideoBitsPerSecond: int(r.VideoBitRate), AudioBitsPerSecond: int(r.AudioBitRate),
		MaxParticipantTracks: r.ParticipantAudioLimit,
	}
}

// BeforeReset takes a bot's task out of the file that a launcher has put it in,
// before the environment is read.
func (botCommand) BeforeReset() error {
	if path := os.Getenv(launch.EnvTask); path != "" {
		return launch.TakeTask(path)
	}
	return nil
}

// Help tells what the flags do not: the token is no flag, so that it is never
// on a command line.
func (botCommand) Help() string {
	return "The bearer token of the attempt is taken from the environment variable " + launch.EnvToken +
		" alone: hex HMAC-SHA256 over <job>:<attempt> with the service's ingest signing key.\n\n" +
		"Where " + launch.EnvTask + " names a file, all that is missing is taken from it: a JSON object of these variables."
}

// Run goes to the meeting and hands in what was recorded.
func (c *botCommand) Run(ctx context.Context, to terminal) error {
	token := os.Getenv(launch.EnvToken)
	if token == "" {
		return errors.New(launch.EnvToken + " is not set; a bot needs the token of its attempt")
	}
	// Whatever this process starts must not inherit them.
	for _, secret := range []string{launch.EnvToken, launch.EnvZoomSDKKey, launch.EnvZoomSDKSecret} {
		if err := os.Unsetenv(secret); err != nil {
			return fmt.Errorf("take the secrets out of the environment: %w", err)
		}
	}
	autoLeave := job.DefaultAutoLeave()
	if c.AutoLeave != "" {
		if err := json.Unmarshal([]byte(c.AutoLeave), &autoLeave); err != nil {
			return fmt.Errorf("read autoLeave: %w", err)
		}
	}
	if c.Dir == "" {
		dir, err := os.MkdirTemp("", "standin-bot-")
		if err != nil {
			return fmt.Errorf("make the bot's folder: %w", err)
		}
		c.Dir = dir
	}
	held, err := launch.LockDir(c.Dir)
	if err != nil {
		return err
	}
	defer held.Close()
	records := c.records()
	return bot.Run(ctx, bot.Settings{
		JobID: c.Job, Attempt: c.Attempt, Token: token, ServiceURL: c.ServiceURL,
		MeetingURL: c.MeetingURL, Platform: c.Platform, DisplayName: c.Name, AutoLeave: autoLeave, JoinAt: c.JoinAt,
		AllowedHosts: trimmed(c.AllowedHosts), LoopbackPeers: c.LoopbackPeers,
		Dir: c.Dir, SpoolLimit: int64(c.SpoolLimit) << 20, BrowserPath: c.Browser, NoSandbox: c.NoSandbox, ProfilesDir: c.Profiles, SignInDir: c.SignIn,
		ZoomSDK:           zoomsdk.Settings{Dir: c.ZoomSDKDir, Key: c.ZoomSDKKey, Secret: c.ZoomSDKSecret},
		Recorder:          recorderSettings(records),
		ParticipantAudio:  records.ParticipantAudio == launch.ParticipantAudioOn,
		RequirePermission: c.AskFirst, Version: version(),
		Log: c.logger(to.err).With("job", c.Job, "attempt", c.Attempt),
	})
}
