package dispatch

import (
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/launch"
)

// TestEveryStateHasDeadline checks that every state that is not terminal ends
// within two days, both when the bot stops sending heartbeats and when it sends
// them forever.
func TestEveryStateHasDeadline(t *testing.T) {
	t.Parallel()
	for _, status := range job.Statuses() {
		if status.Terminal() {
			continue
		}
		for name, heartbeats := range map[string]bool{"silent": false, "with heartbeats": true} {
			r := running(status)
			if !status.Dispatched() {
				r = due()
				r.Status = status
			}
			now := at
			next := decision{action: wait, until: now}
			for next.action == wait || next.action == queue {
				if now = next.until; now.After(at.Add(48 * time.Hour)) {
					t.Errorf("in %s, %s: no action within two days", status, name)
					break
				}
				if heartbeats && status.Dispatched() {
					r.HeartbeatAt = now
				}
				next = decide(situation{job: r, bot: launch.Running, now: now, timeouts: timeouts, noCapacity: noCapacityFor(status)})
				if (next.action == wait || next.action == queue) && !next.until.After(now) {
					t.Fatalf("in %s, %s: at %s decide waits until %s", status, name, now, next.until)
				}
			}
			if next.action == queue {
				t.Errorf("in %s, %s: queued forever", status, name)
			}
		}
	}
}

// noCapacityFor makes jobs that wait for capacity wait forever.
func noCapacityFor(status job.Status) string {
	if status.Dispatched() {
		return ""
	}
	return "no capacity"
}

// TestUnreachableTimeDoesNotCount checks that decide waits for a running bot in
// every state after no bot could reach the service for hours, but not forever.
func TestUnreachableTimeDoesNotCount(t *testing.T) {
	t.Parallel()
	const absence = 3 * time.Hour
	for _, status := range job.Statuses() {
		if !status.Dispatched() && status != job.Cancelled {
			continue
		}
		r := running(status)
		for _, moment := range []*time.Time{&r.JoinAt, &r.StartedAt, &r.StatusSince, &r.AttemptStartedAt, &r.LaunchedAt, &r.HeartbeatAt} {
			*moment = before(absence)
		}
		for _, hasMedia := range []bool{false, true} {
			s := situation{job: r, bot: launch.Running, now: at, hasMedia: hasMedia, timeouts: timeouts, reachable: before(10 * time.Second)}
			if got := decide(s); got.action != wait {
				t.Errorf("%s, media %v: got %+v after the service is back", status, hasMedia, got)
			}
			s.reachable = before(absence)
			if got := decide(s); got.action == wait {
				t.Errorf("%s, media %v: decide still waits", status, hasMedia)
			}
		}
	}
}
