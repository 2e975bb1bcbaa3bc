package simulator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/launch"
)

// Delays of a bot, on its own clock.
const (
	openDelay       = 200 * time.Millisecond // to open the page, and to join
	lobbyDelay      = time.Second
	startDelay      = 200 * time.Millisecond // before the recording
	finishDelay     = 200 * time.Millisecond // for each step of finishing the recording
	permissionDelay = 300 * time.Millisecond // until the host answers
)

// competitorName is the other notetaker of the scenario competing_bot.
const competitorName = "Simulated Notetaker"

// Values of end.reason in the manifest.
const (
	reasonHostEnded  = "host_ended"
	reasonMaximum    = "max_duration"
	reasonCompetitor = "competing_bot"
	reasonCommand    = "left_on_command"
)

// errCrashed ends a bot without further reports, as its scenario requires.
var errCrashed = errors.New("the simulated bot crashed, as requested")

// exitResult is how a visit ended. It is an error so that a command to leave
// ends whatever the bot is waiting for.
type exitResult struct {
	reason string          // if the bot was in the meeting
	code   job.FailureCode // if it was not, or if nothing can be recorded
	detail string
}

func (e *exitResult) Error() string { return "visit ended: " + e.detail }

// bot is a simulated bot.
type bot struct {
	assignment launch.Assignment
	options    options
	Settings

	clock        botClock
	lastEvent    time.Time
	commandQueue *commandQueue
	delayed      []ingest.Event // of scenarios that reorder events

	joinedAt, admittedAt, leftAt time.Time
	end                          *exitResult // nil during the visit
	timeline                     timeline
	stopped                      bool               // permanently
	chat, captions               bool               // are read
	roster                       *ingest.LiveRoster // the last one of showRoster
	rosters                      chan *ingest.LiveRoster
	watched                      atomic.Bool                             // somebody wants pictures
	shown                        map[ingest.CommandKind]ingest.EventData // the pictures, by the kind of their commands
}

func newBot(a launch.Assignment, opts options, settings Settings) *bot {
	isTrue := func(option *bool) bool { return option != nil && *option }
	return &bot{
		assignment: a, options: opts, Settings: settings,
		clock:        botClock{clock: settings.Clock, speed: opts.speed},
		commandQueue: &commandQueue{added: retry.NewSignal(), seen: make(map[string]bool)},
		shown:        make(map[ingest.CommandKind]ingest.EventData),
		rosters:      make(chan *ingest.LiveRoster, 1), chat: isTrue(a.Options.Chat), captions: isTrue(a.Options.Captions.Enabled),
	}
}

// run runs the visit and reports its result. It returns nil if the service has
// received everything.
func (b *bot) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var beating sync.WaitGroup
	beating.Go(func() {
		for ctx.Err() == nil {
			repeated, err := b.beat(ctx, ingest.Heartbeat{}, heartbeatWait)
			if err != nil {
				return // ctx is done, or the job does not exist: the next event reports it
			}
			if repeated {
				_ = retry.Sleep(ctx, commandPause) // they are sent again until they are acknowledged
			}
		}
	})
	beating.Go(func() { // reports who is in the meeting and who speaks; the meeting does not wait for it
		for {
			select {
			case roster := <-b.rosters:
				if _, err := b.beat(ctx, ingest.Heartbeat{Stats: &ingest.Stats{Roster: roster}}, 0); err != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	defer beating.Wait()
	defer cancel()

	err := b.visit(ctx)
	if !errors.As(err, &b.end) {
		return err
	}
	return b.finish(ctx)
}

// visit joins the meeting and stays until its end. It returns an *exitResult,
// or an error that ends the bot.
func (b *bot) visit(ctx context.Context) error {
	if b.options.furthest == notOpened {
		return b.failure()
	}
	if err := b.wait(ctx, openDelay); err != nil {
		return err
	}
	if err := b.emit(ctx, job.BotJoined, nil); err != nil {
		return err
	}
	b.joinedAt = b.clock.now()
	if err := b.wait(ctx, openDelay); err != nil {
		return err
	}
	switch {
	case b.options.crashAt(b.assignment.Attempt) == whileJoining:
		return errCrashed
	case b.options.furthest == joinPage:
		return b.failure()
	case b.options.usesLobby:
		if err := b.emit(ctx, job.BotEnteringLobby, nil); err != nil {
			return err
		}
		length := lobbyDelay
		if b.options.furthest == lobby {
			length = b.options.duration
		}
		if err := b.wait(ctx, length); err != nil {
			return err
		}
		if b.options.furthest == lobby {
			return b.failure()
		}
	}
	if err := b.emit(ctx, job.BotInMeeting, nil); err != nil {
		return err
	}
	b.admittedAt = b.clock.now()
	if err := b.wait(ctx, startDelay); err != nil {
		return err
	}
	if b.options.asksPermission || b.assignment.RequirePermission {
		if err := b.requestPermission(ctx, ""); err != nil {
			return err
		}
	}
	switch {
	case b.options.crashAt(b.assignment.Attempt) == beforeRecording:
		return errCrashed
	case b.options.failureCode != "":
		return b.failure()
	case b.assignment.RequirePermission && b.options.permission != granted:
		return &exitResult{code: job.RecordingDisabled, detail: "The simulated host did not permit the recording."}
	}
	if !b.withoutRecording() {
		if err := b.startRecording(ctx); err != nil {
			return err
		}
	}
	if b.options.competitor {
		found := ingest.EventData{DetectedBotName: competitorName, LeftMeeting: &b.assignment.AutoLeave.OnBotDetected}
		if err := b.emit(ctx, job.BotCompetingDetected, found); err != nil {
			return err
		}
		if b.assignment.AutoLeave.OnBotDetected {
			return &exitResult{reason: reasonCompetitor, detail: competitorName + " is in the meeting"}
		}
	}
	maximum := time.Duration(b.assignment.AutoLeave.AfterMaxSeconds) * time.Second
	if err := b.attend(ctx, min(b.options.duration, maximum)); err != nil {
		return err
	}
	if b.options.crashAt(b.assignment.Attempt) == whileRecording {
		return errors.Join(b.uploadRecording(ctx), errCrashed)
	}
	if b.options.duration > maximum {
		return &exitResult{reason: reasonMaximum, detail: "afterMaxSeconds has passed"}
	}
	return &exitResult{reason: reasonHostEnded, detail: "The simulated host ended the meeting."}
}

func (b *bot) failure() error {
	return &exitResult{code: b.options.failureCode, detail: b.options.detail}
}

// wait waits on the bot's clock and executes commands meanwhile. A command to
// leave makes it return an *exitResult.
func (b *bot) wait(ctx context.Context, length time.Duration) error {
	end := b.clock.now().Add(length)
	for {
		for {
			command, ok := b.commandQueue.next()
			if !ok {
				break
			}
			failure, err := b.perform(ctx, command)
			if err != nil && !errors.As(err, new(*exitResult)) {
				return err
			}
			beat := ingest.Heartbeat{Acked: []string{command.ID}}
			if failure != "" {
				beat.Failed = map[string]string{command.ID: failure}
			}
			if _, err := b.beat(ctx, beat, 0); err != nil {
				return fmt.Errorf("acknowledge %s: %w", command.Kind, err)
			}
			if err != nil {
				return err
			}
		}
		left := end.Sub(b.clock.now())
		if left <= 0 {
			return nil
		}
		if err := b.clock.wait(ctx, left, b.commandQueue.added); err != nil {
			return err
		}
	}
}

// finish reports how the visit ended and uploads the recording. The bot of the
// first attempt finalizes it; later ones leave that to the service, which has
// the recordings of earlier attempts.
func (b *bot) finish(ctx context.Context) error {
	for _, kind := range []ingest.CommandKind{ingest.SetCamera, ingest.ShareScreen} {
		if err := b.hide(ctx, kind); err != nil {
			return err
		}
	}
	attended := b.withoutRecording() && !b.admittedAt.IsZero() && b.end.code == ""
	if !attended && !b.timeline.started() {
		code := cmp.Or(b.end.code, job.MeetingEnded) // without a code, the bot left before anything was recorded
		return b.emit(ctx, job.BotExited, ingest.EventData{EndReason: b.end.reason, FailureCode: string(code), FailureDetail: b.end.detail})
	}
	if err := b.stopRecording(ctx); err != nil {
		return err
	}
	b.leftAt = b.clock.now()
	exited := ingest.EventData{EndReason: b.end.reason, Detail: b.end.detail}
	if attended || b.assignment.Attempt > 0 {
		if err := b.uploadRecording(ctx); err != nil {
			return err
		}
		if err := b.emit(ctx, job.BotExited, exited); err != nil || !attended {
			return err
		}
		return b.emit(ctx, job.ManifestFinalized, nil)
	}
	steps := []func() error{
		func() error { return b.emit(ctx, job.BotExited, exited) },
		func() error { return b.clock.wait(ctx, finishDelay, nil) },
		func() error { return b.emit(ctx, job.BotPostProcessing, nil) },
		func() error { return b.clock.wait(ctx, finishDelay, nil) },
		func() error { return b.emit(ctx, job.BotMediaUploading, nil) },
		func() error { return b.uploadRecording(ctx) },
		func() error { return b.emit(ctx, job.ManifestFinalized, nil) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// withoutRecording reports whether nothing is recorded, by the job's choice.
func (b *bot) withoutRecording() bool {
	return b.assignment.Options.Recording.Mode == job.RecordNothing
}

// said returns what was said while the meeting was recorded, or attended if nothing is recorded.
func (b *bot) said(now time.Time) []said {
	if b.withoutRecording() && !b.admittedAt.IsZero() {
		attended := timeline{parts: []ingest.RecordingPart{{StartedAt: b.admittedAt, EndedAt: b.leftAt}}}
		return attended.said(now)
	}
	return b.timeline.said(now)
}

// report returns the bot's report so far.
func (b *bot) report() ingest.Report {
	report := ingest.Report{
		Attempt: b.assignment.Attempt, BotVersion: version,
		JoinedAt: b.joinedAt, AdmittedAt: b.admittedAt, LeftAt: b.leftAt,
		Parts: b.timeline.parts, Gaps: b.timeline.gaps,
		WithoutRecording: b.withoutRecording(),
		People:           people(b.admittedAt, b.leftAt),
	}
	for _, one := range b.said(b.clock.now()) {
		report.Speech = append(report.Speech, ingest.Speech{PersonID: one.Person, From: one.from, To: one.to})
	}
	if b.end != nil {
		report.EndReason, report.EndDetail = b.end.reason, b.end.detail
	}
	return report
}
