package dispatch

import (
	"testing"
	"time"

	"standin/internal/job"
	"standin/internal/launch"
)

// TestEveryStateIsWatched: in every state that is not an end something is done
// within two days, both about a bot that falls silent, which is its watchdog,
// and about one that is heard for ever, which is its deadline.
func TestEveryStateIsWatched(t *testing.T) {
	t.Parallel()
	for _, status := range job.Statuses() {
		if status.Terminal() {
			continue
		}
		for name, heard := range map[string]bool{"silent": false, "heard for ever": true} {
			r := running(status, 0)
			if !status.Dispatched() {
				r = due(at)
				r.Status = status
			}
			now := at
			next := decision{step: wait, until: now}
			for next.step == wait || next.step == queue {
				if now = next.until; now.After(at.Add(48 * time.Hour)) {
					t.Errorf("in %s, %s: nothing is done within two days", status, name)
					break
				}
				if heard && status.Dispatched() {
					r.HeartbeatAt = now
				}
				next = decide(r, launch.Running, false, now, policy{Timeouts: waits, NoCapacity: noRoomFor(status)})
				if (next.step == wait || next.step == queue) && !next.until.After(now) {
					t.Fatalf("in %s, %s: at %s it waits until %s", status, name, now, next.until)
				}
			}
			if next.step == queue {
				t.Errorf("in %s, %s: it is never given up", status, name)
			}
		}
	}
}

// noRoomFor has jobs that wait for room wait for ever.
func noRoomFor(status job.Status) string {
	if status.Dispatched() {
		return ""
	}
	return "no room"
}

// TestDecideElsewhere: another node's attempt is not launched a second time, and
// a silence in which nobody could hear anything counts for nothing.
func TestDecideElsewhere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		r    job.Record
		bot  launch.State
		by   policy
		want decision
	}{
		"begun elsewhere and not launched": {
			launching(time.Minute), launch.Unknown, policy{Elsewhere: true},
			decision{step: begin, detail: "the node that began the attempt is gone"},
		},
		"launched elsewhere and heard": {
			running(job.Joining, time.Second), launch.Unknown, policy{Elsewhere: true},
			decision{step: wait, until: at.Add(59 * time.Second)},
		},
		"not heard while the database was away": {
			running(job.InMeeting, time.Hour), launch.Running, policy{Listening: before(10 * time.Second)},
			decision{step: wait, until: at.Add(50 * time.Second)},
		},
		"another attempt, and no room here": {
			running(job.InMeeting, time.Hour), launch.Unknown, policy{NoCapacity: "full"},
			decision{step: wait, until: at.Add(lookForRoom)},
		},
		"due soon, and no room yet": {
			due(at.Add(time.Second)), launch.NotStarted, policy{NoCapacity: "full", Prelaunch: 2 * time.Second},
			decision{step: wait, until: at.Add(time.Second)},
		},
		"due soon": {due(at.Add(time.Second)), launch.NotStarted, policy{Prelaunch: 2 * time.Second}, decision{step: begin}},
	} {
		test.by.Timeouts = waits
		if got := decide(test.r, test.bot, false, at, test.by); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// TestAnAbsenceCountsForNothing: after hours in which no bot could be heard, a
// bot that runs is waited for in every state, and not for ever.
func TestAnAbsenceCountsForNothing(t *testing.T) {
	t.Parallel()
	const absence = 3 * time.Hour
	for _, status := range job.Statuses() {
		if !status.Dispatched() && status != job.Cancelled {
			continue
		}
		r := running(status, absence, func(r *job.Record) {
			r.JoinAt, r.StartedAt, r.StatusSince = before(absence), before(absence), before(absence)
			r.AttemptStartedAt, r.LaunchedAt = before(absence), before(absence)
		})
		for _, saved := range []bool{false, true} {
			by := policy{Timeouts: waits, Listening: before(10 * time.Second)}
			if got := decide(r, launch.Running, saved, at, by); got.step != wait {
				t.Errorf("%s, %v saved: %+v when the service is back", status, saved, got)
			}
			by.Listening = before(absence)
			if got := decide(r, launch.Running, saved, at, by); got.step == wait {
				t.Errorf("%s, %v saved: it is waited for for ever", status, saved)
			}
		}
	}
}
