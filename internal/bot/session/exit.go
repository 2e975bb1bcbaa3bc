package session

import (
	"errors"
	"fmt"

	"standin/internal/base/text"
	"standin/internal/bot/browser"
	"standin/internal/bot/ingest"
	"standin/internal/bot/report"
	"standin/internal/bot/serviceclient"
	"standin/internal/jobs/job"
)

// exitResult is how a session or an attempt ended. Functions that may end a
// session return nil while it continues.
type exitResult struct {
	reason           string          // set if the bot was admitted
	code             job.FailureCode // set if the bot was not admitted, or nothing can be recorded
	detail           string          // an explanation for people
	command          *ingest.Command // the leave_call that ended the session; may be nil
	retry            bool            // the meeting may continue: another browser or bot may rejoin
	final            bool            // with retry: only another bot, because this one has tried for long enough
	needsDiagnostics bool            // the page is worth saving for the operator
}

// maxDetail limits the detail of an end, in characters.
const maxDetail = 2000

// end returns what is reported. The detail may quote errors of the browser and of
// other programs.
func (e exitResult) end() report.End {
	return report.End{Reason: e.reason, Code: e.code, Detail: text.Clean(e.detail, maxDetail)}
}

// left returns the result of a session that left the meeting for a reason.
func left(reason, format string, args ...any) *exitResult {
	return &exitResult{reason: reason, detail: fmt.Sprintf(format, args...)}
}

// failed returns the result of a session that did not reach the meeting.
func failed(code job.FailureCode, detail string) *exitResult {
	return &exitResult{code: code, detail: detail}
}

// internalError returns the result of a failure of the bot itself.
func internalError(err error) *exitResult { return failed(job.InternalError, err.Error()) }

// shutdown returns the result of a bot whose process was asked to stop. The meeting
// may continue, with a bot of another attempt.
func shutdown() *exitResult {
	return &exitResult{reason: report.ReasonShutdown, detail: "The bot's process was asked to stop.", retry: true}
}

// disconnected returns the result of a session whose page or connection was
// lost while the meeting may continue.
func disconnected(detail string) *exitResult {
	return &exitResult{reason: report.ReasonConnection, code: job.NetworkLoss, detail: detail, retry: true, needsDiagnostics: true}
}

// superseded returns the result of a bot that the service no longer wants.
func superseded(t serviceclient.Termination) *exitResult {
	return left(report.ReasonSuperseded, "The service no longer wants this bot (%s): %s", t.Cause, t.Detail)
}

// pageFailed returns the result of an error of the page or its browser. The
// browser is replaced if it crashed, unless the page used too much.
func pageFailed(err error) *exitResult {
	end := internalError(err)
	if browserLost(err) {
		end.retry, end.reason = !errors.As(err, new(*browser.ResourceError)), report.ReasonBrowserLost
	} else {
		end.needsDiagnostics = true
	}
	return end
}

// browserLost reports whether an error means that the browser or the page crashed.
func browserLost(err error) bool {
	return errors.As(err, new(*browser.GoneError)) || errors.Is(err, browser.ErrPageCrashed)
}

// mayContinue reports whether an attempt that ended for a reason may be followed by another one in
// the same meeting.
func mayContinue(reason string) bool {
	return reason == report.ReasonShutdown || reason == report.ReasonSuperseded || reason == report.ReasonNoRecording
}

// events emits lifecycle events.
type events struct{ *report.Emitter }

// emitOrExit emits an event for a session, which ends if it cannot be stored.
func (e events) emitOrExit(kind job.Trigger, data any) *exitResult {
	if err := e.Emit(kind, data); err != nil {
		return internalError(err)
	}
	return nil
}
