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
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/egress"
	"standin/internal/bot/hostpolicy"
	"standin/internal/bot/meeting"
	"standin/internal/bot/notetaker"
	"standin/internal/bot/procusage"
	"standin/internal/bot/recorder"
	"standin/internal/bot/serviceclient"
	"standin/internal/bot/spool"
	"standin/internal/bot/zoomsdk"
	"standin/internal/ingest"
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
	JoinAt        time.Time // the meeting's page is not opened before; zero: at once
	AllowedHosts  []string  // may be opened beside the platforms' own
	LoopbackPeers bool      // the meeting's media comes from this machine: replicas only

	// RequirePermission has the bot ask the host as soon as it is let in, and
	// record only once the host has allowed it.
	RequirePermission bool
	// PermissionTime is how long the host's answer is awaited; 0: 2 minutes.
	PermissionTimeout time.Duration
	Timeouts          Timeouts

	Dir         string // the bot's own folder
	SpoolLimit  int64  // bytes of media that it may hold; 0: spool.DefaultLimit
	BrowserPath string // the browser to start; found when empty
	ProfilesDir string // folder of page profiles that replace the embedded ones; may be empty
	SignInDir   string // folder of what signs a visitor in; empty: never signed in
	ZoomSDK     zoomsdk.Settings

	NoSandbox bool // Chromium runs without its own sandbox
	Recorder  recorder.Settings

	// ParticipantAudio records what each stream of the call says by itself too,
	// where the page exposes it.
	ParticipantAudio bool

	Version string // of the program, for the manifest
	Log     *slog.Logger
}

// usualPermissionTime is how long a host's answer is awaited.
const usualPermissionTime = 2 * time.Minute

// bot is a bot at work. What is kept here outlives a browser.
type bot struct {
	Settings

	spool      *spool.Spool
	channel    *serviceclient.Client
	adapter    meeting.Adapter
	sdk        *zoomsdk.Adapter // the same one, on the platform zoom-sdk; else nil
	signedIn   signIn
	egress     *egress.Proxy // the browser's only way out
	notetakers *notetaker.List
	address    meeting.Address
	report     *report
	voices     *voiceSink
	clock      *clock
	told       map[job.Trigger]bool // the lifecycle events that come once in an attempt

	asked        time.Time // when joining was asked for; zero in the meeting
	firstIn      time.Time // when the bot was let in for the first time
	alone        time.Time // since when nobody else was seen; zero while somebody is there
	heard        time.Time // when something was last heard; zero when nothing was
	reportedAt   time.Time
	detected     map[string]bool // participants known as notetakers, by id
	interruption ending          // what took the bot out of the meeting last
	comebacks    limit
	unrecorded   int // browsers that could not record

	// What was ordered.
	postponed []ingest.Command // until the bot is in the meeting
	consent   consent
	permitted bool // the host allowed it
	paused    bool
	stopped   bool          // no more is recorded, for good
	full      bool          // nothing more can be kept for now
	kept      time.Duration // length of the stretches that have ended
}

// newBot returns a bot with what its settings leave out filled in.
func newBot(settings Settings) *bot {
	settings.Timeouts = settings.Timeouts.withDefaults()
	if settings.PermissionTimeout <= 0 {
		settings.PermissionTimeout = usualPermissionTime
	}
	if settings.Log == nil {
		settings.Log = slog.Default()
	}
	b := &bot{
		Settings: settings, clock: newClock(),
		told: make(map[job.Trigger]bool), detected: make(map[string]bool),
		comebacks: limit{most: settings.Timeouts.MaxRejoins, within: comebackWindow},
	}
	b.voices = &voiceSink{bot: b}
	return b
}

// Run takes the bot through its visit and returns when all that it has was
// delivered. When ctx ends the bot leaves its meeting and hands in what it
// has. An error means that something is left in the bot's folder.
func Run(ctx context.Context, settings Settings) error {
	b := newBot(settings)
	settings = b.Settings
	var err error
	if b.spool, err = spool.Open(filepath.Join(settings.Dir, ingest.SpoolDir), spool.Settings{Limit: settings.SpoolLimit}); err != nil {
		return fmt.Errorf("open the spool: %w", err)
	}
	defer b.spool.Close()
	b.channel, err = serviceclient.New(serviceclient.Settings{
		ServiceURL: settings.ServiceURL, JobID: settings.JobID, Attempt: settings.Attempt, Token: settings.Token,
		Spool: b.spool, Log: settings.Log,
	})
	if err != nil {
		return fmt.Errorf("prepare the way to the service: %w", err)
	}
	b.report = newReport(settings.Attempt, settings.Version, b.spool, b.clock)

	// The channel outlives the visit, and ctx too: what was recorded until
	// then must still be told.
	talking, stop := context.WithCancel(context.WithoutCancel(ctx))
	var talk sync.WaitGroup
	talk.Go(func() {
		if err := b.channel.Run(talking); err != nil {
			settings.Log.Error("the service refuses this bot", "error", err)
		}
	})
	talk.Go(func() {
		procusage.NewMeter(os.Getpid()).Watch(talking, procusage.Window, func(takes procusage.Usage) {
			b.channel.SetUsage(takes.Cores, takes.Memory)
		})
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

// visitAll visits the meeting, and again when the browser or the connection was
// lost while the meeting may still be on.
func (b *bot) visitAll(ctx context.Context) ending {
	defer b.dismantle()
	end, ok := b.prepare(ctx)
	if !ok {
		return end
	}
	began := time.Now()
	for number := 0; ; number++ {
		end = b.visit(ctx, number)
		if !end.again || ctx.Err() != nil {
			break
		}
		pause, ok := b.mayReturn(time.Now(), began)
		if !ok {
			break
		}
		b.Log.Warn("joining again with another browser", "why", end.detail, "after", pause)
		if other, over := b.rest(ctx, pause); over {
			end = other
			break
		}
	}
	return b.conclude(end)
}

// mayReturn counts a return to the meeting and tells how long to wait before
// it; false when there were enough.
func (b *bot) mayReturn(now, began time.Time) (pause time.Duration, ok bool) {
	if b.firstIn.IsZero() && now.Sub(began) > arriveTime {
		return 0, false
	}
	others, ok := b.comebacks.take(now)
	return b.Timeouts.pauseBefore(others), ok
}

// rest waits between two visits; true when that is the end.
func (b *bot) rest(ctx context.Context, pause time.Duration) (ending, bool) {
	waited := time.NewTimer(pause)
	defer waited.Stop()
	for {
		select {
		case <-waited.C:
			return b.overdue(time.Now())
		case <-ctx.Done():
			return shutdown(), true
		case <-b.channel.Done():
			return b.superseded(), true
		case command := <-b.channel.Commands():
			if end, over := b.postpone(command); over {
				return end, true
			}
		}
	}
}

// conclude is how the whole of the visits ended. Where the last one did not
// come into the meeting, but one before it did, what took the bot out is why
// the recording ended.
func (b *bot) conclude(end ending) ending {
	if end.reason == "" && b.report.recorded() {
		why := b.interruption
		end = ending{reason: cmp.Or(why.reason, reasonConnection), detail: why.detail + " Coming back failed: " + end.detail}
	}
	if b.report.recorded() {
		b.report.concluded(end)
	}
	if b.consent.open() {
		if err := b.tellAnswer(verdict{timedOut, "The bot left before the host answered."}); err != nil {
			b.Log.Error("cannot tell that the host did not answer", "error", err)
		}
	}
	return end
}

// superseded is the ending for a bot that the service no longer wants.
func (b *bot) superseded() ending {
	verdict := b.channel.Termination()
	return ending{reason: reasonSuperseded, detail: fmt.Sprintf("the service wants no more of this bot (%s): %s", verdict.Cause, verdict.Detail)}
}

// prepare finds out whether the meeting may and can be visited at all.
func (b *bot) prepare(ctx context.Context) (ending, bool) {
	profiles, err := loadProfiles(b.ProfilesDir)
	if err != nil {
		return failed(job.InternalError, err.Error()), false
	}
	if err := b.chooseAdapter(ctx, profiles); err != nil {
		return failed(job.InternalError, err.Error()), false
	}
	known, err := notetaker.Load(b.ProfilesDir)
	if err != nil {
		return failed(job.InternalError, err.Error()), false
	}
	b.notetakers = known.Without(b.DisplayName)
	if b.address, err = b.adapter.Address(b.MeetingURL); err != nil {
		return failed(job.MeetingNotFound, err.Error()), false
	}
	target := b.address.URL
	if b.sdk != nil { // its page is the bot's own; the meeting is elsewhere
		if target, err = b.sdk.Target(b.MeetingURL); err != nil {
			return failed(job.MeetingNotFound, err.Error()), false
		}
	}
	if err := hostpolicy.Check(target, b.AllowedHosts); err != nil {
		return failed(job.MeetingNotFound, err.Error()), false
	}
	b.BrowserPath, err = browser.Find(b.BrowserPath)
	if err != nil {
		return failed(job.InternalError, err.Error()), false
	}
	if b.signedIn, err = b.readSignIn(); err != nil {
		return failed(job.InternalError, err.Error()), false
	}
	if err := b.buildWalls(ctx, target); err != nil {
		return failed(job.InternalError, err.Error()), false
	}
	return ending{}, true
}

// chooseAdapter picks what knows the platform's page.
func (b *bot) chooseAdapter(ctx context.Context, profiles meeting.Profiles) (err error) {
	if b.Platform != job.ZoomSDK {
		b.adapter, err = meeting.New(b.Platform, profiles)
		return err
	}
	if b.sdk, err = zoomsdk.New(ctx, b.ZoomSDK, b.Log); err != nil {
		return err
	}
	b.adapter = b.sdk
	return nil
}

// dismantle ends what outlived the browsers.
func (b *bot) dismantle() {
	var err error
	if b.egress != nil {
		err = b.egress.Close()
	}
	if b.sdk != nil {
		err = errors.Join(err, b.sdk.Close())
	}
	if err != nil {
		b.Log.Warn("what stood around the browser does not close cleanly", "error", err)
	}
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
		Executable: b.BrowserPath, ProfileDir: profile, LoopbackPeers: b.LoopbackPeers, Log: b.Log,
		Proxy: b.egress.Address(), NoSandbox: b.NoSandbox, SeedProfile: b.signedIn.profile,
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
	if err := chromium.GrantMicrophoneAndCamera(ctx, hostpolicy.Origin(b.address.URL)); err != nil {
		return nil, err
	}
	if err := b.setCookies(ctx, chromium); err != nil {
		return nil, err
	}
	page, err := chromium.NewPage(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a page: %w", err)
	}
	if err := page.GuardNavigation(ctx, b.mayOpen); err != nil {
		return nil, err
	}
	if err := page.EvalOnNewDocument(ctx, meeting.NavigationGuardScript()); err != nil {
		return nil, fmt.Errorf("keep the page from starting other programs: %w", err)
	}
	if err := recorder.Prepare(ctx, page); err != nil {
		return nil, err
	}
	if err := b.arrive(ctx); err != nil {
		return nil, err
	}
	loading, cancel := context.WithTimeout(ctx, b.Timeouts.Open)
	defer cancel()
	err = page.Navigate(loading, b.address.URL)
	if errors.Is(err, context.DeadlineExceeded) {
		err = &browser.NavigationError{Reason: fmt.Sprintf("nothing came within %s", b.Timeouts.Open)}
	}
	return page, err
}
