package session

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"standin/internal/bot/capture"
	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/report"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
)

const (
	diagnosticsTimeout = 5 * time.Second
	maxCaptures        = 10 // maximum in an attempt
)

// diagnostics saves captures of pages that were not understood, for the operator
// who corrects a profile or looks for a fault.
type diagnostics struct {
	log    *slog.Logger
	spool  *spool.Spool
	clock  *report.Clock
	opener *opener
	saved  int // captures so far
}

// save saves a capture of the page at the end of a session, and adds the name of
// the file to the result's detail. A page that stayed empty while joining is a
// failure of the network.
func (d *diagnostics) save(ctx context.Context, page *meetingPage, end exitResult) exitResult {
	made, blank := d.capture(ctx, page, end.detail)
	if end.needsDiagnostics && page.phase == phaseJoining && page.last.seen.Screen == meeting.Unknown && blank {
		end.code, end.retry = job.NetworkLoss, true
		end.detail = fmt.Sprintf("The meeting page was opened and stayed empty for %s.", page.timeouts.Join)
		return end
	}
	if name := d.write(made); name != "" {
		end.detail += fmt.Sprintf(" A capture of the page is among the job's files: %s.", name)
	}
	return end
}

// saveLater saves a capture of the page during a session.
func (d *diagnostics) saveLater(ctx context.Context, page *meetingPage, reason string) {
	var made *capture.Capture
	page.pageQueue.add(ctx, task{
		timeout: 2 * diagnosticsTimeout,
		do:      func(ctx context.Context) error { made, _ = d.capture(ctx, page, reason); return nil },
		onDone:  func(context.Context, error) *exitResult { d.write(made); return nil },
	})
}

// capture captures the page. It does not wait long: the page may be dead. blank
// reports that the page responded and shows no text.
func (d *diagnostics) capture(ctx context.Context, page *meetingPage, reason string) (_ *capture.Capture, blank bool) {
	ctx, cancel := context.WithTimeout(ctx, diagnosticsTimeout)
	defer cancel()
	made, blank := capture.New(ctx, page.tab, d.opener.visit(&page.seen), reason)
	made.TakenAt = d.clock.Convert(made.TakenAt).UTC()
	return made, blank
}

// write adds a capture to the spool and returns the name of its file, or "".
func (d *diagnostics) write(made *capture.Capture) string {
	if made == nil || made.Empty() || d.saved == maxCaptures {
		return ""
	}
	name := fmt.Sprintf("%s%d.zip", ingest.CapturePrefix, d.saved)
	data, err := made.Encode()
	if err == nil {
		err = d.spool.Put(name, data)
	}
	if err != nil {
		d.log.Error("cannot save a capture of the page", "name", name, "error", err)
		return ""
	}
	d.saved++
	d.log.Info("saved a capture of the page", "name", name, "address", made.Address, "bytes", len(data))
	return name
}
