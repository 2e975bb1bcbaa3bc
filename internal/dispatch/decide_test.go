package dispatch

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"standin/internal/job"
	"standin/internal/launch"
)

// at is when these decisions are made.
var at = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// waits are timeouts that tell each other apart.
var waits = Timeouts{
	Launch:         2 * time.Minute,
	FirstHeartbeat: 45 * time.Second,
	Heartbeat:      time.Minute,
	Joining:        5 * time.Minute,
	Lobby:          3 * time.Minute,
	Meeting:        7 * time.Minute,
	Teardown:       30 * time.Minute,
	Leaving:        10 * time.Minute,
	MaxAttempts:    3,
}

// before is a moment so long ago.
func before(ago time.Duration) time.Time { return at.Add(-ago) }

// running is a job whose bot was started and last heard so long ago; its first
// attempt began 8 minutes ago.
func running(status job.Status, heard time.Duration, change ...func(*job.Record)) job.Record {
	r := job.Record{
		Job: job.Job{
			JoinAt: before(8 * time.Minute), CreatedAt: before(9 * time.Minute), Platform: job.Meet, AutoLeave: job.DefaultAutoLeave(),
			State: job.State{Status: status, Attempts: 1, StartedAt: before(7 * time.Minute)},
		},
		StatusSince:      before(4 * time.Minute),
		AttemptStartedAt: before(8 * time.Minute),
		LaunchedAt:       before(8 * time.Minute),
		HeartbeatAt:      before(heard),
	}
	for _, fn := range change {
		fn(&r)
	}
	return r
}

func attempt(n int) func(*job.Record) {
	return func(r *job.Record) { r.Attempt, r.Attempts = n, n+1 }
}

func since(ago time.Duration) func(*job.Record) {
	return func(r *job.Record) { r.StatusSince = before(ago) }
}

// silent is a bot that was started so long ago and never heard.
func silent(ago time.Duration) func(*job.Record) {
	return func(r *job.Record) { r.LaunchedAt, r.HeartbeatAt = before(ago), time.Time{} }
}

// due is a job that is not dispatched yet.
func due(joinAt time.Time, change ...func(*job.Record)) job.Record {
	r := running(job.Scheduled, 0, change...)
	r.Attempts, r.JoinAt, r.StartedAt = 0, joinAt, time.Time{}
	r.AttemptStartedAt, r.LaunchedAt, r.HeartbeatAt = time.Time{}, time.Time{}, time.Time{}
	return r
}

// launching is a job whose attempt began so long ago and whose bot was not
// started.
func launching(ago time.Duration, change ...func(*job.Record)) job.Record {
	r := running(job.Dispatching, 0, change...)
	r.AttemptStartedAt, r.LaunchedAt, r.HeartbeatAt, r.StartedAt = before(ago), time.Time{}, time.Time{}, time.Time{}
	return r
}

func TestDecide(t *testing.T) {
	t.Parallel()
	const second, minute = time.Second, time.Minute
	onZoomSDK := func(r *job.Record) { r.Platform = job.ZoomSDK }
	createdBefore := func(ago time.Duration) func(*job.Record) {
		return func(r *job.Record) { r.CreatedAt = before(ago) }
	}
	meetingOver := func(r *job.Record) { r.StartedAt = before(5 * time.Hour) }
	noBrowser := func(r *job.Record) { r.LaunchFailures, r.LaunchError = 1, "no browser here" }
	manifest := func(r *job.Record) { r.ManifestURI = "https://standin.test/m" }
	byHand := func(r *job.Record) { r.AttemptStartedAt, r.LaunchedAt = time.Time{}, time.Time{} }

	tests := map[string]struct {
		r      job.Record
		bot    launch.State
		saved  bool
		sdk    bool   // the SDK is configured
		why    string // what the launcher knows
		want   step
		until  time.Time
		code   job.FailureCode
		detail string // part of it
	}{
		"not due yet":                 {r: due(at.Add(second)), want: wait, until: at.Add(second)},
		"due":                         {r: due(at), want: begin},
		"due and pending":             {r: due(at, func(r *job.Record) { r.Status = job.Pending }), want: begin},
		"the joinAt was long past":    {r: due(before(30*24*time.Hour), createdBefore(minute)), want: begin},
		"its time went by unserved":   {r: due(before(4*time.Hour), createdBefore(5*time.Hour)), want: giveUp, code: job.DispatchTimeout, detail: "no bot could be sent"},
		"there is still a bit of it":  {r: due(before(4*time.Hour-second), createdBefore(5*time.Hour)), want: begin},
		"zoom-sdk":                    {r: due(at, onZoomSDK), want: giveUp, code: job.InternalError, detail: "zoom-sdk"},
		"zoom-sdk, configured":        {r: due(at, onZoomSDK), sdk: true, want: begin},
		"zoom-sdk, not due":           {r: due(at.Add(minute), onZoomSDK), want: wait, until: at.Add(minute)},
		"bot not started":             {r: launching(2*minute - second), bot: launch.NotStarted, want: start},
		"bot started, not noted":      {r: launching(minute), bot: launch.Running, want: adoptBot},
		"bot started and gone":        {r: launching(minute), bot: launch.Gone, want: begin, detail: "before it was heard"},
		"bot cannot be started":       {r: launching(2*minute, noBrowser), want: giveUp, code: job.DispatchTimeout, detail: "within 2m0s: no browser here"},
		"nobody came to start it":     {r: launching(time.Hour), bot: launch.NotStarted, want: start},
		"nobody came until the end":   {r: launching(time.Hour, func(r *job.Record) { r.JoinAt = before(4 * time.Hour) }), bot: launch.NotStarted, want: giveUp, code: job.DispatchTimeout, detail: "within 2m0s"},
		"engine has yet to start it":  {r: launching(2*minute - second), bot: launch.Starting, why: "pulling", want: wait, until: at.Add(second)},
		"engine never starts it":      {r: launching(2*minute, noBrowser), bot: launch.Starting, why: "no such image", want: giveUp, code: job.DispatchTimeout, detail: "within 2m0s: no such image"},
		"cancelled while it starts":   {r: func() job.Record { r := launching(minute); r.Status = job.Cancelled; return r }(), bot: launch.Starting, want: cleanUp},
		"gone, and it is known why":   {r: running(job.Joining, 0), bot: launch.Gone, why: "out of memory", want: begin, detail: "ended unexpectedly: out of memory"},
		"second cannot be started":    {r: launching(2*minute, attempt(1), noBrowser), saved: true, want: salvage, detail: "within 2m0s"},
		"last one gone at once":       {r: launching(minute, attempt(2)), bot: launch.Gone, want: giveUp, code: job.InternalError, detail: "nothing was recorded"},
		"started":                     {r: running(job.Dispatching, 0, silent(44*second)), bot: launch.Running, want: wait, until: at.Add(second)},
		"never heard":                 {r: running(job.Dispatching, 0, silent(45*second)), bot: launch.Running, want: begin, detail: "not heard for 45s"},
		"never heard, last attempt":   {r: running(job.Dispatching, 0, silent(45*second), attempt(2)), bot: launch.Running, want: giveUp, code: job.DispatchTimeout, detail: "not heard"},
		"never heard, media before":   {r: running(job.Dispatching, 0, silent(45*second), attempt(2)), saved: true, want: salvage},
		"heard, and never joins":      {r: running(job.Dispatching, 0), bot: launch.Running, want: giveUp, code: job.InternalError, detail: "longer than it may"},
		"joining":                     {r: running(job.Joining, 5*second), bot: launch.Running, want: wait, until: at.Add(55 * second)},
		"joining, its end is sooner":  {r: running(job.Joining, 0, since(5*minute-second)), bot: launch.Running, want: wait, until: at.Add(second)},
		"joining for too long":        {r: running(job.Joining, 0, since(5*minute)), bot: launch.Running, want: giveUp, code: job.InternalError},
		"joining, gone":               {r: running(job.Joining, 0), bot: launch.Gone, want: begin, detail: "ended unexpectedly"},
		"in the lobby":                {r: running(job.EnteringLobby, 0, since(13*minute-second)), bot: launch.Running, want: wait, until: at.Add(second)},
		"in the lobby for too long":   {r: running(job.EnteringLobby, 0, since(13*minute)), bot: launch.Running, want: giveUp, code: job.InternalError},
		"in the lobby, silent":        {r: running(job.EnteringLobby, minute, attempt(2)), want: giveUp, code: job.DispatchTimeout},
		"recording":                   {r: running(job.RecordingStarted, 0), bot: launch.Running, want: wait, until: at.Add(minute)},
		"recording, cannot be seen":   {r: running(job.RecordingStarted, 0), bot: launch.Unknown, want: wait, until: at.Add(minute)},
		"recording, silent":           {r: running(job.RecordingStarted, minute), bot: launch.Running, saved: true, want: begin, detail: "last heard"},
		"recording, gone":             {r: running(job.RecordingStarted, 0), bot: launch.Gone, saved: true, want: begin},
		"recording, gone, last":       {r: running(job.RecordingStarted, 0, attempt(2)), bot: launch.Gone, saved: true, want: salvage},
		"recording, gone, too late":   {r: running(job.RecordingStarted, 0, meetingOver), bot: launch.Gone, saved: true, want: salvage},
		"in meeting, silent, last":    {r: running(job.InMeeting, minute, attempt(2)), want: giveUp, code: job.NetworkLoss, detail: "nothing was recorded"},
		"in meeting, gone, last":      {r: running(job.InMeeting, 0, attempt(2)), bot: launch.Gone, want: giveUp, code: job.InternalError},
		"paused, silent":              {r: running(job.RecordingPaused, minute), saved: true, want: begin},
		"asking, silent, last":        {r: running(job.PermissionRequested, minute, attempt(2)), want: giveUp, code: job.NetworkLoss},
		"stopped, gone":               {r: running(job.RecordingStopped, 0), bot: launch.Gone, saved: true, want: salvage},
		"in meeting far too long":     {r: running(job.RecordingStarted, 0, func(r *job.Record) { r.AttemptStartedAt = before(10*minute + 4*time.Hour + 7*minute) }), bot: launch.Running, saved: true, want: salvage, detail: "longer than it may"},
		"in meeting, almost too long": {r: running(job.RecordingStarted, 0, func(r *job.Record) { r.AttemptStartedAt = before(10*minute + 4*time.Hour + 7*minute - second) }), bot: launch.Running, want: wait, until: at.Add(second)},
		"by hand, before its time":    {r: running(job.RecordingStarted, 0, byHand), bot: launch.NotStarted, want: wait, until: at.Add(minute)},
		"by hand, silent":             {r: running(job.RecordingStarted, minute, byHand, attempt(2)), saved: true, want: salvage},
		"exited":                      {r: running(job.Finalizing, 0), bot: launch.Running, want: wait, until: at.Add(minute)},
		"exited, a later attempt":     {r: running(job.Finalizing, 0, attempt(1)), bot: launch.Running, want: salvage, detail: "has left the meeting"},
		"packing, gone":               {r: running(job.PostProcessing, 0), bot: launch.Gone, saved: true, want: salvage},
		"packing, gone, nothing":      {r: running(job.PostProcessing, 0), bot: launch.Gone, want: giveUp, code: job.InternalError},
		"uploading, silent, nothing":  {r: running(job.MediaUploading, minute), want: giveUp, code: job.NetworkLoss},
		"uploading for too long":      {r: running(job.MediaUploading, 0, since(30*minute)), bot: launch.Running, saved: true, want: salvage},
		"cancelled":                   {r: running(job.Cancelled, 0), bot: launch.Running, want: wait, until: at.Add(minute)},
		"cancelled, its end sooner":   {r: running(job.Cancelled, 0, since(10*minute-second)), bot: launch.Running, want: wait, until: at.Add(second)},
		"cancelled, bot stays":        {r: running(job.Cancelled, 0, since(10*minute)), bot: launch.Running, want: cleanUp},
		"cancelled, gone":             {r: running(job.Cancelled, 0), bot: launch.Gone, want: cleanUp},
		"cancelled, gone, saved":      {r: running(job.Cancelled, 0), bot: launch.Gone, saved: true, want: salvage},
		"cancelled before its launch": {r: func() job.Record { r := launching(minute); r.Status = job.Cancelled; return r }(), want: cleanUp},
		"cancelled, manifest there":   {r: running(job.Cancelled, minute, manifest), bot: launch.Gone, saved: true, want: cleanUp},
		"completed, bot still tells":  {r: running(job.Completed, 0, manifest), bot: launch.Running, want: wait, until: at.Add(6 * minute)},
		"completed, bot gone":         {r: running(job.Completed, 0, manifest), bot: launch.Gone, want: cleanUp},
		"failed, bot stays":           {r: running(job.Failed, 0, since(10*minute)), bot: launch.Running, want: cleanUp},
		"failed, bot by hand":         {r: running(job.Failed, 0), bot: launch.Unknown, want: cleanUp},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := decide(test.r, test.bot, test.saved, at, policy{Timeouts: waits, NoZoomSDK: noSDK(test.sdk), Reason: test.why})
			if got.step != test.want || got.code != test.code || !got.until.Equal(test.until) || !strings.Contains(got.detail, test.detail) {
				t.Errorf("got %+v, want %s until %v with %q and a detail of %q", got, test.want, test.until, test.code, test.detail)
			}
			if got.step == giveUp && got.detail == "" {
				t.Error("nobody is told why it is given up")
			}
		})
	}
}

// TestNoJobHangs: whatever state a job is in and whatever its bot does, who
// waits as long as decide says gets to do something about it.
func TestNoJobHangs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ago := func(label string) time.Time {
			if rapid.Bool().Draw(t, label+" unset") {
				return time.Time{}
			}
			return at.Add(-time.Duration(rapid.Int64Range(-int64(time.Hour), int64(48*time.Hour)).Draw(t, label)))
		}
		r := job.Record{
			Job: job.Job{
				JoinAt: ago("joinAt"), CreatedAt: ago("createdAt"), AutoLeave: job.DefaultAutoLeave(),
				Platform: rapid.SampledFrom([]job.Platform{job.Meet, job.ZoomSDK}).Draw(t, "platform"),
				State:    job.State{Status: rapid.SampledFrom(job.Statuses()).Draw(t, "status"), StartedAt: ago("startedAt")},
			},
			StatusSince: ago("since"), AttemptStartedAt: ago("began"), LaunchedAt: ago("launched"), HeartbeatAt: ago("heard"),
		}
		r.Attempt = rapid.IntRange(0, 4).Draw(t, "attempt")
		r.Attempts = r.Attempt + rapid.IntRange(0, 1).Draw(t, "counted")
		if rapid.Bool().Draw(t, "has a manifest") {
			r.ManifestURI = "https://standin.test/m"
		}
		bot := rapid.SampledFrom([]launch.State{launch.NotStarted, launch.Starting, launch.Running, launch.Gone, launch.Unknown}).Draw(t, "bot")
		saved := rapid.Bool().Draw(t, "saved")
		now := at
		for range 5 {
			next := decide(r, bot, saved, now, policy{Timeouts: waits, NoZoomSDK: noSDK(false)})
			if next.step != wait {
				if next.step == giveUp && (r.Status.Terminal() || !next.code.Valid()) {
					t.Fatalf("a job in %s is given up with %q", r.Status, next.code)
				}
				return
			}
			if !next.until.After(now) {
				t.Fatalf("at %s it waits until %s", now, next.until)
			}
			now = next.until
		}
		t.Fatal("it waits on and on")
	})
}

// TestDelay grows up to its bound.
func TestDelay(t *testing.T) {
	t.Parallel()
	for failures, want := range []time.Duration{1: 1, 2: 2, 3: 4, 4: 8, 5: 16, 6: 30, 7: 30, 400: 30} {
		if got := delay(failures); want > 0 && got != want*time.Second {
			t.Errorf("after %d failures: %s, want %s", failures, got, want*time.Second)
		}
	}
}

// TestOnLoopback: only such meetings get media from this machine.
func TestOnLoopback(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"http://127.0.0.1:4000/abc": true, "http://[::1]:4000/": true, "http://localhost/": true,
		"https://meet.google.com/abc-defg-hij": false, "http://127.0.0.1.evil.test/": false, "http://localhost@evil.test/": false, "": false, "%": false,
	} {
		if got := onLoopback(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}

// noSDK is why zoom-sdk jobs cannot be sent.
func noSDK(configured bool) string {
	if configured {
		return ""
	}
	return "zoom-sdk is not configured"
}
