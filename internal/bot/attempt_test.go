package bot

import (
	"log/slog"
	"testing"

	"standin/internal/job"
)

// TestConcludeAfterRejoin checks how an attempt ends that was admitted once, and was
// not admitted again after its browser was replaced.
func TestConcludeAfterRejoin(t *testing.T) {
	t.Parallel()
	hostAbsent := exitResult{code: job.WaitingForHost, detail: "The host did not come."}
	noRecording := exitResult{code: job.InternalError, reason: reasonNoRecording, detail: "The meeting cannot be recorded.", retry: true}
	for name, c := range map[string]struct {
		interrupted, end exitResult
		recorded         bool
		code             job.FailureCode
		reason           string
	}{
		"never admitted":               {end: hostAbsent, code: job.WaitingForHost},
		"nothing was recorded":         {interrupted: noRecording, end: hostAbsent, code: job.InternalError, reason: reasonNoRecording},
		"moved to the lobby":           {interrupted: exitResult{reason: reasonRemoved}, end: hostAbsent, code: job.WaitingForHost},
		"admitted again":               {interrupted: noRecording, end: exitResult{reason: reasonHostEnded, code: job.MeetingEnded}, code: job.MeetingEnded, reason: reasonHostEnded},
		"recorded before":              {interrupted: noRecording, end: hostAbsent, recorded: true, reason: reasonNoRecording},
		"recorded before a lost page":  {interrupted: *disconnected("No connection."), end: hostAbsent, recorded: true, reason: reasonConnection},
		"a lost page and no recording": {interrupted: *disconnected("No connection."), end: hostAbsent, code: job.NetworkLoss, reason: reasonConnection},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &attempt{log: slog.New(slog.DiscardHandler), report: newTestReport(t), consent: &consent{}, interrupted: c.interrupted}
			if c.recorded {
				part := a.report.nextPart()
				a.report.startPart(part, start)
				a.report.addSegment(part, 0)
			}
			end := a.conclude(c.end)
			if end.code != c.code || end.reason != c.reason {
				t.Errorf("ended with code %q and reason %q (%s), want %q and %q", end.code, end.reason, end.detail, c.code, c.reason)
			}
		})
	}
}
