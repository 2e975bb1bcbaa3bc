package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"standin/internal/base/retry"
	"standin/internal/bot/browser"
	"standin/internal/bot/browser/network"
	"standin/internal/bot/meeting"
	"standin/internal/bot/report"
	"standin/internal/bot/rtms"
	"standin/internal/jobs/job"
	"standin/internal/launch"
)

// joining takes the bot from a new browser to the meeting.
type joining struct {
	log        *slog.Logger
	opener     *opener
	report     *report.Report
	clock      *report.Clock
	events     events
	startedAt  time.Time // start of the bot
	joinAt     time.Time
	entryDelay time.Duration

	requestedAt time.Time           // when joining was requested; zero while admitted
	waited      meeting.Observation // the last one of a wait: for the host, or in the lobby
}

// start opens a browser on the meeting's page and joins.
func (j *joining) start(ctx context.Context, page *meetingPage, session int) {
	var chromium *browser.Browser
	var tab *browser.Page
	var streams *rtms.Meeting
	page.pageQueue.add(ctx, task{
		timeout: browserStartTimeout + page.timeouts.Open + max(0, time.Until(j.joinAt)),
		do: func(ctx context.Context) (err error) {
			if j.opener.settings.Platform != job.ZoomSDK {
				chromium, tab, err = j.opener.open(ctx, session, j.waitForJoinTime)
				return err
			}
			settings, r := j.opener.settings, j.opener.settings.Recording
			streams = rtms.New(rtms.Settings{
				Stream: *settings.ZoomStream, Chat: r.Chat == launch.TextsOn, Captions: r.Captions == launch.TextsOn,
				Language: r.CaptionsLanguage, Height: r.Picture.Height, FramesPerSecond: r.FrameRate,
				Backlog:  !settings.RequirePermission && !settings.withoutRecording(),
				Loopback: settings.LoopbackPeers, OwnHosts: settings.OwnHosts, Log: j.log,
			})
			return j.waitForJoinTime(ctx)
		},
		onDone: func(ctx context.Context, err error) *exitResult {
			if err != nil {
				end := internalError(err)
				end.retry = true
				refused, blocked := errors.AsType[*browser.NavigationBlockedError](err)
				signIn, unsigned := errors.AsType[*signInError](err)
				switch {
				case blocked && meeting.IsHomePage(refused.Host):
					end.code = job.NetworkLoss
					end.detail = fmt.Sprintf("The platform sent the bot to its home page, %s, instead of the meeting.", refused.Host)
				case unsigned:
					return failed(job.AuthFailure, signIn.Error())
				case blocked:
					return failed(job.MeetingNotFound, fmt.Sprintf(
						"The meeting's address leads to %s, which does not belong to a meeting platform. "+
							"If you trust it, add it to %s.", refused.Host, network.AllowedHostsSetting))
				case errors.As(err, new(*browser.NavigationError)):
					end.code = job.NetworkLoss
				}
				return end
			}
			if page.way = streams; streams != nil {
				j.opener.adapter = streams
			} else {
				page.browser, page.tab, page.way = chromium, tab, browserWay{chromium, tab, j.opener.settings.startRecorder}
				page.gone, page.crashed = chromium.Done(), tab.Crashed()
			}
			page.adapter = j.opener.adapter
			j.join(ctx, page)
			return nil
		},
	})
}

// waitForJoinTime waits, with the browser ready, until the bot may open the
// meeting's page, and emits bot_joined. The event carries how long the bot took
// to be ready, so that the service can start later bots in time.
func (j *joining) waitForJoinTime(ctx context.Context) error {
	data := map[string]int64{"readyMs": time.Since(j.startedAt).Milliseconds()}
	if early := time.Until(j.joinAt); early > 0 {
		j.log.Info("ready before the join time", "early", early.Round(time.Millisecond))
		if err := retry.Sleep(ctx, early); err != nil {
			return err
		}
	}
	return j.events.Emit(job.BotJoined, data)
}

// join presses the join button and starts to wait for admission.
func (j *joining) join(ctx context.Context, page *meetingPage) {
	page.phase, page.admission = phaseJoining, nil
	var decisions []meeting.Decision // only the task changes it until it is done
	observed := func(o meeting.Observation) {
		page.seen.Add(o)
		decision := o.Decision(j.clock.Convert(time.Now()))
		if last := len(decisions) - 1; last < 0 || !decision.SameAs(decisions[last]) {
			decisions = append(decisions, decision)
		}
	}
	page.pageQueue.add(ctx, task{
		timeout: page.timeouts.Join,
		do: func(ctx context.Context) error {
			return j.opener.join(ctx, page.tab, meeting.JoinOptions{
				Name: page.displayName, Passcode: j.opener.address.Passcode, Observed: observed,
			})
		},
		onDone: func(ctx context.Context, err error) *exitResult {
			for _, decision := range decisions {
				j.events.AddScreen(decision)
			}
			if err != nil {
				return joinFailed(err, page)
			}
			now := time.Now()
			if j.requestedAt.IsZero() {
				j.requestedAt = now
			}
			j.report.SetJoined(now)
			page.startWaiting(ctx, now)
			return nil
		},
	})
}

// joinFailed returns the result for a join button that was not reached.
func joinFailed(err error, page *meetingPage) *exitResult {
	if errors.Is(err, meeting.ErrHomePage) {
		return &exitResult{
			code: job.NetworkLoss, retry: true, detail: "The platform sent the bot to its home page instead of the meeting.",
		}
	}
	screen, ok := errors.AsType[*meeting.ScreenError](err)
	if !ok {
		return pageFailed(err)
	}
	page.last.seen = screen.Observation
	code, detail, ok := page.last.seen.Failure()
	if !ok {
		return pageFailed(err)
	}
	end := failed(code, detail)
	end.retry = page.last.seen.Screen == meeting.CannotConnect
	if screen.Cause != nil {
		end.detail += fmt.Sprintf(" The bot did not reach the join button within %s.", page.timeouts.Join)
	}
	end.needsDiagnostics = !page.last.seen.Screen.Terminal()
	return end
}

// handleSnapshot handles what the page shows before admission, and returns the
// proof when the bot was admitted.
func (j *joining) handleSnapshot(s snapshot) (admission *meeting.AdmissionProof, end *exitResult) {
	switch screen := s.seen.Screen; {
	case screen == meeting.Lobby || screen == meeting.HostAbsent:
		j.waited = s.seen
		return nil, j.events.emitOrExit(job.BotEnteringLobby, nil)
	case screen == meeting.InMeeting:
		if admission = s.seen.Admission(j.clock.Convert(s.at)); admission != nil {
			j.requestedAt, j.waited = time.Time{}, meeting.Observation{}
		}
		return admission, nil
	case screen.Terminal() && screen != meeting.CannotConnect:
		code, detail, _ := s.seen.Failure()
		return nil, failed(code, detail)
	}
	return nil, nil
}

// checkEntryDelay ends a session that was not admitted within the job's entry
// delay.
func (j *joining) checkEntryDelay(now time.Time, page *meetingPage) *exitResult {
	if now.Sub(j.requestedAt) < j.entryDelay {
		return nil
	}
	seen, screen := page.last.seen, page.last.seen.Screen
	if j.waited.Screen != "" && (screen == meeting.Unknown || screen == meeting.PreJoin) {
		seen = j.waited // it says more than the last one
	}
	code, detail, ok := seen.Failure()
	if !ok {
		code, detail = job.LobbyTimeout, "Nobody admitted the bot."
	}
	end := failed(code, fmt.Sprintf("%s It waited %d s.", detail, int(j.entryDelay.Seconds())))
	end.needsDiagnostics = screen == meeting.Unknown || screen == meeting.PreJoin
	return end
}
