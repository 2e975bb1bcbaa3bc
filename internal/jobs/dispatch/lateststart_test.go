package dispatch_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar"
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/launch"
)

// at returns a change of a request: its joinAt, and startBefore unless that is zero.
func at(joinAt, startBefore time.Time) func(*lifecycle.NewJob) {
	return func(r *lifecycle.NewJob) { r.JoinAt, r.Options.StartBefore = joinAt, job.Timestamp(startBefore) }
}

// untilTooLate waits until the job has failed because its latest start has passed.
func (h *harness) untilTooLate(t *testing.T, id uuid.UUID, detail string) {
	t.Helper()
	r := h.until(t, id, "failed", func(r job.Record) bool { return r.Status == job.Failed })
	if r.FailureCode != job.DispatchTimeout || !strings.Contains(r.FailureDetail, detail) {
		t.Errorf("failed with %s: %s, want %s", r.FailureCode, r.FailureDetail, detail)
	}
}

// TestLatestStart checks which jobs start when the service was down at their joinAt.
func TestLatestStart(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		back := h.clock.Now().Add(12 * time.Hour)
		tests := []struct {
			down, startBefore time.Duration // before back; after joinAt, unless it is 0
			detail            string
		}{
			{20 * time.Second, 0, ""},
			{10 * time.Minute, 0, ""},
			{3 * time.Hour, 0, "no bot could be sent by the latest start (STANDIN_LATEST_START) at "},
			{10 * time.Minute, 5 * time.Minute, "the meeting was over at " + back.Add(-5*time.Minute).Format(time.RFC3339)},
			{11 * time.Hour, 12 * time.Hour, ""}, // longer than afterMaxSeconds
		}
		ids := make([]uuid.UUID, len(tests))
		for i, test := range tests {
			joinAt, startBefore := back.Add(-test.down), time.Time{}
			if test.startBefore > 0 {
				startBefore = joinAt.Add(test.startBefore)
			}
			ids[i] = h.NewJob(t, at(joinAt, startBefore)).ID
		}
		event := calendar.Invite{
			OrganizerEmail: "ada@example.test", MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet,
			JoinAt: back.Add(-150 * time.Second), EndsAt: back.Add(-90 * time.Second),
		}
		invited, err := (&lifecycle.EventScheduler{Jobs: h.Service}).Schedule(t.Context(), event)
		if err != nil {
			t.Fatal(err)
		}
		h.clock.Set(back)
		h.run(t)
		for i, test := range tests {
			if test.detail == "" {
				h.untilLaunched(t, ids[i], 0)
			} else {
				h.untilTooLate(t, ids[i], test.detail)
			}
		}
		h.untilTooLate(t, invited.JobID, "the meeting was over at "+event.EndsAt.Format(time.RFC3339))
	})
}

// TestLatestStartWithoutCapacity checks that a job that never gets capacity fails at its latest
// start.
func TestLatestStartWithoutCapacity(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		h.run(t, node("a", 1))
		now, end := h.clock.Now(), h.clock.Now().Add(time.Hour)
		first := h.launched(t)
		h.bots.setState(first, 0, launch.Unknown) // it never exits
		h.sendEvent(t, first, 0, job.BotJoined, "")
		h.sendEvent(t, first, 0, job.BotInMeeting, "")
		waiting, usual := h.NewJob(t, at(now, end)).ID, h.create(t, time.Time{})
		h.untilPending(t, waiting)
		h.untilPending(t, usual)
		h.at(now.Add(dispatch.DefaultLatestStart))
		h.untilTooLate(t, usual, "by the latest start")
		h.at(end)
		h.untilTooLate(t, waiting, "the meeting was over at "+end.Format(time.RFC3339))
	})
}

// TestLatestStartOfOtherAttempts checks that a bot is not launched or replaced after the latest
// start unless one was in the meeting.
func TestLatestStartOfOtherAttempts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		d, _ := h.run(t)
		now := h.clock.Now()
		end := now.Add(10 * time.Second)
		over := "the meeting was over at " + end.Format(time.RFC3339) + ": "
		outside, inside := h.NewJob(t, at(now, end)).ID, h.NewJob(t, at(now, end)).ID
		for _, id := range []uuid.UUID{outside, inside} {
			h.untilLaunched(t, id, 0)
			h.sendEvent(t, id, 0, job.BotJoined, "")
		}
		h.sendEvent(t, inside, 0, job.BotInMeeting, "")
		h.bots.fail(errors.New("no browser here"))
		failing := h.NewJob(t, at(now, end)).ID
		h.until(t, failing, "launched in vain", func(r job.Record) bool { return r.LaunchFailures > 0 })
		h.at(end)
		h.untilTooLate(t, failing, over+"no browser here")
		h.bots.fail(nil)
		h.lose(t, d, outside, 0)
		h.untilTooLate(t, outside, over+"the bot's process has ended")
		h.lose(t, d, inside, 0)
		h.untilLaunched(t, inside, 1)
	})
}
