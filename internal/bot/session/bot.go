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
	"standin/internal/bot/ingest"
	"standin/internal/bot/recorder"
	"standin/internal/bot/report"
	"standin/internal/bot/serviceclient"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/operation/host"
)

// deliveryTimeout is how long a bot waits for a service that is away after its
// meeting. Undelivered data stays in the bot's folder.
const deliveryTimeout = 24 * time.Hour

// Settings configure a bot: its configuration, and limits that tests change.
type Settings struct {
	launch.BotConfig
	Version string          // version of the program, for the manifest
	Account browser.Account // with which the bot signs in without asking the service
	Log     *slog.Logger

	Timeouts          Timeouts
	PermissionTimeout time.Duration // how long the bot waits for the host's answer; 0: 2 minutes
	SpoolLimit        int64         // bytes of media in the spool; 0: SpoolMiB

	startRecorder startRecorder
}

func (s Settings) withDefaults() Settings {
	s.Timeouts = s.Timeouts.withDefaults()
	s.PermissionTimeout = cmp.Or(s.PermissionTimeout, 2*time.Minute)
	s.SpoolLimit = cmp.Or(s.SpoolLimit, int64(s.SpoolMiB)<<20)
	s.Recording.Layout = cmp.Or(s.Recording.Layout, job.LayoutSpeaker)
	s.Log = cmp.Or(s.Log, slog.Default())
	if s.Platform == job.ZoomSDK {
		s.Recording.Output, s.Recording.OutputOptions = false, nil // its streams can only be received
	}
	if s.startRecorder == nil {
		s.startRecorder = recorder.Start
	}
	return s
}

// withoutRecording reports whether the bot keeps who is in the meeting and what is written, and
// records nothing.
func (s Settings) withoutRecording() bool { return s.Recording.Mode == job.RecordNothing }

// audioOnly reports whether no video is recorded.
func (s Settings) audioOnly() bool { return s.Recording.Mode.RecordsLess(job.RecordVideo) }

// recorder returns the settings of the recorder.
func (s Settings) recorder() recorder.Settings {
	r := s.Recording
	return recorder.Settings{
		AudioOnly: s.audioOnly(), Width: r.Picture.Width, Height: r.Picture.Height,
		FramesPerSecond: r.FrameRate, VideoBitsPerSecond: int(r.VideoBitRate),
		Voice: r.Output, ChunkTimeout: s.Timeouts.Chunk, Streams: r.Capture == job.CaptureStreams && !s.audioOnly(),
	}
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
		ServiceURL: settings.ServiceURL, JobID: settings.JobID.String(), Attempt: settings.Attempt, Token: settings.Token,
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
		host.NewProcessMeter(os.Getpid()).Watch(running, host.ProcessWindow, client.SetUsage)
	})
	background.Go(func() { a.sound.Run(running) })
	defer background.Wait()
	defer stop()

	end := a.run(ctx)
	if !mayContinue(end.reason) {
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
