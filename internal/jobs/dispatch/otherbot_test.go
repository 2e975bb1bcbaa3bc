package dispatch_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

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
