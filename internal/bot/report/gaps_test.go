package report

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"standin/internal/bot/ingest"
	"standin/internal/recording"
)

// attendance is a model of a bot in a meeting in which something goes wrong now and then.
type attendance struct {
	*Report
	away, running, paused, stopped bool
	cause                          string   // why no recorder runs
	seconds                        []string // of each second: recorded, the reason why not, or "" if nothing was asked for
}

const recorded = "recorded"

// do lets something happen now, if it can.
func (a *attendance) do(event string) {
	now := after(float64(len(a.seconds)))
	endPart := func(err error, reason string) {
		if a.running {
			a.EndPart(now, err, reason)
			a.running, a.cause = false, reason
		}
	}
	openGap := func() {
		if !a.running && !a.paused && !a.stopped {
			a.OpenGap(now, recording.GapNotRecording)
		}
	}
	switch {
	case event == "admitted" && a.away:
		a.SetAdmitted(now)
		a.away = false
		openGap()
	case a.away:
	case event == "part started" && !a.running && !a.paused && !a.stopped:
		a.StartPart(a.NextPart(), now)
		a.running = true
	case event == "recorder failed":
		endPart(errors.New("the encoder failed"), recording.GapMediaLost)
	case event == "spool full" && !a.running && !a.paused && !a.stopped:
		a.SetGap(now, recording.GapDiskFull)
		a.cause = recording.GapDiskFull
	case event == "paused" && !a.paused && !a.stopped:
		a.SetGap(now, recording.GapPaused)
		a.paused = true
	case event == "resumed" && a.paused:
		a.SetGap(now, "")
		a.paused, a.cause = false, recording.GapNotRecording
		openGap()
	case event == "stopped" && !a.stopped:
		endPart(nil, "")
		a.SetGap(now, "")
		a.paused, a.stopped = false, true
	case event == "browser lost":
		endPart(nil, ReasonBrowserLost)
		a.SetLeft(now, End{Reason: ReasonBrowserLost})
		a.away = true
	}
}

// pass lets time pass.
func (a *attendance) pass(seconds int) {
	status := a.cause
	switch {
	case a.stopped:
		status = ""
	case a.paused:
		status = recording.GapPaused
	case a.running:
		status = recorded
	}
	for range seconds {
		a.seconds = append(a.seconds, status)
	}
}

// told returns what a report says of a time, and how many gaps include it.
func told(saved ingest.Report, at time.Time) (status string, gaps int) {
	within := func(from, to time.Time) bool { return !at.Before(from) && (to.IsZero() || at.Before(to)) }
	for _, part := range saved.Parts {
		if within(part.StartedAt, part.EndedAt) {
			status = recorded
		}
	}
	for _, gap := range saved.Gaps {
		if within(gap.From, gap.To) {
			status = gap.Reason
			gaps++
		}
	}
	return status, gaps
}

// TestGapsCoverTheMeeting checks for any course of a meeting that the saved report says of each
// second since admission that it was recorded, or why not: a bot may be lost at any moment.
func TestGapsCoverTheMeeting(t *testing.T) {
	t.Parallel()
	store := newTestReport(t).spool
	rapid.Check(t, func(rt *rapid.T) {
		a := &attendance{Report: New(1, "v9", false, store, NewClock()), away: true, cause: recording.GapNotRecording}
		a.do("admitted")
		for _, event := range rapid.SliceOfN(rapid.SampledFrom([]string{
			"admitted", "part started", "recorder failed", "spool full", "paused", "resumed", "stopped", "browser lost",
		}), 1, 30).Draw(rt, "events") {
			a.do(event)
			saved := lastSaved(t, a.Report).Report
			a.pass(rapid.IntRange(0, 5).Draw(rt, "seconds"))
			for second, want := range a.seconds {
				if got, gaps := told(saved, after(float64(second)+0.5)); got != want || gaps > 1 {
					rt.Fatalf("after %q, second %d is %q in %d gaps, want %q\n%+v\n%+v", event, second, got, gaps, want, saved.Parts, saved.Gaps)
				}
			}
		}
	})
}
