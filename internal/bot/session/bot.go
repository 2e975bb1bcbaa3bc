// Package session runs one attempt of a job: it joins a meeting with a browser,
// records it, and delivers the recording to the service.
//
// An attempt outlives the service and its own browsers. Everything for the
// service is in the spool until the service has it, and a lost browser is
// replaced: attempt runs one session for each browser. A session's loop passes
// every event to the part that owns it: joining, recording, consent, the leave
// policy or commands. Other packages drive the browser, read the platforms'
// pages and record a tab.
package session

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/recorder"
	"standin/internal/bot/report"
	"standin/internal/bot/serviceclient"
	"standin/internal/bot/spool"
	"standin/internal/bot/zoomsdk"
	"standin/internal/host"
	"standin/internal/ingest"
	"standin/internal/job"
)

// deliveryTimeout is how long a bot waits for a service that is away after its
// meeting. Undelivered data stays in the bot's folder.
const deliveryTimeout = 24 * time.Hour

// Settings configures a bot.
type Settings struct {
	JobID         string
	Attempt       int
	Token         string // bearer token of the attempt
	ServiceURL    string
	MeetingURL    string
	Platform      job.Platform
	DisplayName   string
	AutoLeave     job.AutoLeave
	JoinAt        time.Time // the meeting's page is not opened before; zero: at once
	AllowedHosts  []string  // meeting hosts in addition to those of the platforms
	OwnHosts      []string  // names of the service's machine, which the page may not reach
	LoopbackPeers bool      // the meeting's media comes from this machine: for replicas

	// RequirePermission makes the bot ask the host on admission, and record only
	// with permission.
	RequirePermission bool
	// PermissionTimeout is how long the bot waits for the host's answer; 0: 2 minutes.
	PermissionTimeout time.Duration
	Timeouts          Timeouts

	Dir         string // the bot's own folder
	SpoolLimit  int64  // bytes of media in the spool; 0: spool.DefaultLimit
	BrowserPath string // found if empty
	ProfilesDir string // page profiles that replace the embedded ones; may be empty
	SignInDir   string // cookies and browser profiles; empty: join anonymously
	ZoomSDK     zoomsdk.Settings

	NoSandbox    bool         // run Chromium without its own sandbox
	BrowserMode  browser.Mode // empty: browser.Auto
	MediaOverTCP bool         // see browser.Options.MediaThroughProxy
	Recorder     recorder.Settings

	// WithoutRecording keeps who is in the meeting and what is written, and records
	// nothing.
	WithoutRecording bool

	// Layout is what the recorded picture shows; empty: job.LayoutPage.
	Layout job.Layout

	// ParticipantAudio also records each participant's audio separately, where
	// the page exposes it.
	ParticipantAudio bool

	Output        bool               // the bot may be heard and seen: the page's devices are the bot's
	OutputOptions *job.OutputOptions // what it plays and shows by itself; may be nil

	Chat             bool   // keeps the chat open, to read its messages
	Captions         bool   // turns on live captions and reads them
	CaptionsLanguage string // language of the captions, BCP 47; empty: unknown

	Version string // version of the program, for the manifest
	Log     *slog.Logger
}

func (s Settings) withDefaults() Settings {
	s.Timeouts = s.Timeouts.withDefaults()
	s.PermissionTimeout = cmp.Or(s.PermissionTimeout, 2*time.Minute)
	s.Log = cmp.Or(s.Log, slog.Default())
	return s
}

// Run runs the attempt and returns when everything was delivered. When ctx ends
// the bot leaves its meeting and delivers what it has. After an error the bot's
// folder holds undelivered data.
func Run(ctx context.Context, settings Settings) error {
	settings = settings.withDefaults()
	store, err := spool.Open(filepath.Join(settings.Dir, ingest.SpoolDir), spool.Settings{Limit: settings.SpoolLimit})
	if err != nil {
		return err
	}
	defer store.Close()
	client, err := serviceclient.New(serviceclient.Settings{
		ServiceURL: settings.ServiceURL, JobID: settings.JobID, Attempt: settings.Attempt, Token: settings.Token,
		Spool: store, Log: settings.Log,
	})
	if err != nil {
		return err
	}
	a := newAttempt(settings, store, client)

	// The client keeps running when ctx ends: the recording is still delivered.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() {
		if err := client.Run(running); err != nil {
			settings.Log.Error("the service refuses this bot", "error", err)
		}
	})
	background.Go(func() {
		host.NewProcessMeter(os.Getpid()).Watch(running, host.ProcessWindow, func(usage host.ProcessUsage) {
			client.SetUsage(usage.Cores, usage.Memory)
		})
	})
	background.Go(func() { a.sound.Run(running) })
	defer background.Wait()
	defer stop()

	end := a.run(ctx)
	if end.reason != report.ReasonShutdown && end.reason != report.ReasonSuperseded { // else another attempt may follow
		a.sound.End()
	}
	settings.Log.Info("attempt ended", "reason", end.reason, "failure", end.code, "detail", end.detail)
	delivering, cancel := context.WithTimeout(running, deliveryTimeout)
	defer cancel()
	d := report.Delivery{
		Log: settings.Log, Attempt: settings.Attempt,
		Client: client, Spool: store, Report: a.report, Events: a.events.Emitter,
	}
	if err := d.Deliver(delivering, end.end()); err != nil {
		return fmt.Errorf("deliver the recording: %w", err)
	}
	stop()
	background.Wait() // the client must not use the spool any longer
	return store.Remove()
}
