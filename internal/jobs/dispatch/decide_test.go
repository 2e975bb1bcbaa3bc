package dispatch

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"standin/internal/jobs/job"
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

// running returns a job whose bot sends heartbeats. Its first attempt was started 8 minutes ago.
func running(status job.Status) job.Record {
	return job.Record{
		Job: job.Job{
			JoinAt: before(8 * time.Minute), CreatedAt: before(9 * time.Minute), Platform: job.Meet, AutoLeave: job.DefaultAutoLeave(),
			State: job.State{Status: status, Attempts: 1, StartedAt: before(7 * time.Minute)},
		},
		StatusSince: before(4 * time.Minute), AttemptStartedAt: before(8 * time.Minute), LaunchedAt: before(8 * time.Minute), HeartbeatAt: at,
	}
}

// due returns a job without an attempt.
func due() job.Record {
	r := running(job.Scheduled)
	r.Attempts, r.JoinAt, r.StartedAt = 0, at, time.Time{}
	r.AttemptStartedAt, r.LaunchedAt, r.HeartbeatAt = time.Time{}, time.Time{}, time.Time{}
	return r
}

// parseSituation returns the situation of a row of testdata/decide.txt.
func parseSituation(t *testing.T, words, bot string) situation {
	t.Helper()
	s := situation{now: at, timeouts: timeouts, latestStart: 30 * time.Minute}
	state, reason, _ := strings.Cut(bot, ": ")
	s.bot, s.botReason = launch.State(state), reason
	r := &s.job
	times := map[string]*time.Time{
		"startBefore": (*time.Time)(&r.Options.StartBefore),
		"joinAt":      &r.JoinAt, "created": &r.CreatedAt, "began": &r.StartedAt, "since": &r.StatusSince, "attemptStarted": &r.AttemptStartedAt,
		"launched": &r.LaunchedAt, "heartbeat": &r.HeartbeatAt, "reachable": &s.reachable,
	}
	for _, word := range strings.Fields(words) {
		key, value, _ := strings.Cut(word, "=")
		number, _ := strconv.Atoi(value)
		switch key {
		case "due":
			*r = due()
		case "launching":
			*r = running(job.Dispatching)
			r.AttemptStartedAt, r.LaunchedAt, r.HeartbeatAt, r.StartedAt = before(time.Minute), time.Time{}, time.Time{}, time.Time{}
		case "running":
			*r = running(job.Dispatching)
		case "prelaunched":
			*r, s.prelaunch = due(), time.Minute
			r.Prelaunch, r.AttemptStartedAt, r.LaunchedAt, r.HeartbeatAt = job.Prelaunched, before(time.Second), before(time.Second), at
		case "early":
			s.prelaunch = time.Minute
		case "status":
			r.Status = job.Status(value)
		case "platform":
			r.Platform = job.Platform(value)
		case "prelaunch":
			r.Prelaunch = job.Prelaunch(value)
		case "attempt":
			r.Attempt, r.Attempts = number, number+1
		case "failures":
			r.LaunchFailures, r.LaunchError = number, "no browser here"
		case "told":
			r.LaunchError = "the bot has not started yet: pulling (1/3)"
		case "manifest":
			r.ManifestURI = "https://standin.test/m"
		case "media":
			s.hasMedia = true
		case "noApp":
			s.noZoomApp = true
		case "noStream":
			s.noStream = true
		case "leave":
			s.leaving = true
		case "stops":
			s.stops = number
		case "wasIn":
			s.wasIn = true
		case "otherNode":
			s.otherNode = true
		case "full":
			s.noCapacity = word
		case "otherBot":
			s.otherBot = word
		case "badLink":
			s.badLink = word
		default:
			ago, err := time.ParseDuration(value)
			if *times[key] = at.Add(ago); value == "never" {
				*times[key] = time.Time{}
			} else if err != nil {
				t.Fatalf("%s: %v", word, err)
			}
		}
	}
	return s
}

// TestDecide checks the decisions in testdata/decide.txt.
func TestDecide(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile(filepath.Join("testdata", "decide.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(string(table), "| detail\n")
	for row := range strings.Lines(rows) {
		cells := strings.Split(row, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		got, until := decide(parseSituation(t, cells[1], cells[2])), ""
		if !got.until.IsZero() {
			until = got.until.Sub(at).String()
		}
		if string(got.action) != cells[3] || until != cells[4] || string(got.code) != cells[5] || !strings.Contains(got.detail, cells[6]) ||
			got.action == giveUp && got.detail == "" {
			t.Errorf("%s: got %s until %q with %q: %s", row, got.action, until, got.code, got.detail)
		}
		if end := job.NewAttemptEnd(0, got.code, got.detail); (got.action == giveUp || got.action == startAttempt) && end.Cause == "other" {
			t.Errorf("%s: the report of causes does not know %q", row, got.detail)
		}
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
				Options:  job.Options{StartBefore: job.Timestamp(ago("startBefore"))},
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
		wasIn, noStream := rapid.Bool().Draw(t, "was in the meeting"), rapid.Bool().Draw(t, "no stream")
		now := at
		for range 5 {
			next := decide(situation{
				job: r, bot: bot, now: now, hasMedia: hasMedia, otherNode: otherNode, noStream: noStream, timeouts: timeouts, prelaunch: time.Minute,
				leaving: leaving, stops: stops, wasIn: wasIn, latestStart: time.Minute,
			})
			if r.Status == job.Scheduled && now.Before(r.JoinAt) &&
				(next.action == startAttempt || next.action == startPrelaunched || next.action == giveUp) {
				t.Fatalf("before joinAt decide returns %+v", next)
			}
			if next.action != wait {
				if next.action == giveUp && (r.Status.Terminal() || !slices.Contains(job.FailureCodes(), next.code)) {
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
		"https://meet.google.com/abc-defg-hij": false, "http://127.0.0.1.evil.test/": false, "http://localhost@evil.test/": false, "": false,
		"%": false,
	} {
		if got := onLoopback(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}
