package session

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/bot/report"
	"standin/internal/jobs/job"
)

// TestWaitForJoinTime waits once, and stops when the bot is asked to leave.
func TestWaitForJoinTime(t *testing.T) {
	t.Parallel()
	events := newTestEvents(t)
	synctest.Test(t, func(t *testing.T) {
		j := &joining{log: slog.New(slog.DiscardHandler), events: events, joinAt: time.Now().Add(5 * time.Second)}
		start := time.Now()
		for i := range 2 {
			if err := j.waitForJoinTime(t.Context()); err != nil || time.Since(start) != 5*time.Second {
				t.Errorf("call %d returns after %s (%v)", i, time.Since(start), err)
			}
		}
		j.joinAt = time.Now().Add(time.Hour)
		leaving, cancel := context.WithCancel(t.Context())
		cancel()
		if err := j.waitForJoinTime(leaving); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled, it returns %v", err)
		}
	})
}

// TestJoiningSnapshots: only the meeting's screen admits, and a screen that ends
// the visit ends the session.
func TestJoiningSnapshots(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	for screen, want := range map[meeting.Screen]struct {
		admitted bool
		code     job.FailureCode
	}{
		meeting.Lobby: {}, meeting.HostAbsent: {}, meeting.Unknown: {}, meeting.Reconnecting: {}, meeting.CannotConnect: {},
		meeting.InMeeting: {admitted: true},
		meeting.Ended:     {code: job.MeetingEnded}, meeting.LobbyTimedOut: {code: job.LobbyTimeout}, meeting.Denied: {
			code: job.HostDeniedAdmission,
		},
	} {
		j := &joining{log: log, events: newTestEvents(t), clock: report.NewClock(), requestedAt: after(0)}
		proof := []meeting.Evidence{{Weight: 1}, {Weight: 1}}
		admission, end := j.handleSnapshot(snapshot{seen: meeting.Observation{Screen: screen, Reasons: proof}})
		admitted := admission != nil
		code := job.FailureCode("")
		if end != nil {
			code = end.code
		}
		if admitted != want.admitted || code != want.code || j.requestedAt.IsZero() != want.admitted {
			t.Errorf("%s: admitted %v, result %+v", screen, admitted, end)
		}
	}
}

// TestJoinFailed: a screen that ends joining has its failure code, and only a page that
// cannot connect is tried again.
func TestJoinFailed(t *testing.T) {
	t.Parallel()
	for screen, want := range map[meeting.Screen]job.FailureCode{
		meeting.NotFound: job.MeetingNotFound, meeting.BotWall: job.AuthFailure, meeting.CannotConnect: job.NetworkLoss,
		meeting.Ended: job.MeetingEnded,
	} {
		end := joinFailed(&meeting.ScreenError{Observation: meeting.Observation{Screen: screen}}, &meetingPage{})
		if end.code != want || end.retry != (screen == meeting.CannotConnect) || end.needsDiagnostics {
			t.Errorf("%s: %+v, want %s", screen, *end, want)
		}
	}
}

// TestNoAdmissionWithoutProof: the meeting's screen does not admit without enough
// evidence.
func TestNoAdmissionWithoutProof(t *testing.T) {
	t.Parallel()
	j := &joining{clock: report.NewClock(), requestedAt: after(0)}
	for _, evidence := range [][]meeting.Evidence{nil, {{Weight: 1}}, {{Weight: 2}, {Weight: -1}}} {
		seen := meeting.Observation{Screen: meeting.InMeeting, Reasons: evidence}
		if admission, end := j.handleSnapshot(snapshot{seen: seen}); admission != nil || end != nil || j.requestedAt.IsZero() {
			t.Errorf("admitted by %+v", evidence)
		}
	}
}

// TestEntryDelay: a bot on an unknown screen saves diagnostics.
func TestEntryDelay(t *testing.T) {
	t.Parallel()
	j := &joining{requestedAt: after(0), entryDelay: time.Minute}
	page := &meetingPage{last: snapshot{seen: meeting.Observation{Screen: meeting.Lobby}}}
	if end := j.checkEntryDelay(after(59), page); end != nil {
		t.Errorf("before the delay: %+v", end)
	}
	if end := j.checkEntryDelay(after(60), page); end == nil || end.code != job.LobbyTimeout || end.needsDiagnostics {
		t.Errorf("in the lobby: %+v", end)
	}
	page.last.seen.Screen = meeting.Unknown
	if end := j.checkEntryDelay(after(60), page); end == nil || end.code != job.InternalError || !end.needsDiagnostics {
		t.Errorf("on an unknown screen: %+v", end)
	}
}

// TestEntryDelayAfterWait: what the bot waited for counts when the page shows less at
// the end.
func TestEntryDelayAfterWait(t *testing.T) {
	t.Parallel()
	j := &joining{requestedAt: after(0), entryDelay: time.Minute, events: newTestEvents(t)}
	j.handleSnapshot(snapshot{seen: meeting.Observation{Screen: meeting.HostAbsent}})
	page := &meetingPage{last: snapshot{seen: meeting.Observation{Screen: meeting.PreJoin}}}
	if end := j.checkEntryDelay(after(60), page); end == nil || end.code != job.WaitingForHost {
		t.Errorf("the result is %+v", end)
	}
}

// joinedInTime checks that the bot did not join before the join time.
func joinedInTime(h *harness) {
	if joined := h.event(job.BotJoined); joined.EmittedAt.Before(h.settings.JoinAt) {
		h.Errorf("joined at %s, before %s", joined.EmittedAt, h.settings.JoinAt)
	}
}
