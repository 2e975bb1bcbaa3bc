package dispatch_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
)

const otherRoom = "https://meet.google.com/xyz-uvwx-rst"

// createOfEvent creates a job that an event has asked for, in the room of all jobs.
func (h *harness) createOfEvent(t *testing.T, joinAt time.Time) uuid.UUID {
	t.Helper()
	id := h.create(t, joinAt)
	h.exec(t, `UPDATE jobs SET by_event = 1 WHERE id = $1`, id)
	return id
}

// TestOtherBotInside checks that a job of an event waits while the team has a bot in its room, that it takes nothing from
// other jobs then, that it starts when that bot has left, and alone.
func TestOtherBotInside(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		d, _ := h.run(t, node("a", 2))
		inside := h.launched(t)
		start := h.clock.Now()
		first, second := h.createOfEvent(t, start.Add(time.Second)), h.createOfEvent(t, start.Add(2*time.Second))
		elsewhere := h.NewJob(t, func(r *lifecycle.NewJob) { r.JoinAt, r.MeetingURL = start.Add(3*time.Second), otherRoom }).ID
		h.at(start.Add(5 * time.Second))
		h.untilLaunched(t, elsewhere, 0)
		h.untilPending(t, first)
		h.untilPending(t, second)
		h.sendEvent(t, inside, 0, job.BotExited, `{"failureCode":"meeting_not_found"}`)
		h.lose(t, d, inside, 0)
		h.untilLaunched(t, first, 0)
		h.run(t, node("b", 2))
		h.untilLaunched(t, h.NewJob(t, func(r *lifecycle.NewJob) { r.MeetingURL = otherRoom }).ID, 0)
		if r := h.Record(t, second); r.Status != job.Pending {
			t.Errorf("the second job is %s beside the first", r.Status)
		}
	})
}

// TestOtherBotStays checks that the events of a job have the job whose bot was in the room until they were over.
func TestOtherBotStays(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		h.run(t)
		now := h.clock.Now()
		inside := h.launched(t)
		h.sendEvent(t, inside, 0, job.BotJoined, "")
		h.sendEvent(t, inside, 0, job.BotInMeeting, "")
		r := h.Record(t, inside)
		if err := h.Store.SetConsumerMail(t.Context(), r.ConsumerID, []string{"ada@example.test"}); err != nil {
			t.Fatal(err)
		}
		later := calendar.Invite{
			OrganizerEmail: "ada@example.test", MeetingURL: r.MeetingURL, Platform: r.Platform, JoinAt: now.Add(16 * time.Minute),
			EndsAt: now.Add(18 * time.Minute), ICalUID: "later",
		}
		scheduler := &lifecycle.EventScheduler{Jobs: h.Service}
		invited, err := scheduler.Schedule(t.Context(), later)
		if err != nil || invited.JobID == inside {
			t.Fatalf("a meeting that begins later: %+v, %v", invited, err)
		}
		h.exec(t, `UPDATE jobs SET heartbeat_at = $2, wake_at = $2 WHERE id = $1`, inside, now.Add(time.Hour).UnixMilli())
		h.at(later.JoinAt)
		h.untilPending(t, invited.JobID)
		h.at(later.EndsAt)
		h.until(t, invited.JobID, "cancelled", func(r job.Record) bool { return r.Status == job.Cancelled })
		events, err := h.Store.EventsOfJob(t.Context(), inside)
		if err != nil || len(events) != 1 || events[0].UID != "later" {
			t.Errorf("the events of the job whose bot was there: %+v, %v", events, err)
		}
	})
}
