// Package bot is the stand-in itself: one process that takes one attempt of
// one job into one meeting, records it, and hands the recording in. It speaks
// to the service only through the ingest surface, and outlives it: what it has
// is on its disk until the service has it too.
//
// It knows nothing of consumers, webhooks or databases. How a browser is
// driven, what a platform's page looks like and how a tab is recorded are its
// sub-packages' business; here is the course of a visit, from the first page to
// the last file.
package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/channel"
	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/bot/spool"
	"standin/internal/job"
)

// deliverTime is how long a bot stays after its visit for a service that is
// away. What it could not deliver then stays in its folder.
const deliverTime = 24 * time.Hour

// Settings are all that a bot is told.
type Settings struct {
	JobID         string
	Attempt       int
	Token         string
	ServiceURL    string
	MeetingURL    string
	Platform      job.Platform
	DisplayName   string
	AutoLeave     job.AutoLeave
	AllowedHosts  []string // may be opened beside the platforms' own
	LoopbackPeers bool     // the meeting's media comes from this machine: replicas only

	Dir      string // the bot's own folder
	Browser  string // the browser to start; found when empty
	Profiles string // folder of page profiles that replace the embedded ones; may be empty
	Recorder recorder.Settings
	Version  string // of the program, for the manifest
	Log      *slog.Logger
}

// bot is a bot at work.
type bot struct {
	Settings

	spool   *spool.Spool
	channel *channel.Channel
	adapter meeting.Adapter
	address meeting.Address
	report  *report
	told    map[job.Trigger]bool // the lifecycle events that come once in an attempt

	// What was ordered outlives a browser that crashed.
	paused  bool
	stopped bool          // no more is recorded, for good
	kept    time.Duration // length of the stretches that have ended
}

// Run takes the bot through its visit and returns when all that it has was
// delivered. When ctx ends the bot leaves its meeting and hands in what it
// has. An error means that something is left in the bot's folder.
func Run(ctx context.Context, settings Settings) error {
	b := &bot{Settings: settings, told: make(map[job.Trigger]bool)}
	var err error
	if b.spool, err = spool.Open(filepath.Join(settings.Dir, "spool"), spool.Settings{}); err != nil {
		return fmt.Errorf("open the spool: %w", err)
	}
	defer b.spool.Close()
	b.channel, err = channel.New(channel.Settings{
		ServiceURL: settings.ServiceURL, JobID: settings.JobID, Attempt: settings.Attempt, Token: settings.Token,
		Spool: b.spool, Log: settings.Log,
	})
	if err != nil {
		return fmt.Errorf("prepare the way to the service: %w", err)
	}
	b.report = newReport(settings.Attempt, settings.Version, b.spool)

	// The channel outlives the visit, and ctx too: what was recorded until
	// then must still be told.
	talking, stop := context.WithCancel(context.WithoutCancel(ctx))
	var talk sync.WaitGroup
	talk.Go(func() {
		if err := b.channel.Run(talking); err != nil {
			settings.Log.Error("the service refuses this bot", "error", err)
		}
	})
	defer talk.Wait()
	defer stop()

	end := b.visitAll(ctx)
	settings.Log.Info("the visit is over", "reason", end.reason, "failure", end.code, "detail", end.detail)
	delivering, cancel := context.WithTimeout(talking, deliverTime)
	defer cancel()
	if err := b.handIn(delivering, end); err != nil {
		return err
	}
	stop()
	talk.Wait() // nobody may look into the spool any more
	return b.spool.Remove()
}

// tell emits a lifecycle event; those that come once are told once.
func (b *bot) tell(kind job.Trigger, data any) error {
	switch kind {
	case job.BotJoined, job.BotEnteringLobby, job.BotInMeeting, job.BotRecordingStopped:
		if b.told[kind] {
			return nil
		}
		b.told[kind] = true
	}
	b.Log.Info("lifecycle", "kind", kind)
	if err := b.channel.Emit(kind, data); err != nil {
		return fmt.Errorf("keep the event %s: %w", kind, err)
	}
	return nil
}

// rejoins is how often a bot whose browser crashed comes back in the same
// attempt.
const rejoins = 2

// visitAll visits the meeting, and again when the browser was lost while the
// meeting may still be on.
func (b *bot) visitAll(ctx context.Context) ending {
	if end, ok := b.prepare(); !ok {
		return end
	}
	var end ending
	for try := range 1 + rejoins {
		end = b.visit(ctx, try)
		if !end.lostBrowser || ctx.Err() != nil {
			break
		}
		b.Log.Warn("the browser is gone; joining again", "detail", end.detail)
	}
	if end.reason == "" && b.report.recorded() {
		// The last visit did not come into the meeting, but one before it did:
		// its browser's end is why the recording ended.
		end = ending{reason: reasonBrowserLost, detail: "the browser was lost, and coming back failed: " + end.detail}
	}
	return end
}

// prepare finds out whether the meeting may and can be visited at all.
func (b *bot) prepare() (ending, bool) {
	profiles, err := loadProfiles(b.Profiles)
	if err != nil {
		return failed(job.InternalError, err.Error()), false
	}
	b.adapter, err = meeting.New(b.Platform, profiles)
	if err != nil {
		return failed(job.InternalError, err.Error()), false
	}
	if b.address, err = b.adapter.Address(b.MeetingURL); err != nil {
		return failed(job.MeetingNotFound, err.Error()), false
	}
	if err := allowed(b.address.URL, b.AllowedHosts); err != nil {
		return failed(job.MeetingNotFound, err.Error()), false
	}
	b.Browser, err = browser.Find(b.Browser)
	if err != nil {
		return failed(job.InternalError, err.Error()), false
	}
	return ending{}, true
}

// loadProfiles returns the embedded profiles, or with those of a folder in
// their place.
func loadProfiles(folder string) (meeting.Profiles, error) {
	if folder == "" {
		return meeting.Embedded()
	}
	return meeting.Load(folder)
}

// openBrowser starts a browser with a fresh profile and opens the meeting's
// page in it.
func (b *bot) openBrowser(ctx context.Context, try int) (*browser.Browser, *browser.Page, error) {
	profile := filepath.Join(b.Dir, fmt.Sprintf("browser-%d", try))
	if err := os.RemoveAll(profile); err != nil {
		return nil, nil, fmt.Errorf("clear the browser's folder: %w", err)
	}
	chromium, err := browser.Launch(ctx, browser.Options{
		Executable: b.Browser, ProfileDir: profile, LoopbackPeers: b.LoopbackPeers, Log: b.Log,
		Width: b.Recorder.Width, Height: b.Recorder.Height,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("start the browser: %w", err)
	}
	page, err := b.openPage(ctx, chromium)
	if err != nil {
		return nil, nil, errors.Join(err, chromium.Close())
	}
	return chromium, page, nil
}

// openPage opens the meeting's page, with a silent microphone and a test
// picture for those platforms that insist on devices.
func (b *bot) openPage(ctx context.Context, chromium *browser.Browser) (*browser.Page, error) {
	if err := chromium.GrantMicrophoneAndCamera(ctx, origin(b.address.URL)); err != nil {
		return nil, err
	}
	page, err := chromium.NewPage(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a page: %w", err)
	}
	if err := recorder.Prepare(ctx, page); err != nil {
		return nil, err
	}
	if err := b.tell(job.BotJoined, nil); err != nil {
		return nil, err
	}
	return page, page.Navigate(ctx, b.address.URL)
}
