package dispatch

import (
	"strings"
	"testing"
	"time"

	"standin/internal/job"
	"standin/internal/launch"
)

// prelaunched returns a job that is due in the given time and whose bot was launched
// early, the given time ago, and sends heartbeats.
func prelaunched(in, ago time.Duration, change ...func(*job.Record)) job.Record {
	r := due(at.Add(in))
	r.Prelaunch, r.AttemptStartedAt, r.LaunchedAt, r.HeartbeatAt = job.Prelaunched, before(ago), before(ago), at
	for _, fn := range change {
		fn(&r)
	}
	return r
}

// TestDecidePrelaunch checks what is done before joinAt, and at joinAt with a bot that
// was launched before.
func TestDecidePrelaunch(t *testing.T) {
	t.Parallel()
	const second, minute = time.Second, time.Minute
	unlaunched := func(r *job.Record) { r.LaunchedAt, r.HeartbeatAt = time.Time{}, time.Time{} }
	failed := func(r *job.Record) { unlaunched(r); r.LaunchFailures = 1 }
	silent := func(r *job.Record) { r.HeartbeatAt = time.Time{} }
	withdrawn := func(r *job.Record) { r.Prelaunch = job.PrelaunchWithdrawn }
	skipped := func(r *job.Record) { r.Prelaunch = job.PrelaunchSkipped }
	cancelled := func(r *job.Record) { r.Status = job.Cancelled }
	for name, test := range map[string]struct {
		s      situation
		want   action
		until  time.Time
		detail string
	}{
		"soon":                              {s: situation{job: due(at.Add(minute))}, want: prelaunchBot},
		"not so soon":                       {s: situation{job: due(at.Add(minute + second))}, want: wait, until: at.Add(minute + second)},
		"soon, no capacity":                 {s: situation{job: due(at.Add(minute)), noCapacity: "full"}, want: wait, until: at.Add(minute)},
		"soon, a link without a meeting":    {s: situation{job: due(at.Add(minute)), badLink: "no code"}, want: skipPrelaunch},
		"soon, no SDK":                      {s: situation{job: due(at.Add(minute), func(r *job.Record) { r.Platform = job.ZoomSDK }), noZoomSDK: "none"}, want: skipPrelaunch},
		"launched":                          {s: situation{job: prelaunched(minute, second), bot: launch.Running}, want: wait, until: at.Add(minute)},
		"launched, heartbeat due sooner":    {s: situation{job: prelaunched(minute, second, silent), bot: launch.Running}, want: wait, until: at.Add(44 * second)},
		"launched by another node":          {s: situation{job: prelaunched(minute, second), bot: launch.Unknown, otherNode: true}, want: wait, until: at.Add(minute)},
		"silent":                            {s: situation{job: prelaunched(minute, 45*second, silent), bot: launch.Running}, want: stopPrelaunched, detail: "no heartbeat for 45s"},
		"gone":                              {s: situation{job: prelaunched(minute, second), bot: launch.Gone, botReason: "killed"}, want: stopPrelaunched, detail: "ended unexpectedly: killed"},
		"gone at joinAt":                    {s: situation{job: prelaunched(0, second), bot: launch.Gone}, want: stopPrelaunched, detail: "ended unexpectedly"},
		"not launched yet":                  {s: situation{job: prelaunched(minute, second, unlaunched), bot: launch.NotStarted}, want: launchBot},
		"launch failed":                     {s: situation{job: prelaunched(minute, second, failed), bot: launch.NotStarted}, want: launchBot},
		"launch not recorded":               {s: situation{job: prelaunched(minute, second, unlaunched), bot: launch.Running}, want: adoptBot},
		"starting":                          {s: situation{job: prelaunched(minute, second, unlaunched), bot: launch.Starting}, want: wait, until: at.Add(minute)},
		"started and gone":                  {s: situation{job: prelaunched(minute, second, unlaunched), bot: launch.Gone}, want: stopPrelaunched},
		"not launched, its node is gone":    {s: situation{job: prelaunched(minute, second, unlaunched), bot: launch.Unknown, otherNode: true}, want: stopPrelaunched, detail: "node"},
		"joinAt":                            {s: situation{job: prelaunched(0, second), bot: launch.Running}, want: startPrelaunched},
		"joinAt, another node's bot":        {s: situation{job: prelaunched(0, second), bot: launch.Unknown, otherNode: true}, want: startPrelaunched},
		"joinAt, starting":                  {s: situation{job: prelaunched(0, second, unlaunched), bot: launch.Starting}, want: startPrelaunched},
		"joinAt, launch failed":             {s: situation{job: prelaunched(0, second, failed), bot: launch.NotStarted}, want: startPrelaunched},
		"joinAt, long ago":                  {s: situation{job: prelaunched(-5*time.Hour, 5*time.Hour), bot: launch.Running}, want: startPrelaunched},
		"changed":                           {s: situation{job: prelaunched(minute, second, withdrawn), bot: launch.Running}, want: stopPrelaunched, detail: "changed"},
		"changed, after joinAt":             {s: situation{job: prelaunched(-minute, second, withdrawn), bot: launch.Running}, want: stopPrelaunched, detail: "changed"},
		"cancelled":                         {s: situation{job: prelaunched(minute, second, withdrawn, cancelled), bot: launch.Running}, want: stopPrelaunched},
		"cancelled, stopped":                {s: situation{job: due(at, cancelled), bot: launch.NotStarted}, want: cleanUp},
		"skipped":                           {s: situation{job: due(at, skipped)}, want: startAttempt},
		"service was unreachable, no sound": {s: situation{job: prelaunched(minute, minute, silent), bot: launch.Running, reachable: before(second)}, want: wait, until: at.Add(44 * second)},
	} {
		s := test.s
		s.now, s.timeouts, s.prelaunch = at, timeouts, minute
		if got := decide(s); got.action != test.want || !got.until.Equal(test.until) || !strings.Contains(got.detail, test.detail) {
			t.Errorf("%s: got %+v, want %s until %v with a detail of %q", name, got, test.want, test.until, test.detail)
		}
	}
}
