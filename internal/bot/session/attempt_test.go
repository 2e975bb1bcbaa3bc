package session

import (
	"log/slog"
	"testing"

	"standin/internal/bot/report"
	"standin/internal/jobs/job"
)

// TestConcludeAfterRejoin checks how an attempt ends that was admitted once, and was
// not admitted again after its browser was replaced.
func TestConcludeAfterRejoin(t *testing.T) {
	t.Parallel()
	hostAbsent := exitResult{code: job.WaitingForHost, detail: "The host did not come."}
	noRecording := exitResult{
		code: job.InternalError, reason: report.ReasonNoRecording, detail: "The meeting cannot be recorded.", retry: true,
	}
	for name, c := range map[string]struct {
		interrupted, end exitResult
		recorded         bool
		code             job.FailureCode
		reason           string
	}{
		"never admitted":       {end: hostAbsent, code: job.WaitingForHost},
		"nothing was recorded": {interrupted: noRecording, end: hostAbsent, code: job.InternalError, reason: report.ReasonNoRecording},
		"moved to the lobby":   {interrupted: exitResult{reason: report.ReasonRemoved}, end: hostAbsent, code: job.WaitingForHost},
		"admitted again": {
			interrupted: noRecording, end: exitResult{reason: report.ReasonHostEnded, code: job.MeetingEnded}, code: job.MeetingEnded,
			reason: report.ReasonHostEnded,
		},
		"recorded before": {interrupted: noRecording, end: hostAbsent, recorded: true, reason: report.ReasonNoRecording},
		"recorded before a lost page": {
			interrupted: *disconnected("No connection."), end: hostAbsent, recorded: true, reason: report.ReasonConnection,
		},
		"a lost page and no recording": {
			interrupted: *disconnected("No connection."), end: hostAbsent, code: job.NetworkLoss, reason: report.ReasonConnection,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &attempt{shared: shared{
				log: slog.New(slog.DiscardHandler), report: newTestReport(t), consent: &consent{}, interrupted: c.interrupted,
			}}
			if c.recorded {
				part := a.report.NextPart()
				a.report.StartPart(part, start)
				a.report.AddSegment(part, 0)
			}
			end := a.conclude(c.end)
			if end.code != c.code || end.reason != c.reason {
				t.Errorf("ended with code %q and reason %q (%s), want %q and %q", end.code, end.reason, end.detail, c.code, c.reason)
			}
		})
	}
}
