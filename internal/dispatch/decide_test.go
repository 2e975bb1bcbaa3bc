package dispatch

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"standin/internal/job"
	"standin/internal/launch"
)

// at is the time of the decisions.
var at = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// timeouts has different values, so that a test fails if decide uses the wrong one.
var timeouts = Timeouts{
	Launch:         2 * time.Minute,
	FirstHeartbeat: 45 * time.Second,
	Heartbeat:      time.Minute,
	Joining:        5 * time.Minute,
	Lobby:          3 * time.Minute,
	Meeting:        7 * time.Minute,
	Teardown:       30 * time.Minute,
	Leaving:        10 * time.Minute,
	MaxAttempts:    3,
	MaxStops:       2,
}

// before returns the time that is ago before at.
func before(ago time.Duration) time.Time { return at.Add(-ago) }

// running returns a job whose bot sent its last heartbeat the given time ago. Its
// first attempt was started 8 minutes ago.
func running(status job.Status, heartbeat time.Duration, change ...func(*job.Record)) job.Record {
	r := job.Record{
		Job: job.Job{
			JoinAt: before(8 * time.Minute), CreatedAt: before(9 * time.Minute), Platform: job.Meet, AutoLeave: job.DefaultAutoLeave(),
			State: job.State{Status: status, Attempts: 1, StartedAt: before(7 * time.Minute)},
		},
		StatusSince:      before(4 * time.Minute),
		AttemptStartedAt: before(8 * time.Minute),
		LaunchedAt:       before(8 * time.Minute),
		HeartbeatAt:      before(heartbeat),
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

// silent changes a job to one whose bot was started the given time ago and sent no
// heartbeat.
func silent(ago time.Duration) func(*job.Record) {
	return func(r *job.Record) { r.LaunchedAt, r.HeartbeatAt = before(ago), time.Time{} }
}

// due returns a job without an attempt.
func due(joinAt time.Time, change ...func(*job.Record)) job.Record {
	r := running(job.Scheduled, 0, change...)
	r.Attempts, r.JoinAt, r.StartedAt = 0, joinAt, time.Time{}
	r.AttemptStartedAt, r.LaunchedAt, r.HeartbeatAt = time.Time{}, time.Time{}, time.Time{}
	return r
}

// launching returns a job whose attempt was started the given time ago and whose
// bot was not launched.
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
	noBrowser := func(r *job.Record) { r.LaunchFailures, r.LaunchError = minLaunches, "no browser here" }
	diskFull := func(r *job.Record) { r.LaunchFailures, r.LaunchError = 1, "no space left on device" }
	manifest := func(r *job.Record) { r.ManifestURI = "https://standin.test/m" }
	manual := func(r *job.Record) { r.AttemptStartedAt, r.LaunchedAt = time.Time{}, time.Time{} }

	tests := map[string]struct {
		r      job.Record
		bot    launch.State
		media  bool
		sdk    bool   // the SDK is configured
		reason string // from the launcher
		leave  bool   // the bot was told to leave
		stops  int    // bots that were stopped
		want   action
		until  time.Time
		code   job.FailureCode
		detail string // part of the failure detail
	}{
		"not due yet":                     {r: due(at.Add(second)), want: wait, until: at.Add(second)},
		"due":                             {r: due(at), want: startAttempt},
		"due and pending":                 {r: due(at, func(r *job.Record) { r.Status = job.Pending }), want: startAttempt},
		"created after its joinAt":        {r: due(before(30*24*time.Hour), createdBefore(minute)), want: startAttempt},
		"meeting time is over":            {r: due(before(4*time.Hour), createdBefore(5*time.Hour)), want: giveUp, code: job.DispatchTimeout, detail: "no bot could be sent"},
		"meeting time is almost over":     {r: due(before(4*time.Hour-second), createdBefore(5*time.Hour)), want: startAttempt},
		"zoom-sdk":                        {r: due(at, onZoomSDK), want: giveUp, code: job.InternalError, detail: "zoom-sdk"},
		"zoom-sdk, configured":            {r: due(at, onZoomSDK), sdk: true, want: startAttempt},
		"zoom-sdk, not due":               {r: due(at.Add(minute), onZoomSDK), want: wait, until: at.Add(minute)},
		"bot not started":                 {r: launching(2*minute - second), bot: launch.NotStarted, want: launchBot},
		"launch was not recorded":         {r: launching(minute), bot: launch.Running, want: adoptBot},
		"bot launched and gone":           {r: launching(minute), bot: launch.Gone, want: startAttempt, detail: "before its first heartbeat"},
		"bot cannot be launched":          {r: launching(2*minute, noBrowser), want: giveUp, code: job.DispatchTimeout, detail: "within 2m0s: no browser here"},
		"first launch, very late":         {r: launching(time.Hour), bot: launch.NotStarted, want: launchBot},
		"second launch, very late":        {r: launching(time.Hour, diskFull), bot: launch.NotStarted, want: launchBot},
		"first launch, after the meeting": {r: launching(time.Hour, func(r *job.Record) { r.JoinAt = before(4 * time.Hour) }), bot: launch.NotStarted, want: giveUp, code: job.DispatchTimeout, detail: "within 2m0s"},
		"engine is starting the bot":      {r: launching(2*minute - second), bot: launch.Starting, reason: "pulling", want: wait, until: at.Add(second)},
		"engine never starts the bot":     {r: launching(2*minute, noBrowser), bot: launch.Starting, reason: "no such image", want: giveUp, code: job.DispatchTimeout, detail: "within 2m0s: no such image"},
		"cancelled while the bot starts":  {r: func() job.Record { r := launching(minute); r.Status = job.Cancelled; return r }(), bot: launch.Starting, want: cleanUp},
		"gone, with a reason":             {r: running(job.Joining, 0), bot: launch.Gone, reason: "out of memory", want: startAttempt, detail: "ended unexpectedly: out of memory"},
		"second bot cannot be launched":   {r: launching(2*minute, attempt(1), noBrowser), media: true, want: salvage, detail: "within 2m0s"},
		"last bot gone at once":           {r: launching(minute, attempt(2)), bot: launch.Gone, want: giveUp, code: job.InternalError, detail: "nothing was recorded"},
		"started":                         {r: running(job.Dispatching, 0, silent(44*second)), bot: launch.Running, want: wait, until: at.Add(second)},
		"no heartbeat":                    {r: running(job.Dispatching, 0, silent(45*second)), bot: launch.Running, want: startAttempt, detail: "no heartbeat for 45s"},
		"no heartbeat, last attempt":      {r: running(job.Dispatching, 0, silent(45*second), attempt(2)), bot: launch.Running, want: giveUp, code: job.DispatchTimeout, detail: "no heartbeat"},
		"no heartbeat, media":             {r: running(job.Dispatching, 0, silent(45*second), attempt(2)), media: true, want: salvage},
		"heartbeats, never joins":         {r: running(job.Dispatching, 0), bot: launch.Running, want: giveUp, code: job.InternalError, detail: "longer than the limit of"},
		"joining":                         {r: running(job.Joining, 5*second), bot: launch.Running, want: wait, until: at.Add(55 * second)},
		"joining, deadline is sooner":     {r: running(job.Joining, 0, since(5*minute-second)), bot: launch.Running, want: wait, until: at.Add(second)},
		"joining for too long":            {r: running(job.Joining, 0, since(5*minute)), bot: launch.Running, want: giveUp, code: job.InternalError},
		"joining, gone":                   {r: running(job.Joining, 0), bot: launch.Gone, want: startAttempt, detail: "ended unexpectedly"},
		"in the lobby":                    {r: running(job.EnteringLobby, 0, since(13*minute-second)), bot: launch.Running, want: wait, until: at.Add(second)},
		"in the lobby for too long":       {r: running(job.EnteringLobby, 0, since(13*minute)), bot: launch.Running, want: giveUp, code: job.InternalError},
		"in the lobby, silent":            {r: running(job.EnteringLobby, minute, attempt(2)), want: giveUp, code: job.DispatchTimeout},
		"recording":                       {r: running(job.RecordingStarted, 0), bot: launch.Running, want: wait, until: at.Add(minute)},
		"recording, state unknown":        {r: running(job.RecordingStarted, 0), bot: launch.Unknown, want: wait, until: at.Add(minute)},
		"recording, silent":               {r: running(job.RecordingStarted, minute), bot: launch.Running, media: true, want: startAttempt, detail: "last heartbeat"},
		"recording, gone":                 {r: running(job.RecordingStarted, 0), bot: launch.Gone, media: true, want: startAttempt},
		"recording, gone, told to leave":  {r: running(job.RecordingStarted, 0), bot: launch.Gone, leave: true, media: true, want: salvage},
		"in the lobby, told to leave":     {r: running(job.EnteringLobby, minute), bot: launch.Running, leave: true, want: giveUp, code: job.MeetingEnded, detail: "told to leave, and nothing was recorded; the bot's last heartbeat"},
		"never launched, told to leave":   {r: launching(minute), bot: launch.NotStarted, leave: true, want: launchBot},
		"recording, drained":              {r: running(job.RecordingStarted, 0, attempt(2)), bot: launch.Gone, stops: 1, media: true, want: startAttempt},
		"recording, drained often":        {r: running(job.RecordingStarted, 0, attempt(4)), bot: launch.Gone, stops: 4, media: true, want: salvage},
		"recording, gone, last":           {r: running(job.RecordingStarted, 0, attempt(2)), bot: launch.Gone, media: true, want: salvage},
		"recording, gone, too late":       {r: running(job.RecordingStarted, 0, meetingOver), bot: launch.Gone, media: true, want: salvage},
		"in meeting, silent, last":        {r: running(job.InMeeting, minute, attempt(2)), want: giveUp, code: job.NetworkLoss, detail: "nothing was recorded"},
		"in meeting, gone, last":          {r: running(job.InMeeting, 0, attempt(2)), bot: launch.Gone, want: giveUp, code: job.InternalError},
		"paused, silent":                  {r: running(job.RecordingPaused, minute), media: true, want: startAttempt},
		"permission, silent, last":        {r: running(job.PermissionRequested, minute, attempt(2)), want: giveUp, code: job.NetworkLoss},
		"stopped, gone":                   {r: running(job.RecordingStopped, 0), bot: launch.Gone, media: true, want: salvage},
		"in meeting far too long":         {r: running(job.RecordingStarted, 0, func(r *job.Record) { r.AttemptStartedAt = before(10*minute + 4*time.Hour + 7*minute) }), bot: launch.Running, media: true, want: salvage, detail: "longer than the limit of"},
		"in meeting, almost too long":     {r: running(job.RecordingStarted, 0, func(r *job.Record) { r.AttemptStartedAt = before(10*minute + 4*time.Hour + 7*minute - second) }), bot: launch.Running, want: wait, until: at.Add(second)},
		"manual, before joinAt":           {r: running(job.RecordingStarted, 0, manual), bot: launch.NotStarted, want: wait, until: at.Add(minute)},
		"manual, silent":                  {r: running(job.RecordingStarted, minute, manual, attempt(2)), media: true, want: salvage},
		"exited":                          {r: running(job.Finalizing, 0), bot: launch.Running, want: wait, until: at.Add(minute)},
		"exited, a later attempt":         {r: running(job.Finalizing, 0, attempt(1)), bot: launch.Running, want: salvage, detail: "has left the meeting"},
		"packing, gone":                   {r: running(job.PostProcessing, 0), bot: launch.Gone, media: true, want: salvage},
		"packing, gone, nothing":          {r: running(job.PostProcessing, 0), bot: launch.Gone, want: giveUp, code: job.InternalError},
		"uploading, silent, nothing":      {r: running(job.MediaUploading, minute), want: giveUp, code: job.NetworkLoss},
		"uploading for too long":          {r: running(job.MediaUploading, 0, since(30*minute)), bot: launch.Running, media: true, want: salvage},
		"cancelled":                       {r: running(job.Cancelled, 0), bot: launch.Running, want: wait, until: at.Add(minute)},
		"cancelled, deadline sooner":      {r: running(job.Cancelled, 0, since(10*minute-second)), bot: launch.Running, want: wait, until: at.Add(second)},
		"cancelled, bot keeps running":    {r: running(job.Cancelled, 0, since(10*minute)), bot: launch.Running, want: cleanUp},
		"cancelled, gone":                 {r: running(job.Cancelled, 0), bot: launch.Gone, want: cleanUp},
		"cancelled, gone, saved":          {r: running(job.Cancelled, 0), bot: launch.Gone, media: true, want: salvage},
		"cancelled before the launch":     {r: func() job.Record { r := launching(minute); r.Status = job.Cancelled; return r }(), want: cleanUp},
		"cancelled, nobody ran its bot":   {r: running(job.Cancelled, 0, silent(second), func(r *job.Record) { r.StartedAt = time.Time{} }), bot: launch.Unknown, want: cleanUp},
		"cancelled, the operator's bot":   {r: running(job.Cancelled, 0), bot: launch.Unknown, want: wait, until: at.Add(minute)},
		"cancelled, with a manifest":      {r: running(job.Cancelled, minute, manifest), bot: launch.Gone, media: true, want: cleanUp},
		"completed, bot runs":             {r: running(job.Completed, 0, manifest), bot: launch.Running, want: wait, until: at.Add(6 * minute)},
		"completed, bot gone":             {r: running(job.Completed, 0, manifest), bot: launch.Gone, want: cleanUp},
		"failed, bot keeps running":       {r: running(job.Failed, 0, since(10*minute)), bot: launch.Running, want: cleanUp},
		"failed, manual bot":              {r: running(job.Failed, 0), bot: launch.Unknown, want: cleanUp},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := decide(situation{
				job: test.r, bot: test.bot, now: at, hasMedia: test.media, botReason: test.reason, noZoomSDK: noSDK(test.sdk), timeouts: timeouts,
				leaving: test.leave, stops: test.stops,
			})
			if got.action != test.want || got.code != test.code || !got.until.Equal(test.until) || !strings.Contains(got.detail, test.detail) {
				t.Errorf("got %+v, want %s until %v with %q and a detail of %q", got, test.want, test.until, test.code, test.detail)
			}
			if got.action == giveUp && got.detail == "" {
				t.Error("giveUp has no detail")
			}
		})
	}
}

// TestDecideNeverWaitsForever checks that decide waits at most five times in every
// state of a job and its bot.
func TestDecideNeverWaitsForever(t *testing.T) {
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
			Prelaunch: rapid.SampledFrom([]job.Prelaunch{
				job.NotPrelaunched, job.Prelaunched, job.PrelaunchWithdrawn, job.PrelaunchSkipped,
			}).Draw(t, "prelaunch"),
			StatusSince: ago("since"), AttemptStartedAt: ago("attempt started"), LaunchedAt: ago("launched"), HeartbeatAt: ago("heartbeat"),
		}
		r.Attempt = rapid.IntRange(0, 4).Draw(t, "attempt")
		r.Attempts = r.Attempt + rapid.IntRange(0, 1).Draw(t, "counted")
		if rapid.Bool().Draw(t, "has a manifest") {
			r.ManifestURI = "https://standin.test/m"
		}
		bot := rapid.SampledFrom([]launch.State{launch.NotStarted, launch.Starting, launch.Running, launch.Gone, launch.Unknown}).Draw(t, "bot")
		hasMedia := rapid.Bool().Draw(t, "has media")
		otherNode := rapid.Bool().Draw(t, "other node")
		leaving, stops := rapid.Bool().Draw(t, "leaving"), rapid.IntRange(0, 4).Draw(t, "stops")
		now := at
		for range 5 {
			next := decide(situation{
				job: r, bot: bot, now: now, hasMedia: hasMedia, otherNode: otherNode, noZoomSDK: noSDK(false), timeouts: timeouts, prelaunch: time.Minute,
				leaving: leaving, stops: stops,
			})
			if r.Status == job.Scheduled && now.Before(r.JoinAt) && (next.action == startAttempt || next.action == startPrelaunched || next.action == giveUp) {
				t.Fatalf("before joinAt decide returns %+v", next)
			}
			if next.action != wait {
				if next.action == giveUp && (r.Status.Terminal() || !next.code.Valid()) {
					t.Fatalf("a job in %s failed with %q", r.Status, next.code)
				}
				return
			}
			if !next.until.After(now) {
				t.Fatalf("at %s decide waits until %s", now, next.until)
			}
			now = next.until
		}
		t.Fatal("decide still waits after five decisions")
	})
}

func TestLaunchDelayDoublesUpToMaximum(t *testing.T) {
	t.Parallel()
	for failures, want := range []time.Duration{1: 1, 2: 2, 3: 4, 4: 8, 5: 16, 6: 30, 7: 30, 400: 30} {
		if got := launchDelay(failures); want > 0 && got != want*time.Second {
			t.Errorf("after %d failures: %s, want %s", failures, got, want*time.Second)
		}
	}
}

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

// noSDK returns why zoom-sdk jobs cannot be dispatched.
func noSDK(configured bool) string {
	if configured {
		return ""
	}
	return "zoom-sdk is not configured"
}
