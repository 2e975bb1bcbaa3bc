package bot

import (
	"context"
	"errors"
	"sync"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
	"standin/internal/ingest"
	"standin/internal/job"
)

// finishTime bounds the end of the recording.
const finishTime = 10 * time.Second

// depart leaves the meeting and ends the recording, both at once, as far as
// there still is a browser to do it with, and returns the ending with what is
// known of it then.
func (v *visit) depart(end ending) ending {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing new is begun
	if end.again {
		v.postponed = append(v.hands.close(ctx), v.postponed...)
	} else {
		v.hands.close(ctx)
	}
	if v.browser == nil {
		return end
	}
	if end.unclear {
		end = v.keepEvidence(end)
	}
	var leaving sync.WaitGroup
	if v.mayLeave(end) {
		leaving.Go(v.leave)
	}
	v.finish(end, v.desk.close(ctx))
	leaving.Wait()
	v.watching.Wait()
	if v.wasIn {
		v.report.left(time.Now(), end)
		if end.again {
			v.interruption = end
		}
	}
	if err := v.browser.Close(); err != nil {
		v.Log.Warn("the browser does not end cleanly", "error", err)
	}
	return end
}

// mayLeave reports whether there is a page that can still be left.
func (v *visit) mayLeave(end ending) bool {
	answers := v.sights == nil || time.Since(v.lastAt) < v.Timeouts.Unresponsive
	return end.reason != reasonBrowserLost && answers && !v.last.Screen.Terminal()
}

// leave leaves the meeting or its lobby by the page's own button, so that no
// ghost stays behind. A bot that has hardly come, or whose page shows nothing
// that could be left, does not try for as long; still less where the page has no
// connection, over which it could tell anybody.
func (v *visit) leave() {
	patience := v.Timeouts.Leave
	switch {
	case v.last.Screen == meeting.Reconnecting:
		patience /= 4
	case v.phase == arriving || v.last.Screen == meeting.Unknown:
		patience /= 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	began := time.Now()
	if err := v.adapter.Leave(ctx, v.page); err != nil {
		v.Log.Warn("cannot leave by the page's button; the browser is closed instead", "error", err)
		return
	}
	v.Log.Info("left the meeting's page", "took", time.Since(began))
}

// finish ends the recording. What was ordered about it and not begun is left to
// another browser.
func (v *visit) finish(end ending, orders []ingest.Command) {
	if end.again {
		v.postponed = append(v.postponed, orders...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), finishTime)
	defer cancel()
	if v.take.recorder != nil {
		err := v.take.recorder.Stop(ctx)
		var gone *browser.GoneError
		if err != nil && !errors.As(err, &gone) {
			v.Log.Warn("the recording does not end in order", "error", err)
		}
		v.closeStretch(err)
		if end.again {
			v.report.interrupted(end.reason)
		}
	}
	if v.take.listener != nil {
		v.take.listener.Close()
	}
	if !end.again && v.report.recorded() { // else another browser may go on
		if err := v.tell(job.BotRecordingStopped, nil); err != nil {
			v.Log.Error("cannot tell that the recording has stopped", "error", err)
		}
	}
}
