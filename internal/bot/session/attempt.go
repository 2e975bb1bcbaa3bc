package session

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"standin/internal/bot/captions"
	"standin/internal/bot/meeting"
	"standin/internal/bot/notetaker"
	"standin/internal/bot/output"
	"standin/internal/bot/report"
	"standin/internal/bot/serviceclient"
	"standin/internal/bot/sound"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
	"standin/internal/launch"
)

// attempt is one attempt of a job: a sequence of sessions, each with a new
// browser, until the meeting ends.
type attempt struct {
	shared
	settings  Settings
	spool     *spool.Spool
	opener    *opener
	recording *recordingState
	audio     *report.TrackSink
}

// shared is the state of an attempt that its sessions share, because it outlives a
// browser.
type shared struct {
	log         *slog.Logger
	client      *serviceclient.Client
	clock       *report.Clock
	report      *report.Report
	events      events
	joining     *joining
	commands    *commands
	consent     *consent
	policy      *leavePolicy
	diagnostics *diagnostics
	texts       *captions.Texts
	textOpener  *textOpener
	sound       *sound.Link
	own         *ownOutput
	rejoins     limit
	interrupted exitResult // what last took the bot out of the meeting
}

// newAttempt expects settings with defaults.
func newAttempt(settings Settings, store *spool.Spool, client *serviceclient.Client) *attempt {
	log := settings.Log
	clock := report.NewClock()
	observed := report.New(settings.Attempt, settings.Version, settings.withoutRecording(), store, clock)
	events := events{report.NewEmitter(log, client)}
	texts := captions.New(log, client, settings.DisplayName, settings.Recording.CaptionsLanguage)
	opener := newOpener(settings)
	opener.client = client
	diagnostics := &diagnostics{log: log, spool: store, clock: clock, opener: opener}
	consent := &consent{log: log, events: events, required: settings.RequirePermission, timeout: settings.PermissionTimeout}
	return &attempt{
		shared: shared{
			log: log, client: client, clock: clock, report: observed, events: events,
			joining: &joining{
				log: log, opener: opener, report: observed, clock: clock, events: events,
				startedAt: time.Now(), joinAt: settings.JoinAt, entryDelay: seconds(settings.AutoLeave.AfterEntryDelaySeconds),
			},
			commands:    &commands{log: log, ack: client.Ack, consent: consent, report: observed},
			consent:     consent,
			policy:      newLeavePolicy(settings.AutoLeave, events),
			diagnostics: diagnostics,
			texts:       texts,
			textOpener: &textOpener{
				log: log, texts: texts, events: events, report: observed, diagnostics: diagnostics, wanted: meeting.TextOptions{
					Chat: settings.Recording.Chat == launch.TextsOn, Captions: settings.Recording.Captions == launch.TextsOn,
					Language: settings.Recording.CaptionsLanguage,
				},
			},
			sound:   sound.New(sound.Settings{Dial: client.DialSound, Clock: clock.Convert, Log: log}),
			own:     &ownOutput{options: settings.Recording.OutputOptions},
			rejoins: limit{max: settings.Timeouts.MaxRejoins, window: rejoinWindow},
		},
		settings: settings, spool: store, opener: opener,
		recording: &recordingState{disabled: settings.withoutRecording()},
		audio:     report.NewTrackSink(log, observed),
	}
}

// run runs sessions until one ends the attempt.
func (a *attempt) run(ctx context.Context) exitResult {
	defer func() {
		if ctx.Err() == nil { // else nothing is packed
			a.recording.encoding.Wait()
		}
	}()
	known, err := notetaker.Load(a.settings.Profiles)
	if err != nil {
		return *internalError(err)
	}
	a.policy.notetakers, a.policy.ownName = known.Without(a.settings.DisplayName), a.settings.DisplayName
	defer a.opener.close()
	if end := a.opener.prepare(ctx); end != nil {
		if ctx.Err() != nil {
			return *shutdown() // the failure is a result of the cancellation
		}
		return *end
	}
	started, number := time.Now(), 0
	defer func() { a.opener.returnAccount(ctx, !a.policy.firstAdmitted.IsZero(), number) }()
	for ; ; number++ {
		page := newMeetingPage(a.log, a.settings.Timeouts, a.settings.DisplayName, a.commands.settle)
		if page.layout = a.settings.Recording.Layout; a.settings.audioOnly() {
			page.layout = job.LayoutPage // nothing is seen of another one
		}
		recorded := a.settings.recorder()
		recorded.Log, recorded.AllowAddress, recorded.LiveSound, recorded.Tracks = a.log, a.opener.egress.Allow, a.sound, a.audio
		if a.settings.Recording.ParticipantAudio == launch.ParticipantAudioOn {
			recorded.ParticipantAudio = a.audio
		}
		s := &session{shared: &a.shared, number: number, timeouts: a.settings.Timeouts, page: page, recording: &recordingSession{
			log: a.log, page: page, spool: a.spool, report: a.report, events: a.events, settings: recorded,
			consent: a.consent, state: a.recording, sound: a.sound,
			recordingQueue: taskQueue{settle: a.commands.settle},
		}}
		s.faults = newMediaFaults(s.recording)
		s.screenshots = &screenshots{log: a.log, page: page, send: a.client.SendScreenshot}
		s.speaker = &speaker{pageDevice: a.newDevice(page, meeting.Microphone), recording: s.recording}
		s.speaker.queue.settle = s.speaker.settle
		s.camera = a.newDisplay(page, s.speaker, meeting.Camera, output.Camera)
		s.screen = a.newDisplay(page, s.speaker, meeting.ScreenShare, output.SharedScreen)
		end := s.close(context.WithoutCancel(ctx), s.loop(ctx))
		if a.mayJoinSignedIn(ctx, &end) {
			continue
		}
		if !end.retry || end.final || ctx.Err() != nil {
			return a.conclude(end)
		}
		pause, ok := a.mayRejoin(time.Now(), started)
		if !ok {
			return a.conclude(end)
		}
		a.log.Warn("rejoining with a new browser", "reason", end.detail, "pause", pause)
		if other := a.wait(ctx, pause); other != nil {
			return a.conclude(*other)
		}
	}
}

// mayJoinSignedIn reports whether a bot that was refused as a guest has an account now, to join with a new
// browser. It adds to end why it has none.
func (a *attempt) mayJoinSignedIn(ctx context.Context, end *exitResult) bool {
	if end.code != job.AuthFailure || a.opener.account != "" || ctx.Err() != nil || !a.policy.firstAdmitted.IsZero() {
		return false
	}
	reason := a.opener.signInAs(ctx, end.detail)
	if a.opener.account == "" {
		end.detail = strings.TrimSpace(end.detail + " " + reason)
		return false
	}
	a.joining.requestedAt, a.joining.waited = time.Time{}, meeting.Observation{}
	return true
}

// mayRejoin counts a rejoin and returns the pause before it; false if the limit
// is reached.
func (a *attempt) mayRejoin(now, started time.Time) (pause time.Duration, ok bool) {
	if a.policy.firstAdmitted.IsZero() && now.Sub(started) > maxRetryBeforeAdmission {
		return 0, false
	}
	others, ok := a.rejoins.allow(now)
	return a.settings.Timeouts.pauseBefore(others), ok
}

// wait waits between two sessions. It returns nil unless the attempt ends.
func (a *attempt) wait(ctx context.Context, pause time.Duration) *exitResult {
	due := time.After(pause)
	for {
		select {
		case <-due:
			return a.policy.checkMaximum(time.Now())
		case <-ctx.Done():
			return shutdown()
		case <-a.client.Done():
			return superseded(a.client.Termination())
		case command := <-a.client.Commands():
			if end := a.commands.acceptEarly(command); end != nil {
				return end
			}
		}
	}
}

// conclude returns how the attempt ended. If the last session was not admitted
// but an earlier one was, the attempt ended for the reason that took the bot out
// of the meeting, whatever the page showed to the bot that came back.
func (a *attempt) conclude(end exitResult) exitResult {
	if end.command != nil {
		a.commands.settle(*end.command, nil) // the meeting was left
	}
	if end.code == job.AuthFailure {
		end.detail = strings.TrimSpace(end.detail + " " + a.opener.signIn.Advice(a.settings.Platform))
	}
	lost := exitResult{reason: a.interrupted.reason, code: a.interrupted.code}
	lost.detail = a.interrupted.detail + " Rejoining failed: " + end.detail
	if a.report.HasResult() {
		if end.reason == "" {
			lost.reason, lost.code = cmp.Or(lost.reason, report.ReasonConnection), ""
			end = lost
		}
		a.report.SetEnd(end.end())
	} else if end.reason == "" && lost.code != "" {
		end = lost
	}
	if err := a.consent.emitAnswer(consentAnswer{timedOut, "The bot left before the host answered."}); err != nil {
		a.log.Error("cannot answer the request for permission", "error", err)
	}
	return end
}
