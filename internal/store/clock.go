package store

import (
	"context"
	"fmt"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
)

// clockTolerance is how much the clocks of nodes may differ.
const clockTolerance = time.Minute

// timeLimit is how far in the future a column may be, in the rows that a condition selects.
type timeLimit struct {
	table, column, where string
	limit                time.Duration
	corrected            time.Duration // how far in the future it is set if it is later; 0 means due
}

// CorrectTimes corrects times that a clock left behind that was ahead, so that no work waits for longer
// than it may. A job under way waits for at most underWay, or for its first heartbeat. It returns how many times
// they were, and how far ahead.
func (s *Store) CorrectTimes(ctx context.Context, now time.Time, firstHeartbeat, underWay time.Duration) (
	corrected int64, ahead time.Duration, err error,
) {
	if s.postgres != nil { // a node whose clock is behind corrects nothing
		const clock = `SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`
		theirs, err := queryValue[time.Time](ctx, s.Reader, "read the clock", clock)
		if err != nil {
			return 0, 0, err
		}
		now = job.Latest(now, theirs)
	}
	// The limits of all times that work waits for.
	const day = 24 * time.Hour
	const jobUnderWay = needsNoAdmission + `wake_at IS NOT NULL`
	// A scheduled job has no other time than joinAt.
	const jobWaits = jobUnderWay + ` AND lease = '' AND wake_at <> join_at AND heartbeat_at IS `
	schedule := webhook.DefaultSchedule()
	limits := []timeLimit{
		{"nodes", "heartbeat_at", `1 = 1`, 0, 0},
		{"jobs", "heartbeat_at", jobUnderWay, 0, 0},
		{"jobs", "launched_at", jobUnderWay, 0, 0},
		{"jobs", "attempt_started_at", jobUnderWay, 0, 0},
		{"jobs", "status_since", jobUnderWay, 0, 0},
		{"jobs", "wake_at", jobWaits + `NULL`, firstHeartbeat, 0},
		{"jobs", "wake_at", jobWaits + `NOT NULL`, underWay, 0},
		// What has a lease may be worked on.
		{"jobs", "wake_at", jobUnderWay + ` AND lease <> ''`, time.Minute, time.Minute},
		{"deliveries", "due_at", `lease <> ''`, time.Minute, time.Minute},
		{"deliveries", "due_at", `not_before IS NOT NULL`, day, 0},
		{"webhook_endpoints", "probe_at", `failing_since IS NOT NULL`, schedule[1], 0},
		// Their leases may be pauses.
		{"recording_tasks", "due_at", `lease = ''`, 0, 0},
		{"recording_tasks", "due_at", `lease <> ''`, day, 0},
		{"calendars", "due_at", `state = 'active' AND lease = '' AND due_at - poll_ms > $1`, 0, 0},
		{"calendars", "due_at", `1 = 1`, day, 0},
		{"alerts", "claimed_until", `1 = 1`, time.Minute, 0},
	}
	for failures, delay := range append(webhook.Schedule{0}, schedule...) {
		limits = append(limits, timeLimit{
			"deliveries", "due_at", fmt.Sprintf(`lease = '' AND not_before IS NULL AND failures = %d`, failures),
			max(time.Minute, delay*5/4), 0,
		})
	}
	for _, l := range limits {
		longest := now.Add(l.limit)
		rows := l.table + ` WHERE ` + l.column + ` > $1 AND ` + l.where
		latest, err := queryValue[time.Time](ctx, s.Reader, "find times ahead", `SELECT MAX(`+l.column+`) FROM `+rows, longest.Add(clockTolerance))
		if err != nil {
			return corrected, ahead, err
		}
		if latest.IsZero() {
			continue
		}
		n, err := s.affected(ctx, "correct times ahead", `UPDATE `+l.table+` SET `+l.column+` = $2 WHERE `+l.column+` > $1 AND `+l.where,
			longest.Add(clockTolerance), now.Add(l.corrected))
		if err != nil {
			return corrected, ahead, err
		}
		corrected, ahead = corrected+n, max(ahead, latest.Sub(longest))
	}
	return corrected, ahead, nil
}
