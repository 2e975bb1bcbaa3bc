package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/bot/report"
	"standin/internal/jobs/job"
	"standin/internal/operation/host"
	"standin/internal/recording"
)

// reportInterval is how often the report is saved when nothing else saves it.
const reportInterval = 10 * time.Second

// session is the bot's time in the meeting with one browser. A single loop
// handles every event of it; slow work runs on the queues of the page and of
// the recording, so that a leave command is never blocked.
type session struct {
	*shared
	number   int
	timeouts Timeouts

	page        *meetingPage
	recording   *recordingSession
	faults      *mediaFaults
	speaker     *speaker
	camera      *display
	screen      *display // the shared one
	people      peopleReader
	screenshots *screenshots
	wasAdmitted bool
	reportedAt  time.Time
}

// loop joins the meeting, and handles events until one ends the session.
func (s *session) loop(ctx context.Context) exitResult {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.joining.start(ctx, s.page, s.number)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		end := s.next(ctx, ticker.C)
		switch {
		case end == nil:
		case ctx.Err() != nil && (end.retry || end.reason == ""):
			return *shutdown() // the failure is a result of the cancellation
		default:
			return *end
		}
	}
}

// next handles one event.
func (s *session) next(ctx context.Context, tick <-chan time.Time) *exitResult {
	select {
	case <-ctx.Done():
		return shutdown()
	case <-s.client.Done():
		return superseded(s.client.Termination())
	case command := <-s.client.Commands():
		return s.commands.accept(ctx, command, s)
	case speech := <-s.sound.Speeches():
		s.speaker.playLive(ctx, speech, ingest.OutputStream)
		return nil
	case call := <-s.page.calls:
		call(ctx)
		return nil
	case err := <-s.speaker.queue.done:
		return s.speaker.queue.finish(ctx, err)
	case err := <-s.screenshots.queue.done:
		return s.screenshots.queue.finish(ctx, err)
	case err := <-s.camera.queue.done:
		return s.camera.queue.finish(ctx, err)
	case err := <-s.screen.queue.done:
		return s.screen.queue.finish(ctx, err)
	case err := <-s.page.pageQueue.done:
		return s.page.pageQueue.finish(ctx, err)
	case err := <-s.recording.recordingQueue.done:
		return s.recording.recordingQueue.finish(ctx, err)
	case snapshot := <-s.page.snapshots:
		return s.handleSnapshot(ctx, snapshot)
	case <-s.page.gone:
		return pageFailed(s.page.browser.Err())
	case <-s.page.crashed:
		return pageFailed(browser.ErrPageCrashed)
	case <-s.recording.ended():
		err := s.recording.recorder.Err()
		if errors.Is(err, recorder.ErrStreamsMissing) {
			end := s.recording.updateStreams()
			s.recording.endPart(nil, recording.GapNotRecording)
			s.recording.start(ctx)
			return end
		}
		s.recording.endPart(err, recording.GapMediaLost)
		if browserLost(err) {
			return pageFailed(err)
		}
		if err == nil {
			err = errors.New("the recorder ended unexpectedly")
		}
		return s.recording.handleFailure(ctx, err)
	case <-tick:
		return s.check(ctx, time.Now())
	}
}

// handleSnapshot updates the session from a page snapshot.
func (s *session) handleSnapshot(ctx context.Context, snap snapshot) *exitResult {
	if snap.err != nil {
		if ctx.Err() == nil {
			s.log.Debug("cannot read the page", "error", snap.err)
		}
		return nil
	}
	if s.page.phase == phaseJoining {
		s.page.last.at = snap.at
		return nil // the task that joins reads the page itself
	}
	s.page.update(snap)
	s.events.AddScreen(snap.seen.Decision(s.clock.Convert(snap.at)))
	s.page.handleNotices(ctx)
	if s.page.phase == phaseAdmitted {
		return s.handleMeeting(ctx, snap)
	}
	admission, end := s.joining.handleSnapshot(snap)
	if admission != nil {
		end = s.admit(ctx, snap, admission)
	}
	return end
}

// admit starts recording, or continues after a rejoin.
func (s *session) admit(ctx context.Context, snap snapshot, admission *meeting.AdmissionProof) *exitResult {
	s.page.phase, s.page.admission, s.page.home, s.wasAdmitted = phaseAdmitted, admission, snap.host, true
	s.policy.admit(snap.at)
	s.recording.state.suspended = false
	s.report.SetAdmitted(snap.at)
	if end := s.events.emitOrExit(job.BotInMeeting, nil); end != nil {
		return end
	}
	s.consent.admit(ctx, s.page)
	s.recording.start(ctx)
	s.own.admit(ctx, s)
	deferred := s.commands.deferred
	s.commands.deferred = nil
	for _, command := range deferred {
		if end := s.commands.execute(ctx, command, s); end != nil {
			return end
		}
	}
	return s.handleMeeting(ctx, snap)
}

// handleMeeting updates an admitted session from a page snapshot.
func (s *session) handleMeeting(ctx context.Context, snap snapshot) *exitResult {
	s.texts.Add(snap.seen.Texts, s.clock.Convert, s.recording.keepsTexts() || s.recording.running()) // without those of a pause
	switch snap.seen.Screen {
	case meeting.Removed, meeting.Ended:
		// If something was recorded, the reason makes the job a success.
		code, detail, _ := snap.seen.Failure()
		reason := report.ReasonHostEnded
		switch {
		case snap.seen.Revoked:
			reason, code = report.ReasonRevoked, job.RecordingDisabled
		case snap.seen.Screen == meeting.Removed:
			reason = report.ReasonRemoved
		}
		return &exitResult{reason: reason, code: code, detail: detail}
	case meeting.InMeeting:
		// Nobody speaks while the meeting is silent. The marks of the page count while the capture is
		// known to be faulty, or the page receives sound.
		stats, monitored := s.recording.audioStats()
		speakers := withMarked(snap.seen, stats, monitored)
		if !s.faults.soundFaulty() && snap.at.Sub(s.page.soundAt) >= maxSpeechSilence {
			speakers = withoutSilent(speakers, stats, monitored)
		}
		s.report.UpdateRoster(speakers, snap.seen.SpeechSources, snap.at)
		s.sound.UpdateSpeaking(speakers, s.report.NameOf)
		s.report.UpdatePlayed(snap.seen.TrackOwners)
		if page, ok := s.recording.recorder.(*recorder.Recorder); ok && s.recording.settings.Streams {
			owners := make(map[string]string)
			for _, track := range snap.seen.TrackOwners {
				owners[track.Track] = track.ParticipantID
			}
			page.SetOwners(owners)
		}
		s.sound.UpdateOwners(snap.seen.TrackOwners, s.report.NameOf)
		s.texts.Update(snap.seen, s.clock.Convert(snap.at), s.recording.keepsTexts())
		s.textOpener.show(ctx, s.page, snap.at)
		s.people.read(ctx, s.page, snap.at)
		s.speaker.handleSnapshot(ctx, snap)
		s.camera.handleSnapshot(ctx, snap)
		s.screen.handleSnapshot(ctx, snap)
		if snap.measured && s.recording.running() {
			s.recording.gaps.handleMeasured(s.recording, snap.at, snap.inbound)
		}
		if end := s.faults.handleSnapshot(ctx, snap); end != nil {
			return end
		}
	}
	if end := s.policy.handleSnapshot(snap); end != nil {
		return end
	}
	answered, end := s.consent.handleSnapshot(ctx, s.page, snap.seen)
	if answered && end == nil {
		s.recording.start(ctx)
	}
	return end
}

// check ends or recovers a session in which something has taken too long.
func (s *session) check(ctx context.Context, now time.Time) *exitResult {
	if step := s.clock.DetectStep(now, time.Now()); step != 0 {
		s.log.Warn("the machine's clock was set; events and reports keep the old time", "step", step)
	}
	if end := s.policy.checkMaximum(now); end != nil {
		return end
	}
	// Pictures of the page are taken before the meeting, and while its words are kept. A bot that
	// needs permission takes none without it, not even in the lobby: a host may admit it at any moment.
	if s.client.Watched() && s.consent.allowsRecording() && (s.page.phase != phaseAdmitted || s.recording.keepsTexts()) {
		s.screenshots.take(ctx, now)
	}
	if s.page.phase == phaseJoining {
		return nil
	}
	s.recording.updateSound()
	if end := s.recording.updateStreams(); end != nil {
		return end
	}
	stats, ok := s.recording.audioStats()
	audio := audioStatus{
		last: s.recording.state.lastAudio, received: s.page.soundAt, monitored: ok && now.Sub(stats.LastReportAt) <= maxPulseAge,
	}
	heard := s.page.phase == phaseAdmitted && now.Sub(audio.last) < s.timeouts.Unresponsive
	if end := s.page.checkResponsive(now, heard, host.Waiting); end != nil {
		return end
	}
	if s.page.phase == phaseWaiting {
		if end := s.joining.checkEntryDelay(now, s.page); end != nil {
			return end
		}
		return s.recover(ctx, now, true)
	}
	audio.faulty = s.faults.soundFaulty()
	s.client.SetRecordedDuration(s.recording.length())
	s.client.SetRoster(s.report.Present())
	if now.Sub(s.reportedAt) >= reportInterval {
		s.reportedAt = now
		if err := s.report.Save(); err != nil {
			s.log.Error("cannot save the report", "error", err)
		}
		s.recording.monitorAudio(ctx)
		if store := s.recording.spool; s.recording.state.full && store.HasSpace(min(resumeSpace, store.Limit()/4)) {
			s.log.Info("the spool has space again") // uploads make space
			s.recording.state.full = false
			s.recording.start(ctx)
		}
	}
	alive := s.page.last.connected || !audio.last.IsZero() && now.Sub(audio.last) < s.timeouts.Unknown
	if end := s.recover(ctx, now, alive); end != nil || s.page.phase != phaseAdmitted {
		return end
	}
	s.checkScreen(ctx, now, audio)
	if due := s.recording.state.retryAt; !due.IsZero() && !now.Before(due) { // after a failure
		s.recording.start(ctx)
	}
	s.speaker.check(ctx, now)
	if end := s.consent.check(ctx, s.page, now); end != nil {
		return end
	}
	return s.policy.check(now, audio)
}

// checkScreen stops the recording within seconds while the page shows no meeting,
// and saves a capture of the page. Recording continues when the meeting is shown
// again; otherwise recover ends the session.
func (s *session) checkScreen(ctx context.Context, now time.Time, audio audioStatus) {
	lost := s.page.showsNoMeeting(now, audio.last)
	switch {
	case lost == s.recording.state.suspended:
	case lost:
		s.log.Warn("the page shows no meeting; the recording stops", "screen", s.page.last.seen.Screen, "evidence", s.page.last.seen.Evidence)
		s.recording.state.suspended = true
		s.diagnostics.saveLater(ctx, s.page, s.page.describeTrouble(now))
		s.recording.interrupt(ctx, "unknown_screen")
	case s.page.health.state == statePreJoin || s.page.health.state == stateLobby: // recover joins again
	default:
		s.log.Info("the page shows the meeting again")
		s.recording.state.suspended = false
		s.recording.start(ctx)
	}
}

// recover acts on a page that left the meeting or its lobby.
func (s *session) recover(ctx context.Context, now time.Time, alive bool) *exitResult {
	switch s.page.health.recovery(now, s.timeouts, alive) {
	case rejoinSamePage:
		return s.rejoin(ctx, report.ReasonConnection, "The page was reloaded.")
	case waitInLobby:
		if s.page.phase == phaseAdmitted {
			return s.rejoin(ctx, report.ReasonRemoved, "The bot was moved back to the lobby.")
		}
	case rejoinNewBrowser:
		if seen := s.page.last.seen; s.page.phase == phaseAdmitted && seen.Closed {
			return &exitResult{
				reason: report.ReasonHostEnded, code: job.MeetingEnded, needsDiagnostics: true,
				detail: "The page closed the call, and says why in words that the bot does not know.",
			}
		}
		return disconnected(s.page.describeTrouble(now))
	}
	return nil
}

// rejoin joins again in the same page, or waits in its lobby if the bot was
// removed. What was recorded is kept; recording continues on admission.
func (s *session) rejoin(ctx context.Context, reason, detail string) *exitResult {
	wasAdmitted := s.page.phase == phaseAdmitted
	if wasAdmitted {
		s.interrupted = exitResult{reason: reason, detail: detail}
	}
	others, ok := s.rejoins.allow(time.Now())
	if !ok {
		return disconnected(fmt.Sprintf("%s This happened %d times within %s.", detail, others, rejoinWindow))
	}
	s.log.Warn("rejoining in the same page", "reason", detail)
	s.page.phase, s.page.admission = phaseJoining, nil
	if wasAdmitted {
		s.recording.interrupt(ctx, "rejoining")
	}
	s.speaker.leave(ctx)
	s.camera.leave(ctx)
	s.screen.leave(ctx)
	s.page.pageQueue.clear(ctx)
	if reason == report.ReasonRemoved {
		s.joining.requestedAt = time.Now()
		s.page.startWaiting(ctx, s.joining.requestedAt)
	} else {
		s.joining.join(ctx, s.page)
	}
	return nil
}

// close leaves the meeting and ends the recording, both at once, as far as the
// browser still allows it. It returns end with what was found out meanwhile.
func (s *session) close(ctx context.Context, end exitResult) exitResult {
	ended, cancel := context.WithCancel(ctx)
	cancel() // tasks see that the session has ended
	s.speaker.queue.close(ended)
	s.screenshots.queue.close(ended)
	final := !end.retry && !mayContinue(end.reason) // as in Run
	s.camera.close(ended, final)
	s.screen.close(ended, final)
	s.page.pageQueue.close(ended)
	s.texts.Report(s.page.last.seen.Participants)
	if s.page.way != nil {
		if s.page.tab != nil && (end.needsDiagnostics || s.page.last.seen.Decision(s.page.last.at).Weak()) {
			end = s.diagnostics.save(ctx, s.page, end)
		}
		var leaving sync.WaitGroup
		// A dead page cannot be left by its own button, and one that shows an end has none.
		responsive := s.page.snapshots == nil || time.Since(s.page.last.at) < s.timeouts.Unresponsive
		// A stream that was closed cannot be joined again.
		leaves := end.reason != report.ReasonBrowserLost && responsive && (final || s.page.tab != nil)
		if leaves && !s.page.last.seen.Screen.Terminal() {
			leaving.Go(func() { s.page.leave(ctx) })
		}
		s.recording.recordingQueue.close(ended)
		s.recording.close(ctx, end)
		if !end.retry && s.report.HasRecording() { // else another browser may continue
			if err := s.events.Emit(job.BotRecordingStopped, nil); err != nil {
				s.log.Error("cannot report that the recording stopped", "error", err)
			}
		}
		leaving.Wait()
		s.page.polling.Wait()
		if s.wasAdmitted {
			s.report.SetLeft(time.Now(), end.end())
			if end.retry && end.reason != "" {
				s.interrupted = end
			}
			if o := s.joining.opener; o.account != "" {
				cookies, err := s.page.browser.Cookies(ctx)
				if err != nil {
					s.log.Warn("cannot read the cookies of the account", "error", err)
				} else { // the meeting may have changed them
					o.signIn.Cookies = cookies
				}
			}
		}
		if err := s.page.way.Close(); err != nil {
			s.log.Warn("cannot close the browser", "error", err)
		}
	}
	return end
}
