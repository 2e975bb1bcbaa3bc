package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/launch/manual"
	"standin/internal/recording"
)

// death is how a bot ends that nobody told to leave its meeting.
type death struct {
	name     string
	manual   bool   // the launcher is manual, which sees no bots
	finalize bool   // recordings are finalized, and their manifests are checked
	reports  bool   // the bot has time to report that it was stopped
	reboot   bool   // the service ends with the bot, and starts again
	reason   string // what the launcher knows about it
	detected string // a part of the reason for another attempt, or for the end of the job
}

// deaths returns every way in which a bot is lost, on every launcher. The launchers
// for processes, Docker and Kubernetes all report a bot that has ended as gone.
func deaths() []death {
	const stopped, gone = "stopped from outside", "ended unexpectedly"
	return []death{
		{name: "SIGTERM, docker stop, drain", reports: true, detected: stopped},
		{name: "SIGKILL", detected: gone},
		{name: "out of memory", reason: "OOMKilled", detected: "OOMKilled"},
		{name: "evicted", reports: true, reason: "Evicted: the node was low on memory", detected: "Evicted"},
		{name: "reboot", reboot: true, detected: gone},
		{name: "SIGTERM, launcher manual", manual: true, reports: true, detected: stopped},
		{name: "SIGKILL, launcher manual", manual: true, finalize: true, detected: "heartbeat"},
	}
}

// moment is a state in which a bot is lost, with the expected outcome.
type moment struct {
	name   string
	events []job.Trigger // that the bot reported before
	end    string        // the end reason that it reported; empty while the meeting goes on

	again   bool            // another attempt starts, where a launcher can start one
	code    job.FailureCode // of the failure without another attempt; empty: the recording is finalized
	partial bool            // the manifest of that recording says that something is missing
}

func moments() []moment {
	joined := []job.Trigger{job.BotJoined}
	admitted := append(slices.Clone(joined), job.BotEnteringLobby, job.BotInMeeting)
	recording := append(slices.Clone(admitted), job.BotRecordingStarted)
	stopped := append(slices.Clone(recording), job.BotRecordingStopped)
	return []moment{
		{name: "dispatching", again: true, code: job.DispatchTimeout},
		{name: "joining", events: joined, again: true, code: job.DispatchTimeout},
		{name: "in the lobby", events: admitted[:2], again: true, code: job.DispatchTimeout},
		{name: "in the meeting", events: admitted, again: true, code: job.NetworkLoss},
		{name: "recording", events: recording, again: true, partial: true},
		{name: "paused", events: append(slices.Clone(recording), job.BotRecordingPaused), again: true, partial: true},
		{name: "asking for permission", events: append(slices.Clone(recording), job.BotPermissionRequest), again: true, partial: true},
		{name: "recording stopped on command", events: stopped},
		{name: "the meeting over", events: append(slices.Clone(stopped), job.BotExited), end: "host_ended"},
	}
}

// TestLostBots checks the outcome of every way in which a bot is lost in every state:
// only the service ends a job, so another attempt starts while the meeting can go on.
// Where nobody can start one, what was recorded is finalized as partial.
func TestLostBots(t *testing.T) {
	t.Parallel()
	media := recorded(t)
	for _, d := range deaths() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.bots.reason = d.reason
			timeouts := dispatch.DefaultTimeouts()
			if d.manual {
				timeouts = timeouts.Manual()
			}
			change := func(s *dispatch.Settings) {
				s.Timeouts = timeouts
				if d.manual {
					s.Launcher = manual.Launcher{}
				}
				if !d.finalize {
					s.Recordings = h.noFinalizer()
				}
			}
			dispatcher, stop := h.run(t, change)
			jobs := make(map[string]uuid.UUID)
			for _, m := range moments() {
				id := h.launched(t)
				h.playBot(t, id, 0, m.events, m.end, media)
				jobs[m.name] = id
			}
			if d.reboot {
				stop()
			}
			for _, m := range moments() {
				if d.reports && m.end == "" {
					h.reportStop(t, jobs[m.name], 0, m.events)
				}
				if !d.manual {
					h.bots.setState(jobs[m.name], 0, launch.Gone)
				}
				if !d.manual && !d.reboot {
					dispatcher.BotStateChanged(t.Context(), jobs[m.name])
				}
			}
			switch {
			case d.reboot:
				h.run(t, change)
				h.at(h.clock.Now().Add(dispatch.DefaultLease))
			case d.manual && !d.reports:
				h.at(h.clock.Now().Add(timeouts.FirstHeartbeat))
			case d.manual:
				h.at(h.clock.Now().Add(timeouts.Teardown)) // the exit of the bot that had left was not its last word
			}
			for _, m := range moments() {
				h.checkOutcome(t, jobs[m.name], d, m)
			}
		})
	}
}

// noFinalizer finalizes nothing, which takes most of the time of a test. The manifests
// do not depend on the launcher.
func (h *harness) noFinalizer() salvager {
	return salvager{h.Finalizer, func(context.Context) error { return nil }}
}

// checkOutcome checks what became of a job whose bot was lost.
func (h *harness) checkOutcome(t *testing.T, id uuid.UUID, d death, m moment) {
	t.Helper()
	if m.again && !d.manual {
		r := h.untilLaunched(t, id, 1)
		if r.Status != job.Dispatching || r.Attempts != 2 || r.FailureCode != "" {
			t.Errorf("%s: %s after %d attempts (%s)", m.name, r.Status, r.Attempts, r.FailureCode)
		}
		if commands, err := h.Store.PendingCommands(t.Context(), id); err != nil ||
			(len(commands) == 1 && commands[0].Kind == ingest.PauseRecording) != (m.name == "paused") {
			t.Errorf("%s: commands for the next bot: %v (%v)", m.name, commands, err)
		}
		if reason := h.Data(t, id, job.AttemptStarted)[1]; !strings.Contains(reason, d.detected) {
			t.Errorf("%s: the reason for another attempt is %q, want %q in it", m.name, reason, d.detected)
		}
		return
	}
	r := h.untilCleanedUp(t, id)
	if m.code != "" {
		code := m.code
		if d.reports {
			code = job.InternalError // it is known that the bot was stopped
		}
		if r.Status != job.Failed || r.FailureCode != code || !strings.Contains(r.FailureDetail, d.detected) {
			t.Errorf("%s: %s with %s (%s), want failed with %s", m.name, r.Status, r.FailureCode, r.FailureDetail, code)
		}
		return
	}
	if r.Status != job.Completed || r.Attempts != 1 {
		t.Errorf("%s: %s after %d attempts (%s)", m.name, r.Status, r.Attempts, r.FailureDetail)
		return
	}
	if !d.finalize {
		return
	}
	if manifest := h.manifest(t, id); manifest.Partial != m.partial || len(manifest.Media) != 1 {
		t.Errorf("%s: partial is %t, with %d files: %+v", m.name, manifest.Partial, len(manifest.Media), manifest.Gaps)
	}
}

// TestStoppedBotIsContinued checks the recording of a job whose bot was stopped from
// outside, and whose next one stayed until the end: it is partial, with a gap.
func TestStoppedBotIsContinued(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d, _ := h.run(t)
	media := recorded(t)
	id := h.launched(t)
	began := h.clock.Now()
	recordingEvents := []job.Trigger{job.BotJoined, job.BotInMeeting, job.BotRecordingStarted}
	h.playBot(t, id, 0, recordingEvents, "", media)
	h.clock.Set(began.Add(time.Second))
	h.reportStop(t, id, 0, recordingEvents)
	h.untilLaunched(t, id, 1)
	h.clock.Set(began.Add(21 * time.Second))
	h.playBot(t, id, 1, recordingEvents, "", media)
	h.clock.Set(began.Add(22 * time.Second))
	h.uploadReport(t, id, 1, recordingEvents, "host_ended")
	h.sendEvent(t, id, 1, job.BotExited, `{"endReason":"host_ended"}`)
	d.Wake()
	r := h.untilCleanedUp(t, id)
	if r.Status != job.Completed || r.Attempts != 2 {
		t.Fatalf("%s after %d attempts: %s", r.Status, r.Attempts, r.FailureDetail)
	}
	m := h.manifest(t, id)
	if !m.Partial || m.End.Reason != "host_ended" || len(m.Gaps) != 1 || m.Gaps[0].Reason != recording.GapBotLost ||
		m.Gaps[0].EndMs != 21_000 {
		t.Errorf("partial %t, end %+v, gaps %+v", m.Partial, m.End, m.Gaps)
	}
	if names := h.eventNames(t, id); slices.Contains(names, "recording_stopped") || slices.Contains(names, "failed") {
		t.Errorf("webhooks: %v", names)
	}
}

// TestLostBotThatWasToLeave checks that no other bot joins after a bot was lost that the
// consumer had told to leave: the meeting is over for the consumer.
func TestLostBotThatWasToLeave(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d, _ := h.run(t, func(s *dispatch.Settings) { s.Recordings = h.noFinalizer() })
	for name, test := range map[string]struct {
		events []job.Trigger
		status job.Status
		code   job.FailureCode
	}{
		"recording":    {[]job.Trigger{job.BotJoined, job.BotInMeeting, job.BotRecordingStarted}, job.Completed, ""},
		"in the lobby": {[]job.Trigger{job.BotJoined, job.BotEnteringLobby}, job.Failed, job.MeetingEnded},
	} {
		id := h.launched(t)
		h.playBot(t, id, 0, test.events, "", recorded(t))
		if _, err := h.QueueCommand(t.Context(), h.Caller, id, ingest.LeaveCall, nil); err != nil {
			t.Fatal(err)
		}
		h.lose(t, d, id, 0)
		if r := h.untilCleanedUp(t, id); r.Status != test.status || r.FailureCode != test.code || r.Attempts != 1 {
			t.Errorf("%s: %s %s after %d attempts (%s)", name, r.Status, r.FailureCode, r.Attempts, r.FailureDetail)
		}
	}
}

// TestDrainedBots checks that a job outlives more drains of nodes than it has attempts
// for bots that fail.
func TestDrainedBots(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d, _ := h.run(t)
	id := h.create(t, time.Time{})
	for attempt := range dispatch.DefaultTimeouts().MaxAttempts + 1 {
		h.untilLaunched(t, id, attempt)
		h.reportStop(t, id, attempt, nil)
		h.lose(t, d, id, attempt)
	}
	if r := h.untilLaunched(t, id, dispatch.DefaultTimeouts().MaxAttempts+1); r.Status != job.Dispatching {
		t.Errorf("the job is %s (%s)", r.Status, r.FailureDetail)
	}
}

// TestServiceStopsBot checks that the end that the service decided on stands when the
// bot that it stops reports that it was stopped.
func TestServiceStopsBot(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.reportStops(t)
	h.run(t, func(s *dispatch.Settings) { s.Timeouts.Heartbeat = 1000 * time.Hour })
	id := h.create(t, time.Time{})
	r := h.untilLaunched(t, id, 0)
	h.playBot(t, id, 0, []job.Trigger{job.BotInMeeting, job.BotRecordingStarted}, "", recorded(t))
	after := time.Duration(r.AutoLeave.AfterEntryDelaySeconds+r.AutoLeave.AfterMaxSeconds)*time.Second + dispatch.DefaultTimeouts().Meeting
	h.at(r.AttemptStartedAt.Add(after))
	if r := h.untilCleanedUp(t, id); r.Status != job.Completed || r.Attempts != 1 {
		t.Errorf("%s after %d attempts: %s", r.Status, r.Attempts, r.FailureDetail)
	}
}

// playBot sends the events of a bot, and uploads what it recorded before them.
func (h *harness) playBot(t *testing.T, id uuid.UUID, attempt int, events []job.Trigger, end string, media []byte) {
	t.Helper()
	if slices.Contains(events, job.BotRecordingStarted) {
		h.Upload(t, id, attempt, ingest.SegmentName(0, 0), media)
		h.uploadReport(t, id, attempt, events, end)
	}
	for _, kind := range events {
		data := ""
		switch kind {
		case job.BotRecordingStopped:
			h.clock.Advance(time.Second)
		case job.BotExited:
			data = fmt.Sprintf(`{"endReason":%q}`, end)
		}
		h.sendEvent(t, id, attempt, kind, data)
	}
}

// reportStop does what a bot does whose process is asked to stop.
func (h *harness) reportStop(t *testing.T, id uuid.UUID, attempt int, events []job.Trigger) {
	t.Helper()
	if slices.Contains(events, job.BotRecordingStarted) {
		h.uploadReport(t, id, attempt, events, ingest.EndStopped)
	}
	h.sendEvent(t, id, attempt, job.BotExited, `{"endReason":"bot_stopped","detail":"The bot's process was asked to stop."}`)
}

// uploadReport uploads the report of a bot that has recorded one second. The bot has
// left if end is not empty.
func (h *harness) uploadReport(t *testing.T, id uuid.UUID, attempt int, events []job.Trigger, end string) {
	t.Helper()
	began := h.Record(t, id).LaunchedAt
	if attempt > 0 {
		began = h.clock.Now().Add(-time.Second)
	}
	part := ingest.RecordingPart{StartedAt: began, Segments: 1}
	if end != "" || slices.Contains(events, job.BotRecordingStopped) {
		part.EndedAt, part.Complete = began.Add(time.Second), true
	}
	report := ingest.Report{Attempt: attempt, AdmittedAt: began, Parts: []ingest.RecordingPart{part}}
	if end != "" {
		report.LeftAt, report.EndReason = h.clock.Now(), end
	}
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	h.Upload(t, id, attempt, ingest.ReportName, text)
}
